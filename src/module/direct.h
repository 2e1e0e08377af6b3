/* A module without a sandbox: an ordinary child in the caller's own environment, no limits. */
#pragma once

#include "module/request.h"
#include "result/result.h"

/*
 * What only a sandbox can keep is refused, not forgotten: a ceiling, a requirement, a time limit;
 * and the call itself, if the environment demands isolation.
 */
int module_direct_check(const char *id, const struct module_terms *terms, char *const *env,
                        struct cordon_error *err);

/* Signals to this process that are for the module. */
struct module_caller {
    int events;              /* borrowed; readable when there is one */
    int (*next)(int events); /* which one; 0: none */
};

/*
 * Runs the command and waits for its end; what it printed is in the result, its standard error too
 * unless that passes on to the caller's own. Only a flood of output ends it early, and a signal of the
 * `caller` (NULL: nobody watches for one).
 */
void module_direct(char *const argv[], char *const *env, const char *input, size_t input_len,
                   bool pass_errors, const struct module_caller *caller, struct result *result);

/* What a result says of a run that nothing enforced. */
void module_unprotected(struct result *result);
