/* The host's mount table. Reading it takes longer than most steps of a run: only where it is needed. */
#pragma once

#include "base/arena.h"
#include "plan/host.h"

/* \040 and the like, as they stand in such a table, in place. */
void layer_mount_unescape(char *text);

int layer_mount_table(struct arena *arena, const struct host_mount **out, size_t *count, struct cordon_error *err);
