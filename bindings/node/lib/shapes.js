'use strict';

// Results in the shapes that Node users know.

const fs = require('node:fs');

const S_IFMT = 0o170000;
const letters = new Map([
  [0o100000, 'f'], [0o040000, 'd'], [0o120000, 'l'], [0o060000, 'b'], [0o020000, 'c'],
  [0o140000, 's'], [0o010000, 'p'],
]);

// Node's own class, whose constructor is not for others; plus the letter of a listing.
function stats(n) {
  const s = Object.create(fs.Stats.prototype);
  s.dev = n[0];
  s.mode = n[1];
  s.nlink = n[2];
  s.uid = n[3];
  s.gid = n[4];
  s.rdev = n[5];
  s.blksize = n[6];
  s.ino = n[7];
  s.size = n[8];
  s.blocks = n[9];
  s.atimeMs = n[10];
  s.mtimeMs = n[11];
  s.ctimeMs = n[12];
  s.birthtimeMs = n[13];
  s.atime = new Date(Math.round(n[10]));
  s.mtime = new Date(Math.round(n[11]));
  s.ctime = new Date(Math.round(n[12]));
  s.birthtime = new Date(Math.round(n[13]));
  s.type = letters.get(n[1] & S_IFMT);
  return s;
}

function dirents(flat) {
  const list = new Array(flat.length / 3);
  for (let i = 0; i < list.length; i++) {
    const [name, parent, type] = [flat[3 * i], flat[3 * i + 1], flat[3 * i + 2]];
    const entry = new fs.Dirent(name, type, parent);
    entry.parentPath = entry.path = parent;
    entry.type = type;
    list[i] = entry;
  }
  return list;
}

function listing(flat) {
  const entries = [];
  for (let i = 0; i < flat.length; i += 5) {
    const [name, mtime, size, type, target] = flat.slice(i, i + 5);
    const entry = { mtime, size, type };
    if (type === 'd') entry.isDir = true;
    if (type === 'l') Object.assign(entry, { isSymLink: true, linkTarget: target });
    entries.push([name, entry]);
  }
  return { files: Object.fromEntries(entries), truncated: false }; // any name is a plain key
}

module.exports = { stats, dirents, listing };
