'use strict';

// What the reference's own tests assert, local and remote, and what the contract adds to it.

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { test } = require('node:test');
const { OUTSIDE, temporary, playground, snapshot, SandboxedFilesystem } = require('./support.js');

const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const fails = async (promise, want) => {
  const error = await promise.then(() => assert.fail('it succeeded'), (e) => e);
  for (const [key, value] of Object.entries(want)) {
    if (value instanceof RegExp) assert.match(error[key], value);
    else assert.strictEqual(error[key], value, `${key} of ${error.message}`);
  }
  return error;
};

test('files: create, read, truncate, append, copy, rename, move, unlink', async (t) => {
  const { fs: f } = playground(t);
  await f.writeFile('a', 'hello');
  assert.strictEqual(await f.readFile('a', 'utf8'), 'hello');
  await f.truncate('a', 4);
  assert.strictEqual(await f.readFile('a', 'utf8'), 'hell');
  await f.writeFile('a', 'x');
  await f.appendFile('a', 'y');
  await f.copyFile('a', 'b');
  await f.rename('b', 'c');
  await f.mkdir('dir');
  await f.move('c', 'dir/c');
  assert.strictEqual(await f.readFile('dir/c', 'utf8'), 'xy');
  await f.unlink('a');
  assert.deepStrictEqual(await f.readdir('dir'), ['c']);
  assert.strictEqual(await f.exists('a'), false);
});

test('move keeps an existing destination unless told otherwise', async (t) => {
  const { fs: f } = playground(t);
  await f.writeFile('a', '1');
  await f.writeFile('b', '2');
  await fails(f.move('a', 'b'), { code: 'EEXIST', message: 'dest already exists.' });
  assert.strictEqual(await f.readFile('b', 'utf8'), '2');
  await f.move('a', 'b', { overwrite: true });
  assert.strictEqual(await f.readFile('b', 'utf8'), '1');
  await f.mkdir('d');
  await fails(f.move('d', 'd/e'), { message: "Cannot move 'd' to a subdirectory of itself, 'd/e'." });
  await f.move('b', 'new/deep/b');
  assert.strictEqual(await f.readFile('new/deep/b', 'utf8'), '1');
});

test('cp: lists, dangling links, force, types', async (t) => {
  const { fs: f, home } = playground(t);
  await f.mkdir('dest');
  await f.writeFile('a', '1');
  await f.writeFile('b', '2');
  await f.cp(['a', 'b'], 'dest');
  assert.deepStrictEqual(await f.readdir('dest'), ['a', 'b']);
  await fails(f.cp(['a', 'b'], 'missing'), { code: 'ENOENT' });
  await f.mkdir('tree');
  fs.symlinkSync('nowhere', path.join(home, 'tree/dangling'));
  await f.cp('tree', 'copy', { recursive: true });
  await f.cp('tree', 'copy', { recursive: true });
  assert.strictEqual(fs.readlinkSync(path.join(home, 'copy/dangling')), 'nowhere');
  await fails(f.cp('tree', 'x'), { code: 'ERR_FS_EISDIR' });
  await fails(f.cp('tree', 'tree/in', { recursive: true }), { code: 'ERR_FS_CP_EINVAL' });
  await f.writeFile('b', 'kept');
  await f.cp('a', 'b', { force: false });
  assert.strictEqual(await f.readFile('b', 'utf8'), 'kept');
  await fails(f.cp('a', 'b', { force: false, errorOnExist: true }), { code: 'ERR_FS_CP_EEXIST' });
  execFileSync('mkfifo', [path.join(home, 'fifo')]);
  await fails(f.cp('fifo', 'x'), { code: 'EINVAL', message: "Unsupported source file type for cp in safe mode: 'fifo'" });
  await fails(f.readFile('fifo'), { code: 'EINVAL' });
});

test('rm: lists, trees, what must not be removed', async (t) => {
  const { fs: f } = playground(t);
  await Promise.all(['a', 'b', 'c'].map((name) => f.writeFile(name, name)));
  await f.rm(['a', 'b']);
  await f.rm([]);
  assert.deepStrictEqual((await f.readdir('')).filter((n) => n.length === 1), ['c']);
  await f.mkdir('t/u/v', { recursive: true });
  const error = await fails(f.rm('t'), { code: 'ERR_FS_EISDIR', errno: 21 });
  assert.strictEqual(error.message, 'Path is a directory: rm returned EISDIR (is a directory) t');
  await f.rm('t', { recursive: true });
  await fails(f.rm('', { recursive: true }), { code: 'EPERM' });
  await fails(f.rm('q'), { code: 'ENOENT', syscall: 'lstat' });
});

test('names: dots stay at the top, absolute ones are in the home', async (t) => {
  const { fs: f, home } = playground(t);
  await f.writeFile('x', '1');
  const top = await f.readdir('');
  assert.deepStrictEqual(await f.readdir('..'), top);
  assert.deepStrictEqual(await f.readdir('a/../..'), top);
  await f.copyFile('/x', '/tmp');
  assert.strictEqual(fs.readFileSync(path.join(home, 'tmp'), 'utf8'), '1');
  assert.strictEqual(await f.readFile('/root/x', 'utf8'), '1');
  assert.strictEqual(await f.realpath('/root/x'), '/root/x');
  assert.strictEqual(await f.realpath('x'), 'x');
  assert.strictEqual(await f.realpath('.'), '');
  await fails(f.readFile('/root/q'), { path: 'q', message: "ENOENT: no such file or directory, open 'q'" });
  await fails(f.readFile(7), { message: 'path must be a string but is of type number' });
  await fails(f.readFile(Buffer.from('x')), { message: 'path must be a string but is of type object' });
});

const escapes = {
  readFile: (f, p) => f.readFile(p), stat: (f, p) => f.stat(p), lstat: (f, p) => f.lstat(p),
  readlink: (f, p) => f.readlink(p), exists: (f, p) => f.exists(p), realpath: (f, p) => f.realpath(p),
  unlink: (f, p) => f.unlink(p), rm: (f, p) => f.rm(p), 'rename from': (f, p) => f.rename(p, 'x'),
  'rename to': (f, p) => f.rename('in', p), 'move from': (f, p) => f.move(p, 'x'),
  'move to': (f, p) => f.move('in', p, { overwrite: true }), 'copyFile from': (f, p) => f.copyFile(p, 'x'),
  'copyFile to': (f, p) => f.copyFile('in', p), 'cp to': (f, p) => f.cp('in', p),
  'cp dereferenced': (f, p) => f.cp(p, 'x', { dereference: true, recursive: true }),
  'cp of a list': (f, p) => f.cp([p], 'd', { dereference: true, recursive: true }),
  truncate: (f, p) => f.truncate(p), chmod: (f, p) => f.chmod(p, 0o777), utimes: (f, p) => f.utimes(p, 1, 2),
  writeFile: (f, p) => f.writeFile(p, 'x'), appendFile: (f, p) => f.appendFile(p, 'x'),
  'link from': (f, p) => f.link(p, 'x'), 'link to': (f, p) => f.link('in', p),
  'symlink to': (f, p) => f.symlink(p, 'x'),
  writeFileDelta: (f, p) => f.writeFileDelta(p, 'canary2', { baseContents: 'canary', minLength: 0 }),
};

for (const [name, act] of Object.entries(escapes)) {
  test(`nothing gets out by ${name}`, async (t) => {
    const place = playground(t, { allowSafeModeHardlink: true, allowSafeModeSymlink: true });
    await place.fs.writeFile('in', 'inside');
    await place.fs.mkdir('d');
    for (const target of ['esc', 'escd/file', 'escd/new', '/esc', 'd/../esc']) {
      await fails(act(place.fs, target), { message: OUTSIDE, code: 'EACCES', errno: -13 });
    }
    assert.strictEqual(snapshot(place.outside), place.before);
  });
}

test('a directory that leads out is not listed, made in or removed', async (t) => {
  const place = playground(t);
  for (const act of ['readdir', 'getListing', 'rmdir', 'watch']) {
    await fails(place.fs[act]('escd'), { message: OUTSIDE });
  }
  await fails(place.fs.mkdir('escd/new'), { message: OUTSIDE });
  await fails(place.fs.mkdir('escd/new/deep', { recursive: true }), { message: OUTSIDE });
  await fails(place.fs.rm('escd', { recursive: true }), { message: OUTSIDE });
  await fails(place.fs.writeFile('gone', 'x'), { message: OUTSIDE });
  assert.strictEqual(snapshot(place.outside), place.before);
});

test('unsafeMode follows a link outside; leafLinks act removes one', async (t) => {
  const { fs: f, home } = playground(t, { unsafeMode: true });
  assert.strictEqual(await f.readFile('esc', 'utf8'), 'canary');
  const act = new SandboxedFilesystem(home, { leafLinks: 'act' });
  await act.unlink('esc');
  assert.strictEqual(fs.existsSync(path.join(home, 'esc')), false);
});

test('links are closed by default and open by option', async (t) => {
  const { fs: f, home } = playground(t);
  await f.writeFile('a', '1');
  await fails(f.link('a', 'b'), { code: 'EPERM', errno: -1, syscall: 'link', message: "EPERM: operation not permitted in safe mode, link 'b'" });
  await fails(f.symlink('a', 'b'), { code: 'EPERM', syscall: 'symlink' });
  const open = new SandboxedFilesystem(home, { allowSafeModeHardlink: true, allowSafeModeSymlink: true });
  await open.link('a', 'b');
  await open.appendFile('b', '2');
  assert.strictEqual(await f.readFile('a', 'utf8'), '12');
  await open.mkdir('dir');
  await open.symlink('a', 'dir/link');
  assert.strictEqual(fs.readFileSync(path.join(home, 'dir/link'), 'utf8'), '12');
  assert.ok((await open.lstat('dir/link')).isSymbolicLink());
  assert.strictEqual(await open.realpath('dir/link'), 'a');
  assert.ok(!(await open.readlink('dir/link')).includes(home));
});

test('readonly refuses every mutator and the tools that write', async (t) => {
  const { home } = playground(t);
  fs.writeFileSync(path.join(home, 'a'), '1');
  const f = new SandboxedFilesystem(home, { readonly: true });
  const acts = [
    () => f.appendFile('a', 'x'), () => f.chmod('a', 0), () => f.copyFile('q', 'a'), () => f.cp('q', 'a'), () => f.link('q', 'a'), () => f.mkdir('a'),
    () => f.move('q', 'a'), () => f.rename('q', 'a'), () => f.rm('a'), () => f.rmdir('a'), () => f.symlink('q', 'a'), () => f.truncate('a'), () => f.unlink('a'),
    () => f.utimes('a', 1, 2), () => f.writeFile('a', 'x'), () => f.writeFile('a', { patch: [], sha256: sha256('1') }),
    () => f.writeFileDelta('a', 'x'),
  ];
  for (const act of acts) {
    await fails(act(), { code: 'EACCES', errno: -13, syscall: 'open', path: 'a', message: "EACCES: permission denied -- read only filesystem, open 'a'" });
  }
  await fails(f.ouch(['compress', 'a', 'a.zip']), { code: 'EACCES' });
  assert.strictEqual(await f.readFile('a', 'utf8'), '1');
  await f.lockFile('a', 10);
});

test('bases: rootfs and scratch may be missing, appear, and are apart', async (t) => {
  const { top, home } = playground(t);
  const [rootfs, scratch] = [path.join(top, 'rootfs'), path.join(top, 'scratch')];
  const f = new SandboxedFilesystem(home, { rootfs, scratch });
  const again = '. Start the workspace and try again.';
  let error = await fails(f.readFile('/etc/x'), { message: `rootfs is not mounted; cannot access absolute path '/etc/x'${again}` });
  assert.ok(!JSON.stringify(error).includes(top));
  await fails(f.readFile('/scratch/x'), { message: `scratch is not mounted; cannot access absolute path '/scratch/x'${again}` });
  await f.writeFile('/root/x', 'home');
  fs.mkdirSync(path.join(rootfs, 'etc'), { recursive: true });
  fs.mkdirSync(scratch);
  await f.writeFile('/etc/x', 'rootfs');
  await f.writeFile('/scratch/x', 'scratch');
  assert.deepStrictEqual(await Promise.all(['x', '/etc/x', '/scratch/x'].map((p) => f.readFile(p, 'utf8'))),
    ['home', 'rootfs', 'scratch']);
  assert.strictEqual(await f.realpath('/scratch/x'), '/scratch/x');
  assert.strictEqual(await f.realpath('/etc/x'), '/etc/x');
  await fails(f.move('x', '/scratch/y'), { code: 'EXDEV', message: 'cross-base move is not supported' });
  await fails(f.rename('x', '/scratch/y'), { code: 'EXDEV' });
  fs.symlinkSync(path.join(top, 'outside/secret'), path.join(rootfs, 'esc'));
  await fails(f.readFile('/esc'), { message: OUTSIDE });
  await fails(new SandboxedFilesystem(home).readFile('/scratch/x'), { message: "scratch is not mounted; cannot access absolute path '/scratch/x'" });
});

test('the home may be replaced while it is used', async (t) => {
  const { top, home, fs: f } = playground(t);
  await f.writeFile('x', 'old');
  fs.renameSync(home, path.join(top, 'away'));
  await assert.rejects(f.readFile('x'));
  fs.mkdirSync(home);
  fs.writeFileSync(path.join(home, 'x'), 'new');
  assert.strictEqual(await f.readFile('x', 'utf8'), 'new');
});

test('locks: one reader wins, and a lock is one by any name', async (t) => {
  const { fs: f } = playground(t);
  await f.writeFile('p', 'text');
  const all = await Promise.allSettled(Array.from({ length: 20 }, () => f.readFile('p', 'utf8', 60000)));
  assert.strictEqual(all.filter((r) => r.status === 'fulfilled').length, 1);
  await fails(f.readFile('p'), { code: 'LOCK', message: 'path is locked - p' });
  await fails(f.readFile('/root/p', 'utf8', 1000), { code: 'LOCK' });
  await f.writeFile('p', 'written');
  await f.lockFile('p');
  assert.strictEqual(await f.readFile('p', 'utf8'), 'written');
  await f.lockFile('missing', 60000);
  await fails(f.readFile('missing'), { code: 'LOCK' });
});

test('patches', async (t) => {
  const { fs: f } = playground(t);
  const patch = [[[[0, 'hello '], [1, 'brave new '], [0, 'world']], 0, 0, 11, 21]];
  await f.writeFile('p', 'hello world');
  await fails(f.writeFile('p', { patch, sha256: sha256('other') }), { code: 'ETAG_MISMATCH', message: 'Mismatched base version for patch write' });
  await f.writeFile('p', { patch, sha256: sha256('hello world') });
  assert.strictEqual(await f.readFile('p', 'utf8'), 'hello brave new world');
  const now = sha256('hello brave new world');
  await f.writeFile('p', { patch: JSON.stringify([]), sha256: now });
  await fails(f.writeFile('p', { patch: 'no json', sha256: now }), { code: 'EINVAL', message: 'Invalid patch format for writeFile' });
  await fails(f.writeFile('p', { patch: { a: 1 }, sha256: now }), { code: 'EINVAL', message: 'Invalid patch payload for writeFile' });
  await fails(f.writeFile('p', { patch, sha256: now }), { code: 'PATCH_FAILED', message: 'Failed to apply patch cleanly' });
  await fails(f.writeFile('q', { patch, sha256: now }), { code: 'ETAG_MISMATCH' });
});

test('writeFileDelta', async (t) => {
  const { fs: f } = playground(t);
  const lines = Array.from({ length: 300 }, (_, i) => `line ${i} 🔥\n`);
  const base = lines.join('');
  lines[100] = 'another\n';
  const next = lines.join('');
  await f.writeFile('p', base);
  await f.writeFileDelta('p', next, { baseContents: base });
  assert.strictEqual(await f.readFile('p', 'utf8'), next);
  await fails(f.writeFileDelta('p', `${next}x`, { baseContents: base }), { code: 'ETAG_MISMATCH' });
  await f.writeFile('p', 'disk');
  await f.writeFileDelta('p', next, { baseContents: next });
  assert.strictEqual(await f.readFile('p', 'utf8'), 'disk');
  await f.writeFileDelta('p', 'short', { baseContents: base });
  assert.strictEqual(await f.readFile('p', 'utf8'), 'short');
  await f.writeFileDelta('p', Buffer.from('bytes'), { baseContents: base });
  assert.strictEqual(await f.readFile('p', 'utf8'), 'bytes');
  await f.writeFileDelta('p', next, { baseContents: `${base}\0` }); // content is text of any kind
  assert.strictEqual(await f.readFile('p', 'utf8'), next);
});

test('results: stats, entries, listings, names that are no text', async (t) => {
  const { fs: f, home } = playground(t);
  await f.mkdir('d/sub', { recursive: true });
  await f.writeFile('d/f', '12345');
  await f.writeFile('d/__proto__', 'x');
  await f.writeFile('d/😀.txt', 'x');
  fs.symlinkSync('f', path.join(home, 'd/l'));
  const entries = await f.readdir('d', { withFileTypes: true });
  assert.ok(entries.every((e) => e instanceof fs.Dirent));
  const { name, parentPath, path: same, type } = entries.find((e) => e.name === 'l');
  assert.deepStrictEqual({ name, parentPath, same, type }, { name: 'l', parentPath: 'd', same: 'd', type: 3 });
  assert.ok((await f.stat('d/l')) instanceof fs.Stats);
  assert.strictEqual((await f.stat('d/l')).type, 'f');
  assert.strictEqual((await f.lstat('d/l')).type, 'l');
  const { files, truncated } = await f.getListing('d');
  assert.strictEqual(truncated, false);
  assert.deepStrictEqual(Object.keys(files).sort(), ['__proto__', 'f', 'l', 'sub', '😀.txt']);
  assert.deepStrictEqual(files.l, { mtime: files.l.mtime, size: 1, type: 'l', isSymLink: true, linkTarget: 'f' });
  assert.strictEqual(files.sub.isDir, true);
  assert.strictEqual(files.f.mtime, (await f.stat('d/f')).mtimeMs);
  const odd = Buffer.from([0x61, 0xff, 0xfe]);
  fs.writeFileSync(Buffer.concat([Buffer.from(`${home}/d/sub/`), odd]), 'x');
  assert.deepStrictEqual(await f.readdir('d/sub', { encoding: 'buffer' }), [odd]);
  assert.deepStrictEqual(await f.readdir('', { recursive: true }).then((l) => l.filter((n) => n.startsWith('d/') && !n.includes('\ufffd'))),
    ['d/__proto__', 'd/f', 'd/l', 'd/sub', 'd/😀.txt']);
  structuredClone({ ...(await f.stat('d/f')) });
});

test('a length is taken as it is or refused', async (t) => {
  const { fs: f } = playground(t);
  await f.writeFile('kept', 'content');
  for (const length of [2 ** 63, 2 ** 64, 2 ** 53, 1e300, Infinity, NaN, 2.5]) {
    await assert.rejects(async () => f.truncate('kept', length), { code: 'ERR_OUT_OF_RANGE' });
  }
  assert.strictEqual(await f.readFile('kept', 'utf8'), 'content');
  for (const number of [NaN, Infinity, -Infinity, 1e300, -1e300]) {
    await f.writeFileDelta('kept', 'x', { minLength: number });
    const watch = await f.watch('kept', { maxQueue: number, stabilityThreshold: number });
    watch.close();
  }
});

test('chmod and utimes need no permission to read', async (t) => {
  const { fs: f, home } = playground(t);
  fs.writeFileSync(path.join(home, 'shut'), 'x', { mode: 0 });
  await f.utimes('shut', 10, 20);
  await f.chmod('shut', '755');
  assert.strictEqual((await f.stat('shut')).mode, 0o100755);
  assert.strictEqual((await f.stat('shut')).mtimeMs, 20000);
});

test('denials are told once each, without a host path', async (t) => {
  const { fs: f, top } = playground(t);
  const heard = [];
  f.on('denial', (record) => heard.push(record));
  await f.readFile('esc').catch(() => {});
  await f.readFile('missing').catch(() => {});
  await f.symlink('a', 'b').catch(() => {});
  await f.watch('esc').catch(() => {});
  await f.find('escd').catch(() => {});
  await f.writeFile('esc', { patch: [], sha256: '' }).catch(() => {});
  assert.deepStrictEqual(heard.map((r) => [r.method, r.mode, r.path, r.code]),
    [['readFile', 'safe', 'esc', 'EACCES'], ['symlink', 'safe', 'b', 'EPERM'], ['watch', 'safe', 'esc', 'EACCES'],
      ['find', 'safe', 'escd', 'EACCES'], ['writeFile', 'safe', 'esc', 'EACCES']]);
  assert.ok(!JSON.stringify(heard).includes(top));
});

test('safeAbsPath maps what is inside and refuses what is not', async (t) => {
  const { fs: f, home } = playground(t);
  assert.strictEqual(await f.safeAbsPath('new/x'), path.join(home, 'new/x'));
  assert.deepStrictEqual(await f.safeAbsPaths(['/root/a', '../b']), [path.join(home, 'a'), path.join(home, 'b')]);
  await fails(f.safeAbsPath('esc'), { message: OUTSIDE });
  assert.ok(!JSON.stringify(f).includes(home));
});

test('a hard link to a file outside is readable, as the reference accepts', async (t) => {
  const { fs: f, home, outside } = playground(t);
  fs.linkSync(path.join(outside, 'secret'), path.join(home, 'hard'));
  assert.strictEqual(await f.readFile('hard', 'utf8'), 'canary');
});

test('options that make no sense are refused', (t) => {
  const directory = temporary(t);
  assert.throws(() => new SandboxedFilesystem(), TypeError);
  assert.throws(() => new SandboxedFilesystem(''), TypeError);
  assert.throws(() => new SandboxedFilesystem(directory, { homeAliases: ['relative'] }));
  assert.throws(() => new SandboxedFilesystem(directory, { homeAliases: [7] }), TypeError);
});
