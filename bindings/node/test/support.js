'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { SandboxedFilesystem } = require('../index.js');

const OUTSIDE = /^realpath of '.*' resolves to a path outside of sandbox$/;

/** A directory that goes away with the test. */
function temporary(t, name = 'x') {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), `cordon-${name}-`));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A home with links that lead out of it: `esc` to a file, `escd` to a directory, `gone` nowhere. */
function playground(t, options) {
  const top = temporary(t, 'home');
  const home = path.join(top, 'home');
  const outside = path.join(top, 'outside');
  fs.mkdirSync(home);
  fs.mkdirSync(path.join(outside, 'dir'), { recursive: true });
  fs.writeFileSync(path.join(outside, 'secret'), 'canary');
  fs.writeFileSync(path.join(outside, 'dir', 'file'), 'canary');
  fs.symlinkSync('../outside/secret', path.join(home, 'esc'));
  fs.symlinkSync('../outside/dir', path.join(home, 'escd'));
  fs.symlinkSync('../outside/new', path.join(home, 'gone'));
  return { top, home, outside, fs: new SandboxedFilesystem(home, options), before: snapshot(outside) };
}

/** Everything beneath a directory, with content and metadata but the time of access. */
function snapshot(directory) {
  const seen = [];
  const walk = (name) => {
    const full = path.join(directory, name);
    const s = fs.lstatSync(full);
    const entry = [name, s.mode, s.nlink, s.uid, s.size, s.mtimeMs];
    if (s.isFile()) entry.push(fs.readFileSync(full, 'latin1'));
    seen.push(entry);
    if (s.isDirectory()) for (const child of fs.readdirSync(full).sort()) walk(path.join(name, child));
  };
  walk('.');
  return JSON.stringify(seen);
}

const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs a script in a process of its own; -> {code, signal, stdout, stderr}. */
function script(source, args = [], execArgv = []) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...execArgv, '-e', source, ...args], {
      env: { ...process.env, CORDON_PACKAGE: path.join(__dirname, '..') }, stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (d) => { stdout += d; });
    child.stderr.on('data', (d) => { stderr += d; });
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** Why a test cannot run here, or false. */
function lacks(name) {
  try {
    require.resolve(name);
    return false;
  } catch {
    return `the npm package ${name} is not installed`;
  }
}

module.exports = { OUTSIDE, temporary, playground, snapshot, delay, script, lacks, SandboxedFilesystem };
