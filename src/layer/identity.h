/*
 * Identity: the map of the user namespace, and for a caller that is root the switch to a host uid
 * that belongs to this run alone.
 */
#pragma once

#include "plan/plan.h"

/* The texts of the maps, made before clone. */
struct layer_identity {
    char uid_map[48], gid_map[48];
};

void layer_identity_prepare(struct layer_identity *self, const struct plan *plan);

/* An ordinary caller: init writes its own maps. Must precede the first file on a tmpfs, and the
 * loss of the dumpable flag. */
int layer_identity_map_self(const struct layer_identity *self, struct cordon_error *err);

/* Root: the supervisor writes the maps of init ... */
int layer_identity_map_child(const struct layer_identity *self, int pid, struct cordon_error *err);

/* ... and init then really becomes that user. This clears the parent-death signal. */
int layer_identity_switch(const struct plan *plan, struct cordon_error *err);

/* The calling process is who the plan says. */
bool layer_identity_proven(const struct plan *plan);
