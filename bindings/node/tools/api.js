#!/usr/bin/env node
'use strict';

// Prints API.md, made of index.d.ts: each export with its comment and declaration, members in tables.
// It reads the plain style of that file, not TypeScript at large.
//
//   node tools/api.js > API.md

const fs = require('node:fs');
const path = require('node:path');

const lines = fs.readFileSync(path.join(__dirname, '..', 'index.d.ts'), 'utf8').split('\n');
const clean = (comment) => comment.replace(/^\s*\/\*\* ?| ?\*\/$/g, '').replace(/\{@link ([\w.]+)\}/g, '`$1`');
const cell = (text) => text.replace(/\|/g, '\\|');

const out = [
  '# API of the package `cordon`', '',
  '<!-- Made by tools/api.js from index.d.ts; a test compares them. -->', '',
];
let comment = '';
let open = false; // inside the braces of an export
let rows = [];

function flush() {
  if (rows.length > 0) out.push('| member | |', '|---|---|', ...rows, '');
  rows = [];
}

for (const line of lines) {
  const declared = /^export (?:class|interface|type|function) (\w+)/.exec(line);
  if (/^\s*\/\*\*.*\*\/$/.test(line)) comment = clean(line);
  else if (declared) {
    out.push(`## ${declared[1]}`, '');
    if (comment) out.push(comment, '');
    out.push('```ts', line.replace(/ \{\}?$/, '').replace(/^export /, ''), '```', '');
    open = line.endsWith('{');
    comment = '';
  } else if (open && line === '}') {
    flush();
    open = false;
  } else if (open && line.trim() !== '') {
    rows.push(`| \`${cell(line.trim().replace(/;$/, ''))}\` | ${cell(comment)} |`);
    comment = '';
  }
}
process.stdout.write(`${out.join('\n').trimEnd()}\n`);
