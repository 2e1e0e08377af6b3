/* What a module said, and what its caller is told. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* NULL, or why this cannot be the input of a module, in static memory or `room`. */
const char *module_input_wrong(const char *text, size_t len, char *room, size_t size);

/*
 * After a run that went well: `value` becomes what the module printed, on one line; if that is not
 * exactly one JSON value, the status becomes OUTPUT_PARSE_FAILED.
 */
void module_answer(struct result *result, struct buf *value);

/* How the call failed, as one of the four kinds; kind NONE if it did not. */
void module_failure(const struct result *result, const char *id, struct cordon_error *err);
