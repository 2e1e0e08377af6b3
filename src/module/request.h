/*
 * From a module and its caller's terms to a policy and a command. A manifest asks; it is granted
 * what lies within the caller's ceiling, and a request beyond it is refused, not trimmed: half of
 * what a module needs is a failure that nobody understands.
 */
#pragma once

#include "module/registry.h"

#define MODULE_RUNNER "cordon-module-runner"
#define MODULE_RUNNER_FLAG "--internal-sandbox-runner"

struct module_terms {
    const struct policy *policy;  /* what the caller lets every module have */
    const struct policy *ceiling; /* what a manifest may ask for; NULL: nothing beyond `policy` */
    const uint64_t *timeout_ms;   /* the most, whatever the module asks for; NULL: as granted */
    const char *runner;           /* host path of the program that loads libraries */
};

struct module_request {
    struct policy policy;
    char **command; /* NULL-terminated, as seen inside */
};

/* Everything lives in `arena`, or with the caller. */
int module_request(struct module_request *out, struct arena *arena, const struct module_root *root,
                   const struct module *module, const struct module_terms *terms,
                   struct cordon_error *err);

/* The command alone, as the host sees it: for a call without a sandbox. NULL: out of memory. */
char **module_command(struct arena *arena, const struct module *module, const char *runner);

/* The runner at `relative`, seen from the directory that `program` lies in. NULL: out of memory. */
const char *module_runner_beside(struct arena *arena, const char *program, const char *relative);
