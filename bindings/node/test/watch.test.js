'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const { test } = require('node:test');
const { playground, delay, OUTSIDE } = require('./support.js');

const now = { stabilityThreshold: 0 };

/** The events until one for `last` comes, as [event, filename]. */
async function until(watch, event, filename) {
  const seen = [];
  for (;;) {
    const { value, done } = await watch.next();
    if (done) return [...seen, 'done'];
    seen.push([value.event, value.filename]);
    if (value.event === event && value.filename === filename) return seen;
  }
}

test('a file: changes have an empty name', async (t) => {
  const { fs: f } = playground(t);
  await f.writeFile('a', '1');
  const watch = await f.watch('a', { ...now, stats: true });
  await f.appendFile('a', '2');
  const { value } = await watch.next();
  assert.strictEqual(value.event, 'change');
  assert.strictEqual(value.filename, '');
  assert.strictEqual(value.stats.size, 2);
  assert.ok(value.stats.isFile());
  watch.close();
  assert.deepStrictEqual(await watch.next(), { value: undefined, done: true });
});

test('a directory: add, change, add, unlink in this order', async (t) => {
  const { fs: f } = playground(t);
  await f.mkdir('d');
  const watch = await f.watch('d', now);
  await f.appendFile('d/a', '1');
  assert.deepStrictEqual(await until(watch, 'add', 'a'), [['add', 'a']]);
  await delay(50); // what the creation itself still says
  await f.appendFile('d/a', '2');
  await until(watch, 'change', 'a');
  await f.mkdir('d/sub');
  await until(watch, 'addDir', 'sub');
  await f.unlink('d/a');
  await until(watch, 'unlink', 'a');
  await f.rmdir('d/sub');
  await until(watch, 'unlinkDir', 'sub');
  watch.end();
});

test('for await, and a missing file that appears', async (t) => {
  const { fs: f } = playground(t);
  const watch = await f.watch('later', now);
  await f.appendFile('later', 'x');
  for await (const { event, filename } of watch) {
    assert.deepStrictEqual([event, filename], ['add', '']);
    break;
  }
  assert.strictEqual((await watch.next()).done, true);
});

test('no temporary name is ever seen', async (t) => {
  const { fs: f } = playground(t);
  await f.mkdir('d');
  const watch = await f.watch('d', now);
  for (let i = 0; i < 20; i++) await f.writeFile('d/a', 'x'.repeat(i * 1000));
  await f.writeFile('d/last', '');
  const names = new Set((await until(watch, 'add', 'last')).map(([, name]) => name));
  assert.deepStrictEqual([...names].sort(), ['a', 'last']);
  watch.end();
});

test('maxQueue keeps the newest', async (t) => {
  const { fs: f } = playground(t);
  await f.mkdir('d');
  const watch = await f.watch('d', { ...now, maxQueue: 2 });
  const control = await f.watch('d', now);
  for (const name of ['a', 'b', 'c', 'd']) await f.mkdir(`d/${name}`);
  await until(control, 'addDir', 'd');
  while (watch.queueSize() < 2) await delay(5);
  await delay(50);
  assert.strictEqual(watch.queueSize(), 2);
  assert.strictEqual((await watch.next()).value.filename, 'c');
  assert.strictEqual((await watch.next()).value.filename, 'd');
  watch.end();
  control.end();
});

test('overflow: throw', async (t) => {
  const { fs: f } = playground(t);
  await f.mkdir('d');
  const watch = await f.watch('d', { ...now, maxQueue: 2, overflow: 'throw' });
  const control = await f.watch('d', now);
  for (const name of ['a', 'b', 'c', 'd']) await f.mkdir(`d/${name}`);
  await until(control, 'addDir', 'd');
  await delay(50);
  await assert.rejects(watch.next(), /maxQueue overflow/);
  assert.strictEqual((await watch.next()).done, true);
  control.end();
});

test('a signal ends it, before, while and after it waits', async (t) => {
  const { fs: f } = playground(t);
  const controller = new AbortController();
  const watch = await f.watch('', { ...now, signal: controller.signal });
  const waiting = watch.next();
  controller.abort();
  assert.strictEqual((await waiting).done, true);
  assert.strictEqual((await watch.next()).done, true);
  const late = await f.watch('', { signal: controller.signal });
  assert.strictEqual((await late.next()).done, true);
});

test('closeOnUnlink, errors, polling', async (t) => {
  const { fs: f, top } = playground(t);
  await f.writeFile('a', '1');
  const watch = await f.watch('a', { ...now, closeOnUnlink: true });
  await f.unlink('a');
  assert.deepStrictEqual(await until(watch, 'unlink', ''), [['unlink', '']]);
  assert.strictEqual((await watch.next()).done, true);
  await assert.rejects(f.watch('esc'), { message: OUTSIDE, code: 'EACCES' });
  const error = await f.watch('q/w').catch((e) => e);
  assert.strictEqual(error.code, 'ENOENT');
  assert.ok(!error.message.includes(top));
  await assert.rejects(f.watch('a', { pollInterval: 250 }),
    { message: "Polling file watchers are disabled (path='a', requested pollInterval=250). Set pollInterval=0 or omit it." });
});

test('patches of what others write', async (t) => {
  const { fs: f, home } = playground(t);
  await f.writeFile('a', 'one\n', true);
  const watch = await f.watch('a', { ...now, patch: true });
  fs.writeFileSync(path.join(home, 'a'), 'one\ntwo\n');
  let value;
  do ({ value } = await watch.next()); while (value.patch === undefined);
  assert.strictEqual(value.patchSeq, 0);
  assert.ok(Array.isArray(value.patch));
  const copy = playground(t).fs;
  await copy.writeFile('a', 'one\n');
  const { createHash } = require('node:crypto');
  await copy.writeFile('a', { patch: value.patch, sha256: createHash('sha256').update('one\n').digest('hex') });
  assert.strictEqual(await copy.readFile('a', 'utf8'), 'one\ntwo\n');
  watch.end();
});

test('many watches do not keep the pool from working', async (t) => {
  const { fs: f } = playground(t);
  const watches = await Promise.all(Array.from({ length: 32 }, () => f.watch('', now)));
  await f.writeFile('x', '1');
  for (const watch of watches) {
    assert.strictEqual((await watch.next()).value.filename, 'x');
    watch.end();
  }
});

test('heartbeats: what others change is told, what we save is not', async (t) => {
  const { fs: f, home } = playground(t, { host: 'here' });
  const alive = setInterval(() => {}, 1000); // heartbeats alone keep no process alive
  t.after(() => {
    clearInterval(alive);
    f.close();
  });
  await f.writeFile('doc', 'one\n', true);
  await f.syncFsWatch('doc', true, { doctype: { type: 'string' } });
  const told = once(f, 'sync');
  fs.writeFileSync(path.join(home, 'doc'), 'one\ntwo\n');
  const [event] = await told;
  assert.strictEqual(event.path, 'doc');
  assert.strictEqual(event.type, 'change');
  assert.strictEqual(event.change.content, 'one\ntwo\n');
  assert.strictEqual(event.change.deleted, false);
  assert.ok(Array.isArray(event.change.patch));
  assert.strictEqual(event.info.project_id, 'here');
  assert.strictEqual(event.info.doctype.type, 'string');
  const gone = once(f, 'sync');
  await f.writeFile('doc', 'saved by us', true);
  await f.unlink('doc');
  const [last] = await gone;
  assert.strictEqual(last.type, 'delete');
  assert.strictEqual(last.change.deleted, true);
  await f.syncFsWatch('doc', false);
});
