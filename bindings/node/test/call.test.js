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

test('what JSON or C would cut short is refused of modules, too', async (t) => {
  const m = modules(t);
  m.add('echo', 'cat');
  for (const timeoutMs of [NaN, Infinity, -1, 0, 0.4, '100', 2 ** 60]) {
    await assert.rejects(m.call('echo', 1, { timeoutMs }), TypeError);
  }
  assert.strictEqual(await m.call('echo', 1, { timeoutMs: 60000 }), 1);
  await assert.rejects(m.call('echo\0zzz', 1), TypeError);
  for (const option of ['extensions', 'runner', 'policy', 'within', 'traceId']) {
    await assert.rejects(m.call('echo', 1, { [option]: 'module\0x' }), TypeError, option);
  }
  await assert.rejects(m.call('echo', 1, { env: { A: 'b\0c' } }), TypeError);
  await assert.rejects(m.call('echo', 1, { within: { version: 1, limits: { mem_bytes: NaN } } }), TypeError);
});

test('why a module did not run, and what to do, is in the message', async (t) => {
  const m = modules(t);
  const tool = path.join(temporary(t, 'tools'), 'one');
  fs.writeFileSync(tool, '#!/bin/sh\n', { mode: 0o755 });
  m.add('tool', '', { command: [tool] });
  const error = await m.call('tool').catch((e) => e);
  assert.ok(error instanceof SpawnError && error.result.status === 'SPAWN_FAILED', error.stack);
  assert.match(error.remedy, /it exists on the host: --ro .*tools.* would show it/);
  assert.ok(error.message.endsWith(error.remedy));
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

test('a signal ends a call, and the result says so', async (t) => {
  const m = modules(t);
  m.add('hangs', 'sleep 60');
  const aborted = { name: 'AbortError', code: 'ABORT_ERR' };
  await assert.rejects(m.call('hangs', null, { signal: AbortSignal.abort() }), aborted);
  const controller = new AbortController();
  const running = m.call('hangs', null, { signal: controller.signal });
  setTimeout(() => controller.abort('enough'), 100);
  await assert.rejects(running, (e) => {
    assert.deepStrictEqual([e.name, e.code, e.cause], ['AbortError', 'ABORT_ERR', 'enough']);
    return e.result.duration_ms < 30000 && e.result.status !== 'OK';
  });
});
