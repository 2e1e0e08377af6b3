'use strict';

// What callers give, checked and brought into the form that the native half takes.

const fs = require('node:fs');

// Where Node refuses a value, its own error is the one that callers know. `act` must be refused
// before it does anything; if it is not, `fallback` says what was wrong.
function refuseAsNode(act, fallback) {
  act();
  throw Object.assign(new TypeError(fallback), { code: 'ERR_INVALID_ARG_VALUE' });
}

function path(value) {
  if (typeof value !== 'string') throw new Error(`path must be a string but is of type ${typeof value}`);
  if (value.includes('\0')) {
    refuseAsNode(() => fs.accessSync(value), 'The path must not contain null bytes');
  }
  return value;
}

// What is misspelled, or is another package's, would be a limit that does not hold.
function options(given, known) {
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) throw new TypeError(`there is no option '${name}'; allowed: ${known.join(', ')}`);
  }
}

function word(name, value, known) {
  if (value !== undefined && value !== null && !known.includes(value)) {
    throw new TypeError(`${name} is '${value}'; allowed: ${known.join(', ')}`);
  }
}

// Looked at before anything begins: what cannot be listened to would leave it running.
function signal(value) {
  if (value === undefined || value === null) return;
  if (typeof value.addEventListener !== 'function' || typeof value.aborted !== 'boolean') {
    throw Object.assign(new TypeError('signal must be an AbortSignal'), { code: 'ERR_INVALID_ARG_TYPE' });
  }
}

function list(name, value) {
  if (value !== undefined && value !== null && !Array.isArray(value)) throw new TypeError(`${name} must be a list`);
}

function positive(name, value) {
  if (value !== undefined && value !== null && !(Number.isSafeInteger(value) && value > 0)) {
    throw new TypeError(`${name} must be a whole number above 0`);
  }
}

function mode(value, usual) {
  if (usual !== undefined && (value === undefined || value === null)) return usual;
  if (typeof value === 'string' && /^[0-7]+$/.test(value)) value = Number.parseInt(value, 8);
  if (Number.isInteger(value) && value >= 0 && value <= 0xffffffff) return value & 0o7777;
  return refuseAsNode(() => fs.chmodSync('', value), 'The mode must be a number or an octal string');
}

function seconds(value) {
  if (value instanceof Date) value = value.getTime() / 1000;
  // eslint-disable-next-line eqeqeq -- a numeric string counts as its number
  else if (typeof value === 'string' && +value == value) value = +value;
  if (Number.isFinite(value)) return value;
  return refuseAsNode(() => fs.utimesSync('', value, 0), 'The time must be a date or seconds');
}

function length(value) {
  if (value === undefined || value === null) return 0;
  if (Number.isSafeInteger(value)) return Math.max(0, value);
  return refuseAsNode(() => fs.ftruncateSync(0x7fffffff, value), 'The length must be an integer');
}

function encoding(value) {
  if (value !== null && typeof value === 'object') value = value.encoding;
  if (value === undefined || value === null || value === 'buffer') return undefined;
  if (Buffer.isEncoding(value)) return value;
  return refuseAsNode(() => fs.readFileSync('', { encoding: value }), 'The encoding is not known');
}

// Text as it is, or bytes; views of other kinds than bytes are seen as bytes.
function data(value, encodingName) {
  if (typeof value === 'string') {
    const name = encoding(encodingName);
    return name === undefined || /^utf-?8$/i.test(name) ? value : Buffer.from(value, name);
  }
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return refuseAsNode(() => fs.writeFileSync('', value), 'The data must be text or bytes');
}

function milliseconds(value) {
  return Number.isFinite(value) && value > 0 ? value : 0;
}

// An options object as bits, in the order of `names`.
function flags(options, ...names) {
  let bits = 0;
  for (let i = 0; i < names.length; i++) if (options?.[names[i]]) bits |= 1 << i;
  return bits;
}

module.exports = { path, options, word, signal, list, positive, mode, seconds, length, encoding, data, milliseconds, flags };
