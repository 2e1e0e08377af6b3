'use strict';

/** A command or a module did not do what was asked of it. */
class SandboxError extends Error {
  constructor(message, result, options) {
    super(message, options);
    this.name = new.target.name;
    this.result = result;
  }
}

/** It was ended at its time limit (wall or processor). */
class TimeoutError extends SandboxError {}

/** It ran and ended with another status than 0, by a signal, or at another limit. */
class NonZeroExitError extends SandboxError {}

/** It ended well, but its output is not what was promised. */
class OutputParseError extends SandboxError {}

/** Nothing ran: the policy is wrong, the command is missing, or no sandbox could be made. */
class SpawnError extends SandboxError {}

const classes = {
  TIMEOUT: TimeoutError,
  CPU_LIMIT: TimeoutError,
  OUTPUT_PARSE_FAILED: OutputParseError,
  SPAWN_FAILED: SpawnError,
  INTERNAL_ERROR: SpawnError,
};

const callClasses = { TIMEOUT: TimeoutError, EXIT: NonZeroExitError, ANSWER: OutputParseError };

/** The error for what the library refused or a module did, with the result if there is one. */
function callError({ message, code, layer, remedy, result }) {
  const Class = callClasses[code] ?? SpawnError;
  const error = new Class(message, result === undefined ? undefined : JSON.parse(result));
  return Object.assign(error, { code, layer, ...(remedy && { remedy }) });
}

/** The error for a result that is not OK. */
function resultError(result) {
  const Class = classes[result.status] ?? NonZeroExitError;
  return Object.assign(new Class(result.reason || result.status, result), { code: result.status });
}

function abortError(signal, result) {
  const error = new Error('The operation was aborted', { cause: signal.reason });
  error.name = 'AbortError';
  error.code = 'ABORT_ERR';
  if (result !== undefined) error.result = result;
  return error;
}

module.exports = {
  SandboxError, TimeoutError, NonZeroExitError, OutputParseError, SpawnError, callError, resultError,
  abortError,
};
