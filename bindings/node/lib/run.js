'use strict';

const { threaded } = require('./abort.js');
const check = require('./arguments.js');
const { refusal, resultError, abortError } = require('./errors.js');
const native = require('./native.js');

// JSON would make null of it, which is no limit.
function finite(key, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`policy: ${key} is ${value}, not a number`);
  return value;
}

// A profile's name as it is, a document as text, nothing as nothing.
function policyText(policy) {
  if (policy === undefined || policy === null || typeof policy === 'string') return policy ?? undefined;
  return JSON.stringify(policy, finite);
}

function checkCommand(command) {
  const good = Array.isArray(command) && command.length > 0 &&
    command.every((word) => typeof word === 'string' && !word.includes('\0'));
  if (!good) throw new TypeError('command must be a list of strings, and not empty');
}

function checkTraceId(traceId) {
  if (traceId !== undefined && traceId !== null && !/^[0-9a-f]{32}$/.test(traceId)) {
    throw new TypeError('traceId must be 32 lower-case hex digits');
  }
}

function checkTimeout(timeoutMs) {
  if (timeoutMs !== undefined && timeoutMs !== null && !(Number.isSafeInteger(timeoutMs) && timeoutMs > 0)) {
    throw new TypeError('timeoutMs must be a whole number above 0');
  }
}

const RUN_OPTIONS = ['signal', 'onStdout', 'onStderr', 'input', 'env', 'timeoutMs', 'traceId'];
const CALL_OPTIONS = ['extensions', 'policy', 'within', 'timeoutMs', 'env', 'traceId', 'runner', 'signal'];

const environmentList = (env) => env && Object.entries(env).map(([name, value]) => `${name}=${value}`);

function run(command, policy, options = {}) {
  const { signal, onStdout, onStderr, input, env, traceId, timeoutMs } = options;
  return threaded(signal, (resolve, reject, stop) => {
    checkCommand(command);
    check.options(options, RUN_OPTIONS);
    checkTraceId(traceId);
    checkTimeout(timeoutMs);
    let failure; // of a listener: it ends the run
    let refused; // why nothing ran
    const pass = (listener, bytes) => {
      try {
        if (failure === undefined) listener?.(bytes);
      } catch (error) {
        failure = { error };
        stop();
      }
    };
    const finish = (result) => {
      if (failure !== undefined) reject(failure.error);
      else if (signal?.aborted) reject(abortError(signal, result));
      else if (result.status !== 'OK') reject(resultError(result, refused));
      else resolve(result);
    };
    return native.run(command, policyText(policy), input, environmentList(env), traceId, timeoutMs ?? 0, (what, value) => {
      if (what === 'stdout') pass(onStdout, value);
      else if (what === 'stderr') pass(onStderr, value);
      else if (what === 'error') reject(refusal(value));
      else if (what === 'refused') refused = value;
      else finish(JSON.parse(value));
    });
  });
}

function doctor(options = {}) {
  return new Promise((resolve, reject) => {
    check.options(options, ['profile']);
    native.doctor(options.profile, (error, json) => {
      if (error !== undefined) reject(refusal(error));
      else resolve(JSON.parse(json));
    });
  });
}

function call(moduleId, input, options = {}) {
  const { signal } = options;
  return threaded(signal, (resolve, reject) => {
    if (typeof moduleId !== 'string') throw new TypeError('moduleId must be a string');
    check.options(options, CALL_OPTIONS);
    checkTraceId(options.traceId);
    checkTimeout(options.timeoutMs);
    const text = JSON.stringify(input === undefined ? null : input);
    if (text === undefined) throw new TypeError('input must be a JSON value');
    return native.call(moduleId, text, {
      extensions: options.extensions, traceId: options.traceId, runner: options.runner,
      policy: policyText(options.policy), within: policyText(options.within),
      timeoutMs: options.timeoutMs, environment: environmentList(options.env),
    }, (error, json) => {
      if (error !== undefined) return reject(refusal(error));
      const result = JSON.parse(json);
      if (result.status === 'OK') resolve(result.value);
      else reject(signal?.aborted ? abortError(signal, result) : resultError(result));
    });
  });
}

module.exports = { run, doctor, call };
