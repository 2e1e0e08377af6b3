/* The parts of policy_within(). */
#pragma once

#include "policy/policy.h"

/* -EPERM, with `pointer` for what asks too much. */
int within_exceeds(struct cordon_error *err, const char *pointer, const char *why);

/* All that the ceiling lists is listed. */
bool within_keeps_names(const struct policy_names *wanted, const struct policy_names *ceiling);

/* What is seen, and what can be written; `cwd`: the caller's own directory, NULL: unknown. */
int within_files(const struct policy *p, const struct policy *ceiling, const char *cwd, struct cordon_error *err);
