'use strict';

const assert = require('node:assert');
const { existsSync, symlinkSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { OUTSIDE, playground } = require('./support.js');

const installed = (...names) => names.some((name) => process.env.PATH.split(':').some((d) => existsSync(path.join(d, name))));
const needs = (...names) => !installed(...names) && `no ${names[0]} on this host`;
const lines = ({ stdout }) => stdout.toString().split('\n').filter(Boolean).sort();

async function tree(t) {
  const place = playground(t);
  await place.fs.mkdir('t/sub', { recursive: true });
  await place.fs.mkdir('empty');
  await place.fs.writeFile('t/a.txt', 'needle\n');
  await place.fs.writeFile('t/sub/b.txt', 'hay\n');
  symlinkSync('../../outside', path.join(place.home, 't/out'));
  return place;
}

test('find', async (t) => {
  const { fs: f, top } = await tree(t);
  assert.deepStrictEqual(lines(await f.find('empty', { options: ['-mindepth', '1'] })), []);
  const found = await f.find('t', { options: ['-type', 'f', '-printf', '%f\n'] });
  assert.deepStrictEqual(lines(found), ['a.txt', 'b.txt']);
  assert.deepStrictEqual([found.code, found.truncated], [0, false]);
  assert.ok(!(await f.find('t', {})).stdout.includes(top));
  assert.ok(!(await f.find('t', {})).stdout.includes('secret'), 'links are not followed');
  await assert.rejects(f.find('t', { options: ['-delete'] }), { message: 'Disallowed option: -delete' });
  await assert.rejects(f.find('t', { options: ['-maxdepth'] }), { message: 'Option -maxdepth requires a value' });
  await assert.rejects(f.find('t', { options: ['-maxdepth', 'x'] }));
  await assert.rejects(f.find('escd', {}), { message: OUTSIDE });
});

test('find stops at its size', async (t) => {
  const { fs: f, home } = await tree(t);
  for (let i = 0; i < 300; i++) writeFileSync(path.join(home, 't', `f${i}`), '');
  const { truncated, stdout } = await f.find('t', { maxSize: 500 });
  assert.strictEqual(truncated, true);
  assert.ok(stdout.length <= 500);
});

test('ripgrep', { skip: needs('rg') }, async (t) => {
  const { fs: f } = await tree(t);
  const found = await f.ripgrep('t', 'needle', { options: ['-l'] });
  assert.deepStrictEqual(lines(found).map((l) => l.replace(/^\.\//, '')), ['a.txt']);
  assert.strictEqual((await f.ripgrep('t', 'absent')).code, 1);
  await assert.rejects(f.ripgrep('t', ''), { message: 'pattern must be specified' });
  await assert.rejects(f.ripgrep('t', 'x', { options: ['--pre', 'sh'] }), { message: 'Disallowed option: --pre' });
});

test('fd', { skip: needs('fd', 'fdfind') }, async (t) => {
  const { fs: f } = await tree(t);
  assert.deepStrictEqual(lines(await f.fd('t', { pattern: 'b\\.txt' })).map((l) => l.replace(/^\.\//, '')), ['sub/b.txt']);
  assert.deepStrictEqual(lines(await f.fd('empty')), []);
});

test('dust', { skip: needs('dust') }, async (t) => {
  const { fs: f } = await tree(t);
  const { stdout } = await f.dust('t', { options: ['-j'] });
  assert.ok(JSON.parse(stdout).children.length > 0);
});

for (const format of ['zip', 'tar.gz', 'tar.xz', 'tar.zst']) {
  test(`ouch: ${format} and back`, { skip: needs('ouch') }, async (t) => {
    const { fs: f } = await tree(t);
    await f.rm('t/out').catch(() => {});
    assert.strictEqual((await f.ouch(['compress', 't/sub', `sub.${format}`])).code, 0);
    await assert.rejects(f.ouch(['decompress', `sub.${format}`], { options: ['--dir', 'escd'] }));
    assert.strictEqual((await f.ouch(['decompress', `sub.${format}`], { options: ['--dir', 'back'] })).code, 0);
    assert.strictEqual(await f.readFile('back/sub/b.txt', 'utf8'), 'hay\n');
  });
}

test('a tool that is not here is a clear error', { skip: installed('dust') && 'dust is installed' }, async (t) => {
  const { fs: f } = await tree(t);
  await assert.rejects(f.dust('t'), /dust/);
});

test('words that a tool does not know', async (t) => {
  const { fs: f } = await tree(t);
  await assert.rejects(f.ouch(['delete', 'a']), { message: 'first argument must be one of compress, c, decompress, d, list, l, ls' });
  await assert.rejects(f.rustic(['init']), /init not allowed|subcommand not allowed/);
});
