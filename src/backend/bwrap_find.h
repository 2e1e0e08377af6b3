/*
 * Which bubblewrap to trust. The places that only root can fill come first; PATH is the caller's
 * own choice, taken with a warning. A file that somebody else could replace is never taken:
 * neither it nor any directory on its way, links resolved, may be writable by anybody but root
 * and the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BWRAP_TRUSTED_COUNT 4

extern const char *const bwrap_trusted_paths[BWRAP_TRUSTED_COUNT];

struct bwrap_found {
    char path[4096]; /* links resolved; empty: none was found */
    bool trusted;    /* from the list; else from PATH, and the user wants to be warned */
    char refused[4096]; /* the first candidate that was passed over, or empty */
    const char *why;    /* static; with `refused`: for what */
};

/* 0 or -ENOENT. `path` is the caller's PATH; NULL: there is none. */
int bwrap_find(struct bwrap_found *out, const char *path);

/* The same with other trusted places; for tests. */
int bwrap_find_in(struct bwrap_found *out, const char *const *trusted, size_t count,
                  const char *path);
