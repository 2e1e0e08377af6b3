/*
 * Landlock: the second layer for files, and the scopes for signals and abstract sockets.
 *
 * Lifecycle   create() in init before the payload is cloned: both then hold the same ruleset. init
 *             adds the rules in the new root while the payload prepares itself; only the payload
 *             enters the domain, so it can neither read nor signal init.
 */
#pragma once

#include "plan/plan.h"

/* A descriptor, or -errno. */
int layer_landlock_create(const struct plan *plan, struct cordon_error *err);

/* Paths are those of the new root. A path that an optional bind did not bring is skipped. */
int layer_landlock_rules(const struct plan *plan, int ruleset, struct cordon_error *err);

/* Irrevocable for the calling process; needs no_new_privs. */
int layer_landlock_enter(int ruleset, struct cordon_error *err);

/* An open that nothing but the domain refuses: /dev/urandom for writing. */
bool layer_landlock_proven(void);
