/*
 * Privileges: rlimits, the session keyring, no_new_privs and capabilities. All run in the process
 * that gives them up, between clone and exec.
 */
#pragma once

#include "plan/plan.h"

/* On the process `pid`; 0: one's own. */
int layer_rlimits_apply(const struct plan *plan, int pid, uint32_t *proof, struct cordon_error *err);

/*
 * A session keyring of its own. 0 with PROOF_KEYRING; 1 without it, if the user's key quota is
 * used up: then only a filter that refuses keyctl() keeps the caller's keys away.
 */
int layer_keyring_apply(uint32_t *proof, struct cordon_error *err);

int layer_no_new_privs(uint32_t *proof, struct cordon_error *err);

/* No huge pages, for good. */
void layer_small_pages(uint32_t *proof);

/* What an exec could give back. An ordinary user of the host cannot empty it; no_new_privs makes it idle. */
int layer_bounding_set_drop(uint32_t *proof, struct cordon_error *err);

/* Every capability of every other set. */
int layer_capabilities_clear(uint32_t *proof, struct cordon_error *err);
