/* Running a command under a policy: in one call, or as an object for an event loop. */
#ifndef CORDON_SANDBOX_H
#define CORDON_SANDBOX_H

#include <cordon/error.h>
#include <cordon/policy.h>
#include <cordon/result.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct cordon_sandbox;

/* Zero-initialise, set `size` and what is wanted; NULL instead of it means all defaults. */
struct cordon_run_options {
    size_t size;          /* sizeof (struct cordon_run_options) */
    const void *input;    /* standard input of the command; NULL: none */
    size_t input_len;
    char *const *env;     /* the caller's environment, of which the policy passes a part; NULL: the
                             process's own */
    const char *trace_id; /* 32 lower-case hex digits; NULL: random */
};

/*
 * Runs the command and waits. The result is made even if nothing ran: its status then is
 * INTERNAL_ERROR or SPAWN_FAILED and its error says why. NULL only for no policy or one that
 * contradicts itself, bad arguments, or input that cannot be kept (no memory, no descriptor).
 */
struct cordon_result *cordon_run(const struct cordon_policy *policy, char *const argv[],
                                 const struct cordon_run_options *options, struct cordon_error *err);

/* The same without waiting. Policy and options may be freed after this call. */
struct cordon_sandbox *cordon_start(const struct cordon_policy *policy, char *const argv[],
                                    const struct cordon_run_options *options, struct cordon_error *err);

/* Of the functions below each takes NULL as a sandbox whose run is over and that has no result. */

/*
 * Readable when cordon_sandbox_step() has something to do. -1: there is none; call step() at once,
 * and from time to time until it says that the run is over. So it is if the run failed at once, and
 * with the backends posix and none. Belongs to the sandbox: take it out of your event loop before
 * cordon_sandbox_wait(), for closing alone may leave it there.
 */
int cordon_sandbox_fd(const struct cordon_sandbox *sandbox);

/* Does what is to be done, never blocks; 1: the run is over, 0: not yet. */
int cordon_sandbox_step(struct cordon_sandbox *sandbox);

/* What was captured so far; not terminated. Valid until the next step. */
const char *cordon_sandbox_stdout(const struct cordon_sandbox *sandbox, size_t *len);
const char *cordon_sandbox_stderr(const struct cordon_sandbox *sandbox, size_t *len);

/* Ends everything inside at once; the sandbox still wants to be waited for. */
void cordon_sandbox_kill(struct cordon_sandbox *sandbox);

/* Waits for the end, frees the sandbox, gives the result; NULL only for NULL. */
struct cordon_result *cordon_sandbox_wait(struct cordon_sandbox *sandbox);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
