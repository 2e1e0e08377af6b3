/* What a caller handed over, looked at before anything is done with it. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* An object that could not be made is NULL: EINVAL, and not a crash. `why` as in "no policy". */
int argument_need(const void *argument, const char *why, struct cordon_error *err);

/* NULL is fine: it will be a random one. */
int argument_trace_id(const char *trace_id, struct cordon_error *err);

/*
 * Copies options into the zeroed `to`, of `known` bytes, as far as both sides know them; NULL leaves
 * it so. The first member is their size: one that was not set would mean no options at all, without
 * a word, and is an error.
 */
int argument_options(void *to, size_t known, const void *given, struct cordon_error *err);
