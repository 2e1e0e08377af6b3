#include "rooted/sync.h"
void sync_saved(struct sync_state *state, const struct path_mapped *path, const char *data,
                size_t len, uint64_t now_ms){(void)state;(void)path;(void)data;(void)len;(void)now_ms;}
void sync_deleted(struct sync_state *state, const struct path_mapped *path, uint64_t now_ms){(void)state;(void)path;(void)now_ms;}
void sync_state_free(struct sync_state *state){(void)state;}
