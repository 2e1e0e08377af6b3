'use strict';

const { threaded } = require('./abort.js');
const check = require('./arguments.js');
const { SandboxError, refusal, resultError, abortError } = require('./errors.js');
const native = require('./native.js');

// JSON would make null of it, which is no limit.
function finite(key, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`policy: ${key} is ${value}, not a number`);
  return value;
}

// A profile's name as it is, a document as text, nothing as nothing. JSON would make nothing, too, of a function, and
// an empty document of a Map or a promise.
function policyText(policy) {
  if (policy === undefined || policy === null || typeof policy === 'string') return policy ?? undefined;
  if (Object.prototype.toString.call(policy) !== '[object Object]') {
    throw new TypeError("policy must be a profile's name or an object");
  }
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

const RUN_OPTIONS = ['signal', 'onStdout', 'onStderr', 'input', 'env', 'timeoutMs', 'traceId'];
const CALL_OPTIONS = ['extensions', 'policy', 'within', 'timeoutMs', 'env', 'traceId', 'runner', 'signal'];

// As Node's own: what is undefined is left out.
function environmentList(env) {
  if (env === undefined || env === null) return undefined;
  if (typeof env !== 'object' || Array.isArray(env)) throw new TypeError('env must be an object of names and values');
  return Object.entries(env).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${value}`);
}

// Of a document that the native half could not give: output of control characters is six times as long in JSON.
function tooLong() {
  const error = new SandboxError('the result is longer than a string can be: a lower output_bytes keeps it short');
  return Object.assign(error, { code: 'ERR_STRING_TOO_LONG' });
}

// async, as call(): what is wrong with the arguments rejects, also options that are null.
async function run(command, policy, options = {}) {
  const { signal, onStdout, onStderr, input, env, traceId, timeoutMs } = options;
  return threaded(signal, (resolve, reject, stop) => {
    checkCommand(command);
    check.options(options, RUN_OPTIONS);
    checkTraceId(traceId);
    check.positive('timeoutMs', timeoutMs);
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
    const finish = (json) => {
      if (failure !== undefined) return reject(failure.error);
      if (json === undefined) return reject(tooLong());
      const result = JSON.parse(json);
      if (signal?.aborted) return reject(abortError(signal, result));
      return result.status === 'OK' ? resolve(result) : reject(resultError(result, refused));
    };
    return native.run(command, policyText(policy), input, environmentList(env), traceId, timeoutMs ?? 0, (what, value) => {
      if (what === 'stdout') pass(onStdout, value);
      else if (what === 'stderr') pass(onStderr, value);
      else if (what === 'error') reject(refusal(value));
      else if (what === 'refused') refused = value;
      else finish(value);
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

async function call(moduleId, input, options = {}) {
  const { signal } = options;
  return threaded(signal, (resolve, reject) => {
    if (typeof moduleId !== 'string') throw new TypeError('moduleId must be a string');
    check.options(options, CALL_OPTIONS);
    checkTraceId(options.traceId);
    check.positive('timeoutMs', options.timeoutMs);
    const text = JSON.stringify(input === undefined ? null : input);
    if (text === undefined) throw new TypeError('input must be a JSON value');
    return native.call(moduleId, text, {
      extensions: options.extensions, traceId: options.traceId, runner: options.runner,
      policy: policyText(options.policy), within: policyText(options.within),
      timeoutMs: options.timeoutMs, environment: environmentList(options.env),
    }, (error, json, refused) => {
      if (error !== undefined) return reject(refusal(error));
      if (json === undefined) return reject(tooLong());
      const result = JSON.parse(json);
      if (result.status === 'OK') return resolve(result.value);
      return reject(signal?.aborted ? abortError(signal, result) : resultError(result, refused));
    });
  });
}

module.exports = { run, doctor, call };
