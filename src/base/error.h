/*
 * Filling a cordon_error. Nothing here allocates or formats, so a process between clone() and
 * exec() may use it; `err` may be NULL everywhere.
 */
#pragma once

#include <cordon/error.h>

/* Every way that leads here goes behind all others in the program: a run that goes well never loads those pages. */
#define ERR_COLD __attribute__((cold))

/* Records a failure and returns -errnum (or -EINVAL where no errno is to blame). */
ERR_COLD int err_set(struct cordon_error *err, enum cordon_error_kind kind, enum cordon_layer layer,
            int errnum, const char *what, const char *subject);

/* Add to a failure that is already recorded; text that does not fit is cut. */
ERR_COLD void err_why(struct cordon_error *err, const char *why);
ERR_COLD void err_remedy(struct cordon_error *err, const char *remedy);
