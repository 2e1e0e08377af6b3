'use strict';

// What a signal means: nothing begins after it was aborted, what is under way ends soon, and the
// promise rejects with an AbortError either way.

const check = require('./arguments.js');
const { abortError } = require('./errors.js');
const native = require('./native.js');

/**
 * Calls act(stop), which returns a promise; `stop` is memory that the native half looks at, and
 * undefined without a signal.
 */
async function flagged(signal, act) {
  check.signal(signal);
  if (!signal) return act();
  if (signal.aborted) throw abortError(signal);
  const stop = new Int32Array(1);
  const abort = () => Atomics.store(stop, 0, 1);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await act(stop);
  } catch (error) {
    throw signal.aborted && error.code === 'ECANCELED' ? abortError(signal) : error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * For what has a thread of its own: start(resolve, reject, stop) begins it and returns its handle;
 * stop() ends it, and so does the signal.
 */
function threaded(signal, start) {
  let handle;
  const stop = () => native.stop(handle);
  const promise = new Promise((resolve, reject) => {
    check.signal(signal);
    if (signal?.aborted) throw abortError(signal);
    handle = start(resolve, reject, stop);
    signal?.addEventListener('abort', stop, { once: true });
  });
  return promise.finally(() => signal?.removeEventListener?.('abort', stop));
}

module.exports = { flagged, threaded };
