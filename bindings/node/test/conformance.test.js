'use strict';

// Each method on a SandboxedFilesystem and on fs/promises in a plain directory: same results, same
// errors, down to the text. Where the contract wants something else than Node, `cordon` says what.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { temporary, SandboxedFilesystem } = require('./support.js');

const root = process.getuid() === 0;
const olderNode = Number(process.versions.node.split('.')[0]) < 20;

function fill(directory) {
  const at = (name) => path.join(directory, name);
  fs.mkdirSync(at('dir/sub'), { recursive: true });
  fs.mkdirSync(at('empty'));
  fs.writeFileSync(at('a'), 'hello');
  fs.writeFileSync(at('dir/b'), 'grüße');
  fs.writeFileSync(at('dir/sub/c'), Buffer.from([0, 255, 128, 10]));
  fs.writeFileSync(at('🔥'), 'fire');
  fs.chmodSync(at('a'), 0o640);
  fs.utimesSync(at('a'), 1000, 2000.5);
  fs.symlinkSync('a', at('link'));
  fs.symlinkSync('dir', at('dirlink'));
  fs.symlinkSync('nothing', at('dangling'));
  fs.symlinkSync('loop', at('loop'));
}

/** The value or the error of an act, without what differs between any two files. */
async function outcome(act) {
  try {
    return { value: plain(await act()) };
  } catch (e) {
    const error = { kind: e.constructor.name, name: e.name, message: e.message };
    for (const key of ['code', 'errno', 'syscall', 'path', 'dest']) if (key in e) error[key] = e[key];
    return { error };
  }
}

const tests = ['isFile', 'isDirectory', 'isSymbolicLink', 'isFIFO', 'isSocket', 'isBlockDevice', 'isCharacterDevice'];

function plain(value) {
  if (value instanceof fs.Stats) {
    const { mode, nlink, uid, gid, rdev, blksize, blocks } = value;
    const size = value.isDirectory() ? 0 : value.size;
    return { mode, nlink, uid, gid, rdev, blksize, blocks, size, is: tests.map((name) => value[name]()),
      dates: ['atime', 'mtime', 'ctime', 'birthtime'].map((name) => value[name] instanceof Date &&
        Math.round(value[`${name}Ms`]) === value[name].getTime()) };
  }
  if (value instanceof fs.Dirent) {
    // Node 18 has its own idea of `path`; the contract's is that of later ones.
    return { name: value.name, path: olderNode ? '' : value.path, is: tests.map((name) => value[name]()) };
  }
  if (Array.isArray(value)) return value.map(plain).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return value;
}

// [what, act, what the contract says instead of Node]. After each act the whole tree is compared, too.
const cases = [
  ['readFile', (f) => f.readFile('a')],
  ['readFile text', (f) => f.readFile('dir/b', 'utf8')],
  ['readFile bytes that are no text', (f) => f.readFile('dir/sub/c', 'utf8')],
  ['readFile latin1', (f) => f.readFile('dir/b', 'latin1')],
  ['readFile base64', (f) => f.readFile('dir/sub/c', 'base64')],
  ['readFile hex', (f) => f.readFile('dir/sub/c', 'hex')],
  ['readFile {encoding}', (f) => f.readFile('a', { encoding: 'utf8' })],
  ['readFile unknown encoding', (f) => f.readFile('a', 'nope')],
  ['readFile missing', (f) => f.readFile('q')],
  ['readFile missing directory', (f) => f.readFile('q/w')],
  ['readFile directory', (f) => f.readFile('dir')],
  ['readFile link', (f) => f.readFile('link', 'utf8')],
  ['readFile beneath a linked directory', (f) => f.readFile('dirlink/b', 'utf8')],
  ['readFile dangling', (f) => f.readFile('dangling')],
  ['readFile loop', (f) => f.readFile('loop')],
  ['readFile long name', (f) => f.readFile('n'.repeat(300))],
  ['readFile emoji', (f) => f.readFile('🔥', 'utf8')],
  ['readFile NUL', (f) => f.readFile('a\0b')],
  ['readFile not a directory', (f) => f.readFile('a/b'), { syscall: 'realpath' }],
  ['stat NUL', (f) => f.stat('a\0b')],
  ['stat', (f) => f.stat('a')],
  ['stat link', (f) => f.stat('link')],
  ['stat directory', (f) => f.stat('dir')],
  ['stat missing', (f) => f.stat('q')],
  ['stat loop', (f) => f.stat('loop')],
  ['lstat', (f) => f.lstat('a')],
  ['lstat link', (f) => f.lstat('link')],
  ['lstat dangling', (f) => f.lstat('dangling')],
  ['lstat missing', (f) => f.lstat('q')],
  ['readdir', (f) => f.readdir('dir')],
  ['readdir top', (f) => f.readdir('.')],
  ['readdir with types', (f) => f.readdir('dir', { withFileTypes: true })],
  ['readdir with types of links', (f) => f.readdir('.', { withFileTypes: true }), { path: '' }],
  ['readdir recursive', (f) => f.readdir('dir', { recursive: true })],
  ['readdir recursive with types', (f) => f.readdir('dir', { recursive: true, withFileTypes: true })],
  ['readdir bytes', (f) => f.readdir('dir', { encoding: 'buffer' })],
  ['readdir bytes, by name', (f) => f.readdir('dir', 'buffer')],
  ['readdir missing', (f) => f.readdir('q')],
  ['readdir file', (f) => f.readdir('a')],
  ['readdir empty', (f) => f.readdir('empty')],
  ['readlink', (f) => f.readlink('link')],
  ['readlink dangling', (f) => f.readlink('dangling')],
  ['readlink file', (f) => f.readlink('a')],
  ['readlink missing', (f) => f.readlink('q')],
  ['realpath missing', (f) => f.realpath('q')],
  ['realpath loop', (f) => f.realpath('loop')],
  ['appendFile', (f) => f.appendFile('a', ' more')],
  ['appendFile new', (f) => f.appendFile('new', 'x')],
  ['appendFile bytes', (f) => f.appendFile('a', new Uint8Array([1, 2, 3]))],
  ['appendFile hex', (f) => f.appendFile('a', '616263', 'hex')],
  ['appendFile directory', (f) => f.appendFile('dir', 'x')],
  ['appendFile through a dangling link', (f) => f.appendFile('dangling', 'made')],
  ['appendFile missing directory', (f) => f.appendFile('q/w', 'x')],
  ['writeFile', (f) => f.writeFile('a', 'new')],
  ['writeFile new', (f) => f.writeFile('new', 'x')],
  ['writeFile bytes', (f) => f.writeFile('a', Buffer.from([0, 1, 2]))],
  ['writeFile other view', (f) => f.writeFile('a', new Uint16Array([1, 2]))],
  ['writeFile DataView', (f) => f.writeFile('a', new DataView(new ArrayBuffer(3), 1))],
  ['writeFile empty', (f) => f.writeFile('a', '')],
  ['writeFile lone surrogate', (f) => f.writeFile('a', 'x\ud800y')],
  ['writeFile through a link', (f) => f.writeFile('link', 'new')],
  ['writeFile directory', (f) => f.writeFile('dir', 'x')],
  ['writeFile missing directory', (f) => f.writeFile('q/w', 'x')],
  ['writeFile a number', (f) => f.writeFile('a', 7)],
  ['writeFile null', (f) => f.writeFile('a', null)],
  ['writeFile undefined', (f) => f.writeFile('a', undefined)],
  ['writeFile object', (f) => f.writeFile('a', { x: 1 })],
  ['truncate', (f) => f.truncate('a', 2)],
  ['truncate all', (f) => f.truncate('a')],
  ['truncate grow', (f) => f.truncate('a', 20)],
  ['truncate negative', (f) => f.truncate('a', -3)],
  ['truncate missing', (f) => f.truncate('q')],
  ['truncate directory', (f) => f.truncate('dir')],
  ['truncate fraction', (f) => f.truncate('a', 1.5)],
  ['chmod', (f) => f.chmod('a', 0o755)],
  ['chmod octal text', (f) => f.chmod('a', '600')],
  ['chmod link', (f) => f.chmod('link', 0o600)],
  ['chmod bad text', (f) => f.chmod('a', 'rwx')],
  ['chmod without a mode', (f) => f.chmod('a')],
  ['chmod null', (f) => f.chmod('a', null)],
  ['chmod missing', (f) => f.chmod('q', 0o600), { syscall: 'open' }],
  ['utimes', (f) => f.utimes('a', 10, 20)],
  ['utimes fractions', (f) => f.utimes('a', 10.25, 20.75)],
  ['utimes dates', (f) => f.utimes('a', new Date(5000), new Date(6500))],
  ['utimes text', (f) => f.utimes('a', '10', '20')],
  ['utimes bad text', (f) => f.utimes('a', 'noon', 20)],
  ['utimes missing', (f) => f.utimes('q', 1, 2), { syscall: 'open' }],
  ['mkdir', (f) => f.mkdir('new')],
  ['mkdir mode', (f) => f.mkdir('new', 0o700)],
  ['mkdir mode as text', (f) => f.mkdir('new', '700')],
  ['mkdir options', (f) => f.mkdir('new', { mode: 0o711 })],
  ['mkdir recursive', (f) => f.mkdir('x/y/z', { recursive: true }).then(() => undefined)],
  ['mkdir recursive existing', (f) => f.mkdir('dir/sub', { recursive: true })],
  ['mkdir existing', (f) => f.mkdir('dir')],
  ['mkdir existing file', (f) => f.mkdir('a')],
  ['mkdir missing parent', (f) => f.mkdir('q/w')],
  ['mkdir recursive, file in the way', (f) => f.mkdir('a', { recursive: true })],
  ['mkdir bad mode', (f) => f.mkdir('new', { mode: 'rwx' })],
  ['rmdir', (f) => f.rmdir('empty')],
  ['rmdir full', (f) => f.rmdir('dir')],
  ['rmdir missing', (f) => f.rmdir('q')],
  ['rmdir file', (f) => f.rmdir('a')],
  ['unlink', (f) => f.unlink('a')],
  ['unlink link', (f) => f.unlink('link')],
  ['unlink missing', (f) => f.unlink('q')],
  ['unlink directory', (f) => f.unlink('dir')],
  ['rename', (f) => f.rename('a', 'z')],
  ['rename over a file', (f) => f.rename('a', '🔥')],
  ['rename into a directory', (f) => f.rename('a', 'dir/a')],
  ['rename missing', (f) => f.rename('q', 'z')],
  ['rename to a missing directory', (f) => f.rename('a', 'q/w')],
  ['rename file onto directory', (f) => f.rename('a', 'dir')],
  ['rename directory onto file', (f) => f.rename('dir', 'a')],
  ['rename directory onto full one', (f) => f.rename('empty', 'dir')],
  ['rename into itself', (f) => f.rename('dir', 'dir/sub/x')],
  ['copyFile', (f) => f.copyFile('a', 'z')],
  ['copyFile over', (f) => f.copyFile('a', '🔥')],
  ['copyFile missing', (f) => f.copyFile('q', 'z'), { syscall: 'open', dest: undefined }],
  ['copyFile to a missing directory', (f) => f.copyFile('a', 'q/w'), { syscall: 'open', path: 'q/w', dest: undefined }],
  ['link', (f) => f.link('a', 'z')],
  ['link existing', (f) => f.link('a', '🔥')],
  ['link missing', (f) => f.link('q', 'z')],
  ['link directory', (f) => f.link('dir', 'z')],
  ['symlink existing', (f) => f.symlink('a', '🔥')],
  ['symlink', (f) => f.symlink('a', 'z')],
  ['symlink dangling', (f) => f.symlink('nowhere', 'z')],
  ['rm', (f) => f.rm('a')],
  ['rm link', (f) => f.rm('link')],
  ['rm missing', (f) => f.rm('q')],
  ['rm missing, force', (f) => f.rm('q', { force: true })],
  ['rm recursive', (f) => f.rm('dir', { recursive: true })],
  ['rm directory', (f) => f.rm('dir'), { kind: 'Error', name: 'Error', syscall: 'rm' }],
  ['cp', (f) => f.cp('a', 'z')],
  ['cp recursive', (f) => f.cp('dir', 'z', { recursive: true })],
  ['cp onto itself again', async (f) => { await f.cp('dir', 'z', { recursive: true }); await f.cp('dir', 'z', { recursive: true }); }],
  ['cp into a missing directory', (f) => f.cp('a', 'q/w/e')],
  ['cp keeps', (f) => f.cp('a', '🔥', { force: false })],
  ['cp times', (f) => f.cp('a', 'z', { preserveTimestamps: true })],
];

/** What a tree holds; times only where a test set them. */
function tree(directory, withAccess) {
  const seen = {};
  const walk = (name) => {
    const full = path.join(directory, name);
    const s = fs.lstatSync(full);
    seen[name] = [s.mode, s.nlink, s.mtimeMs < 1e9 ? s.mtimeMs : 'now'];
    if (withAccess) seen[name].push(s.atimeMs < 1e9 ? s.atimeMs : 'now');
    if (s.isSymbolicLink()) seen[name].push(fs.readlinkSync(full));
    if (s.isFile()) seen[name].push(fs.readFileSync(full, 'latin1'));
    if (s.isDirectory()) for (const child of fs.readdirSync(full)) walk(path.join(name, child));
  };
  walk('.');
  return seen;
}

// Node prints its messages with these; where the contract says another syscall or path, so must the text.
function adapt(error, differs) {
  const changed = { ...error, ...differs };
  for (const [key, value] of Object.entries(changed)) if (value === undefined) delete changed[key];
  if (differs && error.code && error.syscall && error.errno < 0) {
    const text = error.message.split(', ')[0];
    const dest = changed.dest === undefined ? '' : ` -> '${changed.dest}'`;
    changed.message = `${text}, ${changed.syscall} '${changed.path}'${dest}`;
  }
  return changed;
}

for (const [what, act, differs] of cases) {
  test(`as fs/promises: ${what}`, async (t) => {
    const [ours, theirs] = [temporary(t, 'ours'), temporary(t, 'theirs')];
    fill(ours);
    fill(theirs);
    const cordon = new SandboxedFilesystem(ours, { allowSafeModeHardlink: true, allowSafeModeSymlink: true });
    const got = await outcome(() => act(cordon));
    const before = process.cwd();
    process.chdir(theirs); // so that both speak of the same names
    const want = await outcome(() => act(fs.promises));
    process.chdir(before);
    if (want.error) want.error = adapt(want.error, differs);
    else if (differs?.path !== undefined) for (const entry of want.value) entry.path = differs.path;
    assert.deepStrictEqual(got, want);
    const times = what.startsWith('utimes');
    assert.deepStrictEqual(tree(ours, times), tree(theirs, times));
  });
}

test('constants are those of Node', async (t) => {
  const ours = await new SandboxedFilesystem(temporary(t)).constants();
  assert.deepStrictEqual(Object.fromEntries(Object.entries(ours).sort()),
    Object.fromEntries(Object.entries(fs.constants).filter(([name]) => name in ours).sort()));
  const missing = Object.keys(fs.constants).filter((name) => !(name in ours) && !/^(UV_FS_|EXTENSIONLESS_)/.test(name));
  assert.deepStrictEqual(missing, []);
});

test('an error prints as one of Node does', async (t) => {
  const error = await new SandboxedFilesystem(temporary(t)).readFile('q').catch((e) => e);
  assert.deepStrictEqual(Object.keys(error), ['errno', 'code', 'syscall', 'path']);
  assert.strictEqual(String(error), "Error: ENOENT: no such file or directory, open 'q'");
});

test('a mode without permission is EACCES in the words of Node', { skip: root && 'root may read anything' }, async (t) => {
  const directory = temporary(t);
  fs.writeFileSync(path.join(directory, 'shut'), 'x', { mode: 0 });
  const error = await new SandboxedFilesystem(directory).readFile('shut').catch((e) => e);
  assert.strictEqual(error.message, "EACCES: permission denied, open 'shut'");
  assert.strictEqual(error.errno, -13);
});
