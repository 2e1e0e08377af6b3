/* The environment of the payload, from the policy and the caller's own: a pure function. */
#pragma once

#include "policy/policy.h"

/*
 * Clear, allow, deny beats allow, default if unset, set. The caller's order is kept, then come
 * defaults, then what is set. NULL-terminated, everything in `arena`; NULL if out of memory.
 */
char **policy_environment(const struct policy *policy, char *const *caller, struct arena *arena);

/* `deny` names it: no value of the caller's may pass. */
bool policy_variable_denied(const struct policy_env *env, const char *name);
