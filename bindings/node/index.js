'use strict';

const { SandboxedFilesystem } = require('./lib/filesystem.js');
const { run, doctor } = require('./lib/run.js');
const {
  SandboxError, TimeoutError, NonZeroExitError, OutputParseError, SpawnError,
} = require('./lib/errors.js');
const { version } = require('./lib/native.js');

module.exports = {
  SandboxedFilesystem,
  run,
  doctor,
  version,
  SandboxError,
  TimeoutError,
  NonZeroExitError,
  OutputParseError,
  SpawnError,
};
