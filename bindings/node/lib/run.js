'use strict';

const native = require('./native.js');
const { callError, resultError, abortError } = require('./errors.js');

// A profile's name as it is, a document as text, nothing as nothing.
function policyText(policy) {
  if (policy === undefined || policy === null || typeof policy === 'string') return policy ?? undefined;
  return JSON.stringify(policy);
}

function checkCommand(command) {
  const good = Array.isArray(command) && command.length > 0 &&
    command.every((word) => typeof word === 'string' && !word.includes('\0'));
  if (!good) throw new TypeError('command must be a list of strings, and not empty');
}

const environmentList = (env) => env && Object.entries(env).map(([name, value]) => `${name}=${value}`);

/** No result: nothing was tried. */
const refused = callError;

function run(command, policy, options = {}) {
  const { signal, onStdout, onStderr, input, env, traceId } = options;
  return new Promise((resolve, reject) => {
    checkCommand(command);
    if (signal?.aborted) throw abortError(signal);
    let handle;
    let failure; // of a listener: it ends the run
    const abort = () => native.stop(handle);
    const pass = (listener, bytes) => {
      try {
        if (failure === undefined) listener?.(bytes);
      } catch (error) {
        failure = { error };
        abort();
      }
    };
    const finish = (error, result) => {
      signal?.removeEventListener('abort', abort);
      if (failure !== undefined) reject(failure.error);
      else if (error !== undefined) reject(refused(error));
      else if (signal?.aborted) reject(abortError(signal, result));
      else if (result.status !== 'OK') reject(resultError(result));
      else resolve(result);
    };
    handle = native.run(command, policyText(policy), input, environmentList(env), traceId, (what, value) => {
      if (what === 'stdout') pass(onStdout, value);
      else if (what === 'stderr') pass(onStderr, value);
      else if (what === 'error') finish(value);
      else finish(undefined, JSON.parse(value));
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function doctor(options = {}) {
  return new Promise((resolve, reject) => {
    native.doctor(options.profile, (error, json) => {
      if (error !== undefined) reject(refused(error));
      else resolve(JSON.parse(json));
    });
  });
}

function call(moduleId, input, options = {}) {
  return new Promise((resolve, reject) => {
    if (typeof moduleId !== 'string') throw new TypeError('moduleId must be a string');
    const text = JSON.stringify(input === undefined ? null : input);
    if (text === undefined) throw new TypeError('input must be a JSON value');
    native.call(moduleId, text, {
      extensions: options.extensions, traceId: options.traceId, runner: options.runner,
      policy: policyText(options.policy), within: policyText(options.within),
      timeoutMs: options.timeoutMs, environment: environmentList(options.env),
    }, (error, json) => {
      if (error !== undefined) reject(callError(error));
      else resolve(JSON.parse(json));
    });
  });
}

module.exports = { run, doctor, call };
