'use strict';

const assert = require('node:assert');
const { constants } = require('node:buffer');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const cordon = require('../index.js');
const { delay, temporary } = require('./support.js');

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

test('why nothing ran, and what to do, is in the message', async () => {
  let error = await run(['/opt/no/such']).catch((e) => e);
  assert.strictEqual(error.message, "run command '/opt/no/such': not found inside the sandbox");
  const tools = fs.mkdtempSync(path.join(os.tmpdir(), 'tools-'));
  fs.writeFileSync(path.join(tools, 'one'), '#!/bin/sh\n', { mode: 0o755 });
  error = await run([path.join(tools, 'one')]).catch((e) => e);
  fs.rmSync(tools, { recursive: true });
  assert.match(error.remedy, /it exists on the host: --ro .*tools-.* would show it/);
  assert.ok(error.message.endsWith(error.remedy) && !JSON.stringify(error.result).includes('on the host:'));
  error = await run(['true'], { version: 1, fs: { ro: ['/no/such'] } }).catch((e) => e);
  assert.strictEqual(error.code, 'INTERNAL_ERROR');
  assert.match(error.message, /^open bind source '\/no\/such': no such file or directory\n {2}create it first/);
});

test('a limit of time, whatever the policy is', async () => {
  const sleep = (policy) => run(['sleep', '60'], policy, { timeoutMs: 100 });
  const older = { wall_time_s: 50, mem_bytes: 1 << 28 };
  for (const policy of [undefined, 'module', { version: 1, limits: { pids: 9 } }, {}, older, '{"version": 1}']) {
    const error = await sleep(policy).catch((e) => e);
    assert.ok(error instanceof TimeoutError, `${JSON.stringify(policy)}: ${error}`);
  }
  for (const timeoutMs of [0, -1, 1.5, '5', NaN]) await assert.rejects(run(['true'], 'stage', { timeoutMs }), TypeError);
  assert.strictEqual((await run(['true'], 'module', { timeoutMs: 5000 })).profile, 'module');
});

test('an option that is not there is refused', async () => {
  await assert.rejects(run(['true'], 'stage', { timeout: 5 }), { name: 'TypeError', message: /no option 'timeout'; allowed: .*timeoutMs/ });
  await assert.rejects(cordon.call('a.b', 1, { timeout: 5 }), { name: 'TypeError', message: /no option 'timeout'; allowed: .*timeoutMs/ });
  await assert.rejects(doctor({ profil: 'stage' }), { name: 'TypeError', message: /no option 'profil'/ });
  for (const act of [() => run(['true'], 'stage', null), () => cordon.call('a.b', 1, null), () => doctor(null)]) {
    await assert.rejects(act, TypeError);
  }
  const { SandboxedFilesystem } = cordon;
  assert.throws(() => new SandboxedFilesystem('/tmp', { readOnly: true }), { name: 'TypeError', message: /no option 'readOnly'; allowed: readonly/ });
  assert.throws(() => new SandboxedFilesystem('/tmp', { durability: 'ful' }), { name: 'TypeError', message: /durability is 'ful'; allowed: none, data, full/ });
  assert.throws(() => new SandboxedFilesystem('/tmp', { leafLinks: 'acts' }), { name: 'TypeError', message: /allowed: refuse, act/ });
  assert.throws(() => new SandboxedFilesystem('/tmp', { homeAliases: '/home/user' }), { name: 'TypeError', message: /homeAliases must be a list/ });
  for (const maxReadBytes of [NaN, -1, 0, 1.5, '1000']) {
    assert.throws(() => new SandboxedFilesystem('/tmp', { maxReadBytes }), { name: 'TypeError', message: /maxReadBytes must be a whole number/ });
  }
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

test('what is no policy, environment or signal is refused, and nothing begins', async (t) => {
  const made = path.join(temporary(t), 'made');
  const touch = (policy, options) => run(['touch', made], policy, options);
  const open = { version: 1, backend: 'none', allow_partial: true };
  await touch(open);
  fs.unlinkSync(made);
  for (const policy of [() => {}, new Map([['version', 1]]), Promise.resolve(open), [open], 7, true, Symbol('x')]) {
    await assert.rejects(touch(policy), TypeError);
  }
  for (const env of [['PATH=/bin'], 'PATH=/bin', 7]) await assert.rejects(touch(open, { env }), TypeError);
  for (const signal of [{}, 'x', 7, () => {}, new EventTarget()]) {
    await assert.rejects(touch(open, { signal }), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
  }
  await delay(100);
  assert.ok(!fs.existsSync(made));
});

test('a variable that is undefined is not passed', async () => {
  const policy = { version: 1, env: { allow: ['PATH', 'GONE', 'KEPT'] } };
  const { stdout } = await run(['env'], policy, { env: { PATH: process.env.PATH, GONE: undefined, KEPT: '' } });
  assert.ok(stdout.includes('KEPT=\n') && !stdout.includes('GONE'), stdout);
});

test('a result that is longer than a string can be is an error that one can catch', async (t) => {
  const bytes = Math.ceil(constants.MAX_STRING_LENGTH / 12) + 1; // of each stream, six characters a byte
  if (bytes > 64 << 20) return t.skip('a string of this engine takes any result');
  if (os.freemem() < 4 * 2 ** 30) return t.skip('less than 4 GiB of free memory');
  const policy = { version: 1, limits: { output_bytes: 64 << 20, wall_ms: null, cpu_ms: null } };
  const flood = `head -c ${bytes} /dev/zero | tr '\\0' '\\1' | tee /dev/stderr`;
  return assert.rejects(run(['sh', '-c', flood], policy), { name: 'SandboxError', code: 'ERR_STRING_TOO_LONG' });
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

test('a listener hears what is captured, and nothing beyond the cap', async () => {
  let bytes = 0;
  const policy = { version: 1, limits: { output_bytes: 1000, on_overflow: 'truncate' } };
  const result = await run(['sh', '-c', 'head -c 5000 /dev/zero'], policy, { onStdout: (b) => { bytes += b.length; } });
  assert.deepStrictEqual([bytes, result.stdout_bytes, result.stdout_truncated], [1000, 5000, true]);
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
