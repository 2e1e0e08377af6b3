'use strict';

const native = require('./native.js');
const { stats } = require('./shapes.js');

const bits = { throw: 1, closeOnUnlink: 2, stats: 4, patch: 8 };

/**
 * Events of one path, as an async iterator. What is not taken waits, up to maxQueue; a thread
 * that follows the kernel waits for this one if the loop is busy.
 */
class Watch {
  #queue = [];
  #waiting = []; // of next(): {resolve, reject}
  #error = null;
  #ended = false;
  #ignoreUntil = 0;
  #handle = null;
  #maxQueue;
  #throws;
  #abort = null; // takes the listener off the signal

  constructor(options) {
    this.#maxQueue = options.maxQueue ?? 2048;
    this.#throws = options.overflow === 'throw';
  }

  /** Resolves when the watch is armed. */
  static open(root, path, options) {
    const watch = new Watch(options);
    return new Promise((resolve, reject) => watch.#start(root, path, options, resolve, reject));
  }

  #start(root, path, options, opened, failed) {
    let flags = this.#throws ? bits.throw : 0;
    for (const name of ['closeOnUnlink', 'stats', 'patch']) if (options[name]) flags |= bits[name];
    let armed = false;
    const listener = (what, ...rest) => {
      if (what === 'event') this.#event(...rest);
      else if (what === 'end') this.#end();
      else if (what === 'open') {
        armed = true;
        opened(this);
      } else if (armed) this.#end(rest[0]);
      else {
        this.#abort?.();
        failed(rest[0]);
      }
    };
    this.#handle = native.watch(root, path, flags, this.#maxQueue, options.stabilityThreshold ?? 500,
      listener);
    this.#listenTo(options.signal);
  }

  #listenTo(signal) {
    if (!signal) return;
    const abort = () => this.end();
    if (signal.aborted) return void abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#abort = () => signal.removeEventListener('abort', abort);
  }

  #event(event, filename, numbers, patch, patchSeq) {
    if (this.#ended || Date.now() < this.#ignoreUntil) return;
    const value = { event, filename };
    if (numbers !== undefined) value.stats = stats(numbers);
    if (patch !== undefined) Object.assign(value, { patch: JSON.parse(patch), patchSeq });
    const next = this.#waiting.shift();
    if (next !== undefined) return next.resolve({ value, done: false });
    this.#queue.push(value);
    if (this.#queue.length <= this.#maxQueue) return;
    this.#queue.shift();
    if (this.#throws) this.#end(new Error('maxQueue overflow'));
  }

  // With an error, the next call of next() gets it instead of what was queued.
  #end(error) {
    if (this.#ended) return;
    this.#ended = true;
    this.#abort?.();
    native.stop(this.#handle);
    if (error !== undefined) {
      this.#queue.length = 0;
      this.#error = error;
    }
    for (const next of this.#waiting.splice(0)) this.#settle(next);
  }

  #settle({ resolve, reject }) {
    const error = this.#error;
    this.#error = null;
    if (error !== null) reject(error);
    else if (this.#queue.length > 0) resolve({ value: this.#queue.shift(), done: false });
    else resolve({ value: undefined, done: true });
  }

  next() {
    return new Promise((resolve, reject) => {
      if (this.#ended || this.#queue.length > 0) this.#settle({ resolve, reject });
      else this.#waiting.push({ resolve, reject });
    });
  }

  /** No event comes any more, also none that waits. */
  end() {
    this.#queue.length = 0;
    this.#end();
  }

  close() {
    this.end();
  }

  async return(value) {
    this.end();
    return { value, done: true };
  }

  queueSize() {
    return this.#queue.length;
  }

  /** Drops events for so many milliseconds; 0 ends that. */
  ignore(ms) {
    this.#ignoreUntil = ms > 0 ? Date.now() + ms : 0;
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

module.exports = { Watch };
