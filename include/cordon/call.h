/*
 * Calling a module: one JSON value in, one JSON value out, in a sandbox of its own. What a module
 * is, and what its manifest may ask for, stands in cordon-call(1).
 */
#ifndef CORDON_CALL_H
#define CORDON_CALL_H

#include <cordon/error.h>
#include <cordon/policy.h>
#include <cordon/result.h>
#include <cordon/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define CORDON_CALL_INPUT_MAX (10u * 1024 * 1024)

/* Zero-initialise, set `size` and what is wanted; NULL instead of it means all defaults. */
struct cordon_call_options {
    size_t size;            /* sizeof (struct cordon_call_options) */
    const char *extensions; /* the directory of the modules; NULL: $APCORE_EXTENSIONS_ROOT, or
                               ./extensions */
    const struct cordon_policy *policy; /* what the module runs under; NULL: the profile "module" */
    const struct cordon_policy *within; /* the most that its manifest may ask for; NULL: `policy` */
    uint64_t timeout_ms;    /* whatever the module asks for; 0: as the policy and the module say */
    int no_sandbox;         /* in the caller's own environment: a library module in this process, a
                               command as an ordinary child. Nothing is enforced: a policy that
                               requires something, `within` and timeout_ms are refused (USAGE) */
    char *const *env;       /* the caller's environment; NULL: the process's own */
    const char *trace_id;   /* 32 lower-case hex digits; NULL: random */
    const char *runner;     /* the program that loads library modules inside; NULL: the one that
                               was installed with this library */
};

/*
 * Calls the module and waits. `input` is one JSON value, at most CORDON_CALL_INPUT_MAX bytes.
 *
 * `err` (which may be NULL) says how the call failed; its kind is CORDON_ERROR_NONE if it did not:
 *   CORDON_ERROR_TIMEOUT  the module was ended at its time limit
 *   CORDON_ERROR_EXIT     it ended by itself with another status than 0, by a signal, or at
 *                         another limit: the result's status says which
 *   CORDON_ERROR_ANSWER   it ended well, but its output is not exactly one JSON value
 *   CORDON_ERROR_SPAWN    it could not be started, or no sandbox could be made for it
 * With these four, and on success, there is a result. Otherwise there is none:
 *   CORDON_ERROR_MODULE   there is no such module, or its manifest is wrong
 *   CORDON_ERROR_POLICY   its manifest asks for more than the caller grants
 *   CORDON_ERROR_USAGE    a bad id, or input that is too long or no JSON
 */
struct cordon_result *cordon_call(const char *module_id, const char *input, size_t input_len,
                                  const struct cordon_call_options *options,
                                  struct cordon_error *err);

/*
 * The same without waiting, as cordon_start(); the result's status says how the call ended. NULL as
 * above, and for no_sandbox.
 */
struct cordon_sandbox *cordon_call_start(const char *module_id, const char *input, size_t input_len,
                                         const struct cordon_call_options *options, struct cordon_error *err);

/* What the module returned, as JSON text on one line; NULL if the call failed. */
const char *cordon_result_value(const struct cordon_result *result, size_t *len);

/* NULL if the result is not one of cordon_call(). */
const char *cordon_result_module_id(const struct cordon_result *result);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
