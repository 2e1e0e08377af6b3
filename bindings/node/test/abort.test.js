'use strict';

const assert = require('node:assert');
const { pbkdf2 } = require('node:crypto');
const { readdirSync, mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { playground } = require('./support.js');

const ABORTED = { name: 'AbortError', code: 'ABORT_ERR', message: 'The operation was aborted' };

function grown(t) {
  const place = playground(t);
  for (let d = 0; d < 5; d++) {
    const directory = path.join(place.home, 'tree', `d${d}`);
    mkdirSync(directory, { recursive: true });
    for (let i = 0; i < 20; i++) writeFileSync(path.join(directory, `f${i}`), '');
  }
  return place;
}

const ENTRIES = 105;
const count = (directory) => readdirSync(directory, { recursive: true }).length;

test('nothing begins with a signal that was aborted', async (t) => {
  const { fs: f, home } = grown(t);
  const signal = AbortSignal.abort('because');
  await assert.rejects(f.rm('tree', { recursive: true, signal }), { ...ABORTED, cause: 'because' });
  await assert.rejects(f.cp('tree', 'copy', { recursive: true, signal }), ABORTED);
  assert.deepStrictEqual([count(path.join(home, 'tree')), await f.exists('copy')], [ENTRIES, false]);
});

test('a copy and a delete stop half way', async (t) => {
  const { fs: f, home } = grown(t);
  const half = async (act) => {
    // The threads of the pool are busy until after the abort, so the call sees it at its first look.
    const busy = Array.from({ length: 4 }, () => new Promise((done) => { pbkdf2('', '', 100000, 8, 'sha1', done); }));
    const controller = new AbortController();
    const running = act(controller.signal);
    controller.abort();
    await assert.rejects(running, ABORTED);
    await Promise.all(busy);
  };
  await half((signal) => f.cp('tree', 'copy', { recursive: true, signal }));
  assert.ok(!(await f.exists('copy')) || count(path.join(home, 'copy')) < ENTRIES);
  await half((signal) => f.rm('tree', { recursive: true, signal }));
  assert.strictEqual(count(path.join(home, 'tree')), ENTRIES - 1);
});

test('a signal that is never aborted changes nothing, and keeps no listener', async (t) => {
  const { fs: f } = grown(t);
  const { signal } = new AbortController();
  let listeners = 0;
  for (const [name, by] of [['addEventListener', 1], ['removeEventListener', -1]]) {
    const original = signal[name].bind(signal);
    signal[name] = (...args) => { listeners += by; return original(...args); };
  }
  await f.cp('tree', 'copy', { recursive: true, signal });
  await f.rm(['tree', 'copy'], { recursive: true, signal });
  await f.find('', { signal });
  await assert.rejects(f.rm('tree', { signal }), { code: 'ENOENT' });
  await assert.rejects(f.watch('esc', { signal }), { code: 'EACCES' });
  assert.strictEqual(listeners, 0);
  assert.strictEqual(await f.exists('copy'), false);
});
