/* What the rest tells the sync layer: API writes and deletes. Callers hold the root's lock. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rooted/path.h"

struct sync_state;

/* `state` may be NULL: nobody sent a heartbeat yet. */
void sync_saved(struct sync_state *state, const struct path_mapped *path, const char *data,
                size_t len, uint64_t now_ms);
void sync_deleted(struct sync_state *state, const struct path_mapped *path);
void sync_state_free(struct sync_state *state);
