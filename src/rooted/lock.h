/* Locks that only readFile obeys: in memory, by mapped location, each for a number of ms. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rooted/path.h"

struct lock_entry;

struct lock_table {
    struct lock_entry *first; /* owned */
    size_t count;
};

/* Callers hold the root's lock. `now` is in ms of any steady clock. */
bool lock_held(struct lock_table *t, const struct path_mapped *path, uint64_t now);
int lock_set(struct lock_table *t, const struct path_mapped *path, uint64_t now, uint64_t ms);
void lock_table_free(struct lock_table *t);

uint64_t lock_now_ms(void);
