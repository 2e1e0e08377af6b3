/* Finds the facts about this host. Cheap: a few dozen system calls, and the mount table only where names are hidden. */
#pragma once

#include "plan/host.h"
#include "policy/policy.h"

/* `out` is zeroed memory: what is not touched costs nothing. Strings live in `arena`. `caller_env` may name the home directory. */
int layer_probe(struct host *out, struct arena *arena, const struct policy *policy, char *const *caller_env,
                struct cordon_error *err);

/*
 * A user that nobody else is, for a run of root's. Root of a user namespace has only the users that are
 * mapped there: then one from the upper half of its largest range.
 */
uid_t layer_probe_spare_uid(uint32_t random);
