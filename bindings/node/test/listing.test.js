'use strict';

// A directory as a file explorer shows it: one listing at the start, events from then on. At any
// time the monitor's view must become what a fresh listing says.

const assert = require('node:assert');
const { writeFileSync, appendFileSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { delay, playground } = require('./support.js');

class Monitor {
  static async open(t, fs, directory) {
    const monitor = new Monitor();
    monitor.watch = await fs.watch(directory, { closeOnUnlink: true, stats: true, stabilityThreshold: 0 });
    t.after(() => monitor.watch.end());
    monitor.files = (await fs.getListing(directory)).files; // after the watch is armed: nothing is missed
    monitor.#follow();
    return monitor;
  }

  async #follow() {
    for await (const { event, filename, stats } of this.watch) {
      if (event.startsWith('unlink')) delete this.files[filename];
      else this.files[filename] = { size: stats.size, mtime: stats.mtimeMs };
    }
  }

  /** Waits until what is shown is what is there; names, sizes and times. */
  async agrees(fs, directory) {
    const shown = ([name, { size, mtime }]) => [name, size, mtime];
    const sorted = (files) => Object.entries(files).map(shown).sort(([a], [b]) => (a < b ? -1 : 1));
    for (let tries = 0; ; tries++) {
      const there = sorted((await fs.getListing(directory)).files);
      if (JSON.stringify(sorted(this.files)) === JSON.stringify(there)) return;
      if (tries === 400) assert.deepStrictEqual(sorted(this.files), there);
      await delay(25);
    }
  }
}

test('a listing is followed: empty, create, modify, remove, and a second monitor', async (t) => {
  const { fs, home } = playground(t);
  await fs.mkdir('d');
  const first = await Monitor.open(t, fs, 'd');
  assert.deepStrictEqual(Object.keys(first.files), []);
  writeFileSync(path.join(home, 'd/a'), 'hello');
  await first.agrees(fs, 'd');
  const { size, mtimeMs } = await fs.stat('d/a');
  assert.deepStrictEqual([first.files.a.size, first.files.a.mtime], [size, mtimeMs]);
  appendFileSync(path.join(home, 'd/a'), ' and more');
  await first.agrees(fs, 'd');
  assert.strictEqual(first.files.a.size, 14);
  const second = await Monitor.open(t, fs, 'd');
  await fs.writeFile('d/b', 'by the interface');
  await fs.mkdir('d/sub');
  await fs.rm('d/a');
  for (const monitor of [first, second]) {
    await monitor.agrees(fs, 'd');
    assert.deepStrictEqual(Object.keys(monitor.files).sort(), ['b', 'sub']);
  }
});

test('a listing is followed: 500 files', async (t) => {
  const { fs, home } = playground(t);
  await fs.mkdir('d');
  const monitor = await Monitor.open(t, fs, 'd');
  for (let i = 0; i < 500; i++) writeFileSync(path.join(home, 'd', `f${i}`), 'x'.repeat(i));
  await monitor.agrees(fs, 'd');
  assert.strictEqual(Object.keys(monitor.files).length, 500);
});
