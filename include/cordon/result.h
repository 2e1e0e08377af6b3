/* How a run ended, what was enforced, and what it used. */
#ifndef CORDON_RESULT_H
#define CORDON_RESULT_H

#include <cordon/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of the functions below each takes NULL as the result of a run that was not: INTERNAL_ERROR. */
struct cordon_result;

/* What the ledger says of one capability. The strings live as long as the result. */
struct cordon_enforcement {
    const char *requested; /* JSON; "null": nothing was asked for */
    int applied;           /* proven, not hoped for */
    const char *mechanism;
    const char *details;
};

const char *cordon_result_status(const struct cordon_result *result); /* "OK", "TIMEOUT", ... */
int cordon_result_rc(const struct cordon_result *result);
const char *cordon_result_reason(const struct cordon_result *result);
int cordon_result_exit_code(const struct cordon_result *result); /* -1: it did not exit */
int cordon_result_signal(const struct cordon_result *result);    /* 0: no signal ended it */
uint64_t cordon_result_duration_ms(const struct cordon_result *result);

/* Captured output, at most the first 64 MiB; not terminated, may hold any byte. */
const char *cordon_result_stdout(const struct cordon_result *result, size_t *len);
const char *cordon_result_stderr(const struct cordon_result *result, size_t *len);

/* "filesystem", "memory", ...: 0, or -ENOENT if there is no such capability. */
int cordon_result_enforced(const struct cordon_result *result, const char *capability,
                           struct cordon_enforcement *out);

/* Why nothing ran (status INTERNAL_ERROR, SPAWN_FAILED); NULL: it ran. */
const struct cordon_error *cordon_result_error(const struct cordon_result *result);

/* The whole document, as `cordon run --json` prints it. Lives as long as the result. NULL for NULL. */
const char *cordon_result_json(const struct cordon_result *result);

void cordon_result_free(struct cordon_result *result); /* NULL is fine */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
