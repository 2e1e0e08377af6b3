'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const cordon = require('../index.js');
const { delay } = require('./support.js');

const { run, doctor, TimeoutError, NonZeroExitError, SpawnError, SandboxError } = cordon;

test('a command: output, status, ledger', async () => {
  const heard = { out: '', err: '' };
  const result = await run(['sh', '-c', 'cat; echo two >&2'], 'stage', {
    input: 'one\n',
    onStdout: (bytes) => { heard.out += bytes; },
    onStderr: (bytes) => { heard.err += bytes; },
  });
  assert.deepStrictEqual([result.status, result.stdout, result.stderr], ['OK', 'one\n', 'two\n']);
  assert.deepStrictEqual(heard, { out: 'one\n', err: 'two\n' });
  assert.strictEqual(result.enforced.network.applied, true);
});

test('output comes while the command runs', async () => {
  const controller = new AbortController();
  const running = run(['sh', '-c', 'echo early; sleep 60'], 'stage', { signal: controller.signal, onStdout: () => controller.abort('enough') });
  const error = await running.catch((e) => e);
  assert.deepStrictEqual([error.name, error.code, error.cause], ['AbortError', 'ABORT_ERR', 'enough']);
  assert.strictEqual(error.result.stdout, 'early\n');
});

test('a signal that was aborted before starts nothing', async () => {
  await assert.rejects(run(['true'], 'stage', { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('failures have classes, and the result', async () => {
  let error = await run(['sh', '-c', 'echo x; exit 3']).catch((e) => e);
  assert.ok(error instanceof NonZeroExitError && error instanceof SandboxError);
  assert.deepStrictEqual([error.name, error.code, error.result.rc, error.result.stdout], ['NonZeroExitError', 'NONZERO_EXIT', 3, 'x\n']);
  error = await run(['sleep', '60'], { version: 1, limits: { wall_ms: 100, grace_ms: 0 } }).catch((e) => e);
  assert.ok(error instanceof TimeoutError);
  assert.strictEqual(error.result.status, 'TIMEOUT');
  error = await run(['no-such-command']).catch((e) => e);
  assert.ok(error instanceof SpawnError);
  assert.strictEqual(error.result.status, 'SPAWN_FAILED');
  error = await run(['true'], 'no-such-profile').catch((e) => e);
  assert.ok(error instanceof SpawnError);
  assert.strictEqual(error.code, 'USAGE');
  error = await run(['true'], { version: 1, nonsense: 1 }).catch((e) => e);
  assert.ok(error instanceof SpawnError);
  assert.strictEqual(error.code, 'POLICY');
  error = await run(['sh', '-c', 'kill -9 $$']).catch((e) => e);
  assert.ok(error instanceof NonZeroExitError);
  await assert.rejects(run([]), TypeError);
  await assert.rejects(run('true'), TypeError);
  await assert.rejects(run(['a\0b']), TypeError);
});

test('backends without a descriptor end, too, by themselves and at their limit', async () => {
  for (const backend of ['posix', 'none']) {
    const policy = { version: 1, backend, allow_partial: true, limits: { wall_ms: 30000, grace_ms: 0 } };
    assert.strictEqual((await run(['echo', 'x'], policy)).stdout, 'x\n');
    policy.limits.wall_ms = 200;
    await assert.rejects(run(['sleep', '60'], policy), TimeoutError);
    const signal = AbortSignal.timeout(200);
    await assert.rejects(run(['sleep', '60'], { version: 1, backend, allow_partial: true }, { signal }), { name: 'AbortError' });
  }
});

test('what JSON or C would cut short is refused', async () => {
  for (const bad of [NaN, Infinity, -Infinity]) {
    await assert.rejects(run(['true'], { version: 1, limits: { wall_ms: bad } }), TypeError);
  }
  assert.strictEqual((await run(['true'], { version: 1, limits: { wall_ms: null } })).enforced.wall_time.requested, null);
  await assert.rejects(run(['true'], 'stage\0x'), TypeError);
  await assert.rejects(run(['true'], 'stage', { env: { A: 'b\0c' } }), TypeError);
  for (const traceId of ['', 'x', 'A'.repeat(32), `${'a'.repeat(32)}\n`, 7]) {
    await assert.rejects(run(['true'], 'stage', { traceId }), TypeError);
  }
  const traceId = '0123456789abcdef'.repeat(2);
  assert.strictEqual((await run(['true'], 'stage', { traceId })).traceId, traceId);
  assert.strictEqual((await run(['cat'], 'stage', { input: 'a\0b' })).stdout, 'a\0b');
});

test('a listener that throws ends the run with its error', async () => {
  const mine = new Error('mine');
  await assert.rejects(run(['sh', '-c', 'echo x; sleep 60'], 'stage', { onStdout: () => { throw mine; } }), mine);
});

test('the environment is the policy\'s, or what is given of it', async () => {
  process.env.CORDON_TEST_SECRET = 'secret';
  assert.ok(!(await run(['env'])).stdout.includes('secret'));
  const policy = { version: 1, env: { allow: ['GREETING'] } };
  const { stdout } = await run(['env'], policy, { env: { GREETING: 'hi', OTHER: 'no' } });
  assert.ok(stdout.includes('GREETING=hi') && !stdout.includes('OTHER'));
});

test('much output while the loop is busy is not lost', async () => {
  let bytes = 0;
  const policy = { version: 1, limits: { output_bytes: 8 << 20 } };
  const running = run(['sh', '-c', 'head -c 5000000 /dev/zero'], policy, { onStdout: (b) => { bytes += b.length; } });
  const until = Date.now() + 300;
  while (Date.now() < until);
  const result = await running;
  assert.strictEqual(bytes, 5000000);
  assert.strictEqual(result.stdout_bytes, 5000000);
});

test('twenty at once; the loop turns meanwhile', async () => {
  let turns = 0;
  const ticking = setInterval(() => { turns++; }, 1);
  const all = await Promise.all(Array.from({ length: 20 }, (_, i) => run(['sh', '-c', `sleep 0.3; echo ${i}`])));
  clearInterval(ticking);
  assert.deepStrictEqual(all.map((r) => r.stdout), Array.from({ length: 20 }, (_, i) => `${i}\n`));
  assert.ok(turns > 3);
  await delay(0);
});

test('doctor', async () => {
  const report = await doctor({ profile: 'module' });
  assert.strictEqual(typeof report.landlock.available, 'boolean');
  assert.strictEqual(typeof report.openat2.reason, 'string');
  await assert.rejects(doctor({ profile: 'nonsense' }), SpawnError);
});

test('version', () => assert.match(cordon.version(), /^\d+\.\d+\.\d+$/));
