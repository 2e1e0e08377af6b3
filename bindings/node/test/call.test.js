'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { call, TimeoutError, NonZeroExitError, OutputParseError, SpawnError } = require('../index.js');
const { temporary } = require('./support.js');

function modules(t) {
  const extensions = temporary(t, 'modules');
  fs.chmodSync(extensions, 0o755);
  const add = (id, script, manifest = {}) => {
    fs.mkdirSync(path.join(extensions, id));
    fs.writeFileSync(path.join(extensions, id, 'main.sh'), script, { mode: 0o644 });
    fs.writeFileSync(path.join(extensions, id, 'module.json'),
      JSON.stringify({ id, command: ['/bin/sh', '{module}/main.sh'], ...manifest }));
  };
  return { add, call: (id, input, options) => call(id, input, { extensions, ...options }) };
}

test('a module gets one value and gives one', async (t) => {
  const m = modules(t);
  m.add('echo', 'cat');
  const value = { text: 'grüße 🔥', list: [1, null, true] };
  assert.deepStrictEqual(await m.call('echo', value), value);
  assert.strictEqual(await m.call('echo'), null);
});

test('failures of modules have classes, and the result', async (t) => {
  const m = modules(t);
  m.add('fails', 'echo no >&2; exit 3');
  m.add('hangs', 'sleep 60');
  m.add('talks', 'echo this is no JSON');
  const failure = (id, options) => m.call(id, {}, options).then(() => assert.fail('it succeeded'), (e) => e);
  let error = await failure('fails');
  assert.ok(error instanceof NonZeroExitError, error.stack);
  assert.deepStrictEqual([error.result.rc, error.result.stderr], [3, 'no\n']);
  error = await failure('hangs', { timeoutMs: 100 });
  assert.ok(error instanceof TimeoutError, error.stack);
  assert.strictEqual(error.result.status, 'TIMEOUT');
  error = await failure('talks');
  assert.ok(error instanceof OutputParseError, error.stack);
  assert.strictEqual(error.result.status, 'OUTPUT_PARSE_FAILED');
  error = await failure('missing');
  assert.ok(error instanceof SpawnError);
  assert.deepStrictEqual([error.code, error.result], ['MODULE', undefined]);
  await assert.rejects(m.call('fails', () => {}), TypeError);
  await assert.rejects(m.call(7), TypeError);
});

test('a module gets no more than the caller grants', async (t) => {
  const m = modules(t);
  const secret = path.join(temporary(t), 'secret');
  fs.chmodSync(path.dirname(secret), 0o755);
  fs.writeFileSync(secret, '"text"', { mode: 0o644 });
  const read = `cat >/dev/null; cat ${secret} 2>/dev/null || echo null`;
  m.add('silent', read);
  m.add('asks', read, { effects: [{ effect: 'FsRead', path: secret }] });
  assert.strictEqual(await m.call('silent'), null);
  await assert.rejects(m.call('asks'), (e) => e instanceof SpawnError && e.code === 'POLICY');
  const within = { version: 1, extends: 'module', fs: { ro: [path.dirname(secret)] } };
  assert.strictEqual(await m.call('asks', null, { within }), 'text');
  assert.strictEqual(await m.call('silent', null, { within }), null);
});
