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

/** The error for what the library refused: nothing was tried, so there is no result. */
function refusal({ message, code, layer, remedy }) {
  return Object.assign(new SpawnError(message), { code, layer, ...(remedy && { remedy }) });
}

/** The error for a result that is not OK; `refused` is what the library says if nothing ran. */
function resultError(result, refused) {
  const Class = classes[result.status] ?? NonZeroExitError;
  const error = new Class(refused?.message || result.reason || result.status, result);
  return Object.assign(error, { code: result.status, ...(refused?.remedy && { remedy: refused.remedy }) });
}

function abortError(signal, result) {
  const error = new Error('The operation was aborted', { cause: signal.reason });
  error.name = 'AbortError';
  error.code = 'ABORT_ERR';
  if (result !== undefined) error.result = result;
  return error;
}

module.exports = {
  SandboxError, TimeoutError, NonZeroExitError, OutputParseError, SpawnError, refusal, resultError,
  abortError,
};
