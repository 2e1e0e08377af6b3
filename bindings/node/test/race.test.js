'use strict';

// Somebody exchanges directories and files with links that lead outside, as fast as possible, while
// every reader and mutator works on them. The plain way runs beside it as a control: it must get
// out, else the test proves nothing.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { test } = require('node:test');
const { playground, snapshot } = require('./support.js');

const seconds = Number(process.env.CORDON_RACE_SECONDS ?? 4);

// In Python, because Node cannot exchange two names in one step.
const swapper = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
while os.getppid() == int(sys.argv[2]):
    for _ in range(500):
        for a, b in ((b"d", b"dl"), (b"s/file", b"s/fl")):
            libc.renameat2(-100, a, -100, b, 2)
`;

const paths = ['d/file', 'd/sub/file', 's/file', 'plain/file', 'd/new'];

const acts = [
  (f, p) => f.readFile(p, 'utf8'), (f, p) => f.stat(p), (f, p) => f.exists(p), (f, p) => f.realpath(p), (f) => f.readdir('d'),
  (f) => f.getListing('d/sub'), (f, p) => f.writeFile(p, 'inside'), (f, p) => f.appendFile(p, 'inside'), (f, p) => f.chmod(p, 0o644),
  (f, p) => f.utimes(p, 1, 2), (f, p) => f.truncate(p, 3), (f, p) => f.copyFile('plain/file', p), (f, p) => f.cp('plain', p, { recursive: true }),
  (f) => f.cp('d', 'copy', { recursive: true, dereference: true }), (f) => f.mkdir('d/made/deep', { recursive: true }),
  (f) => f.rm('d/made', { recursive: true, force: true }), (f) => f.rm('copy', { recursive: true, force: true }),
  (f) => f.rename('plain/move', 'd/moved'), (f) => f.move('d/moved', 'plain/move', { overwrite: true }),
  (f) => f.writeFileDelta('s/file', 'inside2', { baseContents: 'inside', minLength: 0 }), (f, p) => f.link(p, 'd/hard'),
  (f) => f.unlink('d/hard'), (f) => f.rmdir('d/made', { recursive: true }), (f) => f.find('d', {}),
];

test(`${seconds} s of a tree that changes under every call`, { timeout: 120000 }, async (t) => {
  const place = playground(t, { allowSafeModeHardlink: true });
  const { home, outside, fs: f } = place;
  for (const d of ['d/sub', 's', 'plain']) fs.mkdirSync(path.join(home, d), { recursive: true });
  for (const p of ['d/file', 'd/sub/file', 's/file', 'plain/file', 'plain/move']) fs.writeFileSync(path.join(home, p), 'inside');
  fs.mkdirSync(path.join(outside, 'dir/sub'));
  fs.writeFileSync(path.join(outside, 'dir/sub/file'), 'canary');
  fs.symlinkSync('../outside/dir', path.join(home, 'dl'));
  fs.symlinkSync('../../outside/secret', path.join(home, 's/fl'));
  const before = snapshot(outside);

  const child = spawn('python3', ['-c', swapper, home, String(process.pid)], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const count = { calls: 0, done: 0, control: 0, escaped: 0, refused: 0 };
  const end = Date.now() + seconds * 1000;

  async function attack(from) {
    for (let i = from; Date.now() < end; i++) {
      const act = acts[i % acts.length];
      if (act === acts.at(-1) && i % 10 !== 0) continue; // a tool takes as long as a hundred others
      const value = await act(f, paths[i % paths.length]).catch((e) => {
        assert.ok(!e.message.includes(place.top), e.message);
        if (e.code === 'EACCES') count.refused++;
        return e;
      });
      count.calls++;
      if (!(value instanceof Error)) count.done++;
      assert.notStrictEqual(value, 'canary', `${act} got out`);
    }
  }
  async function control() {
    while (Date.now() < end) {
      const text = await fs.promises.readFile(path.join(home, paths[count.control++ % 3]), 'utf8').catch(() => '');
      if (text === 'canary') count.escaped++;
    }
  }
  await Promise.all([...Array.from({ length: 8 }, (_, k) => attack(k * 3)), control()]);
  child.kill('SIGKILL');
  t.diagnostic(JSON.stringify(count));
  assert.ok(count.escaped > 0, 'the plain way did not get out: nothing was proven');
  assert.ok(count.done > 100 && count.refused > 0, JSON.stringify(count));
  assert.strictEqual(snapshot(outside), before);
});
