'use strict';

const { SandboxedFilesystem } = require('./lib/filesystem.js');
const { run, doctor, call } = require('./lib/run.js');
const {
  SandboxError, TimeoutError, NonZeroExitError, OutputParseError, SpawnError,
} = require('./lib/errors.js');
const { version } = require('./lib/native.js');

module.exports = {
  SandboxedFilesystem,
  run,
  doctor,
  call,
  version,
  SandboxError,
  TimeoutError,
  NonZeroExitError,
  OutputParseError,
  SpawnError,
};
