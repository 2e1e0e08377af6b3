'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { execFileSync, spawnSync } = require('node:child_process');
const { test } = require('node:test');
const { doctor } = require('../index.js');
const { lacks, temporary, SandboxedFilesystem } = require('./support.js');

const top = path.join(__dirname, '..');
const noNpm = spawnSync('npm', ['--version']).status !== 0 && 'no npm here';
const node = (...args) => execFileSync(process.execPath, args, { cwd: top, encoding: 'utf8' });

test('API.md is up to date', () => {
  assert.strictEqual(fs.readFileSync(path.join(top, 'API.md'), 'utf8'), node('tools/api.js'), 'npm run api makes it again');
});

test('each method is declared, and each declared one exists', () => {
  const text = fs.readFileSync(path.join(top, 'index.d.ts'), 'utf8');
  const body = text.slice(text.indexOf('class SandboxedFilesystem'), text.indexOf('export type Policy'));
  const declared = new Set([...body.matchAll(/^ {2}(\w+)\(/gm)].map((m) => m[1]).filter((n) => n !== 'constructor' && n !== 'on'));
  const real = Object.getOwnPropertyNames(SandboxedFilesystem.prototype).filter((n) => n !== 'constructor');
  assert.deepStrictEqual([...declared].sort(), real.sort());
  const exported = [...text.matchAll(/^export (?:class|function) (\w+)/gm)].map((m) => m[1]);
  assert.deepStrictEqual(exported.sort(), Object.keys(require('../index.js')).sort());
});

test('the types hold', { skip: lacks('typescript') || lacks('@types/node/package.json') }, () => {
  const tsc = require.resolve('typescript/bin/tsc');
  node(tsc, '--noEmit', '--strict', '--skipLibCheck', '--types', 'node', '--target', 'es2022', '--module', 'node16', '--moduleResolution', 'node16', 'test/types.ts');
});

test('npm pack holds what is needed and nothing else', { skip: noNpm }, (t) => {
  const cache = temporary(t, 'npm');
  const [{ files }] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--offline', '--ignore-scripts', '--cache', cache],
    { cwd: top, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  const lib = fs.readdirSync(path.join(top, 'lib')).map((name) => `lib/${name}`);
  assert.deepStrictEqual(files.map((f) => f.path).sort(),
    ['API.md', 'README.md', 'LICENSE', 'cordon.node', 'index.d.ts', 'index.js', 'package.json', ...lib].sort());
});

test('what was packed works where nothing else of it is', (t) => {
  const where = path.join(temporary(t, 'installed'), 'node_modules/cordon');
  for (const name of ['index.js', 'package.json', 'lib']) fs.cpSync(path.join(top, name), path.join(where, name), { recursive: true });
  assert.throws(() => require(where), /cordon\.node is missing: run `make node`/);
  fs.copyFileSync(path.join(top, 'cordon.node'), path.join(where, 'cordon.node'));
  const source = "import { SandboxedFilesystem, run } from 'cordon'; const f = new SandboxedFilesystem('.');" +
    "await f.writeFile('x', 'packed'); console.log(await f.readFile('x', 'utf8'), typeof run);";
  const script = path.join(where, '../../main.mjs');
  fs.writeFileSync(script, source);
  assert.strictEqual(execFileSync(process.execPath, [script], { cwd: path.dirname(script), encoding: 'utf8' }), 'packed function\n');
});

test('the native half needs the C library alone', () => {
  const needed = execFileSync('readelf', ['-d', path.join(top, 'cordon.node')], { encoding: 'utf8' }).match(/NEEDED.*\[(.*)\]/g) ?? [];
  assert.deepStrictEqual(needed.map((n) => n.replace(/.*\[(.*)\]/, '$1')), ['libc.so.6']);
});

test('no lock file names a registry', () => {
  const lock = fs.readFileSync(path.join(top, 'package-lock.json'), 'utf8');
  assert.ok(!lock.includes('"resolved"') && !/registry\.|npmjs/.test(lock));
});

test('the example in README.md prints what it says', async (t) => {
  if (!(await doctor()).userns.available) return t.skip('no user namespaces here: another mechanism holds');
  const text = fs.readFileSync(path.join(top, 'README.md'), 'utf8');
  const [, source, printed] = /```js\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/.exec(text);
  const directory = temporary(t, 'readme');
  const modules = path.join(directory, 'node_modules');
  fs.mkdirSync(modules);
  fs.symlinkSync(top, path.join(modules, 'cordon'));
  fs.writeFileSync(path.join(directory, 'first.mjs'), source);
  const out = execFileSync(process.execPath, ['first.mjs'], { cwd: directory, encoding: 'utf8' });
  return assert.strictEqual(out, printed);
});
