'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { Worker } = require('node:worker_threads');
const { playground, script, SandboxedFilesystem } = require('./support.js');

const header = 'const { SandboxedFilesystem, run } = require(process.env.CORDON_PACKAGE);';

test('10,000 calls in flight', async (t) => {
  const { fs: f } = playground(t);
  await f.writeFile('a', 'content');
  const calls = Array.from({ length: 10000 }, (_, i) => (i % 3 === 0 ? f.stat('a') : i % 3 === 1 ? f.readFile('a', 'utf8') : f.readFile('q').catch((e) => e.code)));
  let turns = 0;
  const ticking = setInterval(() => { turns++; }, 1);
  const results = await Promise.all(calls);
  clearInterval(ticking);
  assert.ok(turns > 0, 'the loop never turned');
  results.forEach((r, i) => assert.strictEqual(i % 3 === 0 ? r.size : r, [7, 'content', 'ENOENT'][i % 3]));
});

test('the loop turns while a large tree is removed', async (t) => {
  const memory = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
  const home = fs.mkdtempSync(path.join(memory, 'cordon-tree-'));
  t.after(() => fs.rmSync(home, { recursive: true }));
  const f = new SandboxedFilesystem(home);
  for (let d = 0; d < 20; d++) {
    fs.mkdirSync(path.join(home, `t/${d}`), { recursive: true });
    for (let i = 0; i < 500; i++) fs.writeFileSync(path.join(home, `t/${d}/${i}`), '');
  }
  let [turns, done] = [0, false];
  const removal = f.rm('t', { recursive: true }).then(() => { done = true; });
  while (!done) {
    turns++;
    await new Promise(setImmediate);
  }
  await removal;
  assert.ok(turns > 1, 'a loop that waits turns once');
});

test('worker threads, each with its own; and one that is terminated with calls and watches', async (t) => {
  const { home } = playground(t);
  const source = `
    const { SandboxedFilesystem } = require(${JSON.stringify(path.join(__dirname, '..'))});
    const { parentPort, workerData } = require('node:worker_threads');
    const f = new SandboxedFilesystem(workerData.home);
    (async () => {
      const name = 'w' + workerData.number;
      const watch = await f.watch('', { stabilityThreshold: 0 });
      await f.writeFile(name, name);
      for (let i = 0; i < 200; i++) await f.readFile(name, 'utf8');
      parentPort.postMessage(await f.readFile(name, 'utf8'));
      if (workerData.forever) { for (;;) for (let i = 0; i < 100; i++) await Promise.all([f.stat(name), f.readdir('')]); }
      watch.end();
    })();`;
  const workers = Array.from({ length: 6 }, (_, number) => new Worker(source, { eval: true, workerData: { home, number, forever: number >= 4 } }));
  await Promise.all(workers.map((worker, number) => new Promise((resolve, reject) => {
    worker.on('error', reject);
    worker.on('message', (text) => {
      assert.strictEqual(text, `w${number}`);
      if (number >= 4) setTimeout(() => worker.terminate(), 20);
    });
    worker.on('exit', resolve);
  })));
});

test('a worker that is terminated takes its sandbox along', async () => {
  const { code, stdout } = await script(`
    const { Worker } = require('node:worker_threads');
    const w = new Worker(\`
      const { run } = require(process.env.CORDON_PACKAGE);
      run(['sh', '-c', 'echo up; sleep 60'], 'stage', { onStdout: () => require('node:worker_threads').parentPort.postMessage('up') });
    \`, { eval: true });
    const start = Date.now();
    w.on('message', () => w.terminate().then(() => console.log(Date.now() - start < 30000)));`);
  assert.deepStrictEqual([code, stdout], [0, 'true\n']);
});

const endings = {
  'process.exit': 'process.exit(7)',
  'an exception': "setImmediate(() => { throw new Error('over') })",
};

for (const [name, end] of Object.entries(endings)) {
  test(`exit with calls, watches and a run pending, by ${name}`, async (t) => {
    const { home } = playground(t);
    const started = Date.now();
    const { code, signal, stderr } = await script(`${header}
      const f = new SandboxedFilesystem(process.argv[1]);
      (async () => {
        for (let i = 0; i < 8; i++) (await f.watch('')).next();
        await f.syncFsWatch('doc');
        run(['sleep', '60']).catch(() => {});
        f.find('', {}).catch(() => {});
        await new Promise((r) => setTimeout(r, 50));
        for (let i = 0; i < 10000; i++) { f.readFile('q').catch(() => {}); f.writeFile('x' + i % 7, 'text'); }
        ${end};
      })();`, [home]);
    assert.strictEqual(signal, null, stderr);
    assert.strictEqual(code, name === 'process.exit' ? 7 : 1, stderr);
    assert.ok(Date.now() - started < 30000);
  });
}

test('a process with nothing left to do ends, and calls keep it alive until they are done', async (t) => {
  const { home } = playground(t);
  const { code, stdout } = await script(`${header}
    const f = new SandboxedFilesystem(process.argv[1]);
    f.writeFile('a', 'x').then(() => f.syncFsWatch('a')).then(() => console.log('done'));`, [home]);
  assert.deepStrictEqual([code, stdout], [0, 'done\n']);
});

test('no leak over 100,000 calls', async (t) => {
  const { home } = playground(t);
  fs.writeFileSync(path.join(home, 'a'), 'x'.repeat(4096));
  const { code, stdout, stderr } = await script(`${header}
    const f = new SandboxedFilesystem(process.argv[1]);
    async function batch(n) {
      for (let i = 0; i < n; i += 500) {
        const calls = [];
        for (let k = 0; k < 100; k++) {
          calls.push(f.readFile('a'), f.stat('a'), f.readdir(''), f.readFile('q').catch(() => {}), f.exists('a'));
        }
        calls.push(f.writeFile('b', 'y'), f.appendFile('c', 'y'), f.rm('c').catch(() => {}));
        await Promise.all(calls);
      }
      for (let i = 0; i < 20; i++) new SandboxedFilesystem(process.argv[1]);
      for (let i = 0; i < 3; i++) { global.gc(); await new Promise((r) => setTimeout(r, 20)); }
      return process.memoryUsage.rss() / 1048576;
    }
    (async () => {
      await batch(60000); // caches, compiled code, arenas
      const before = await batch(10000);
      const after = await batch(100000);
      console.log(JSON.stringify([before, after]));
    })();`, [home], ['--expose-gc']);
  assert.strictEqual(code, 0, stderr);
  const [before, after] = JSON.parse(stdout);
  t.diagnostic(`RSS ${before.toFixed(1)} MiB, and ${after.toFixed(1)} MiB after 100,000 calls`);
  assert.ok(after - before < 12, `${before} -> ${after} MiB`); // 120 bytes a call
});
