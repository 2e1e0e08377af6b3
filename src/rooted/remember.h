/*
 * The content last known to be on disk, by mapped location: what writeFile saved or a watcher
 * reported. Bounded: 50 MB in all, least recently used first out, five minutes each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rooted/path.h"

struct remember_entry;

struct remember {
    struct remember_entry *first; /* owned; most recently used first */
    size_t bytes;
};

/* Callers hold the root's lock. Keeps a copy; also notes its hash as seen now. */
void remember_put(struct remember *r, const struct path_mapped *path, const char *data, size_t len,
                  uint64_t now_ms);

/* The content (borrowed until the next put) or NULL. */
const char *remember_get(struct remember *r, const struct path_mapped *path, uint64_t now_ms,
                         size_t *len);

/* Was this content saved or reported for the path within the last 15 s? */
bool remember_seen(struct remember *r, const struct path_mapped *path, const char *data,
                   size_t len, uint64_t now_ms);

void remember_free(struct remember *r);
