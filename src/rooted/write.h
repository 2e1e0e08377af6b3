/* Giving a name new content, all of it or nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rooted/resolve.h"
#include "rooted/root.h"

/*
 * Takes the place of `name`, synced as the root wants; the temporary name is gone in any case.
 * Closes `*fd` before the rename, so that the rename is the last that can fail.
 */
int write_commit(struct cordon_root *root, int dir, int *fd, const char *temporary,
                 const char *name);

/*
 * Resolves a target that was mapped to a place, links followed, and holds the writers' lock of it.
 * `fd` gets the file as it is, open for writing (flags may add O_CREAT, O_APPEND, or O_RDWR), or -1
 * if there is none. 0 or a negative number.
 */
int write_open(struct cordon_root *root, struct target *t, int flags,
               struct resolve_place *place, pthread_mutex_t **held, int *fd);

/* New content for the place that write_open() gave; `old` is the file as it is, or -1. */
int write_replace(struct cordon_root *root, const struct resolve_place *place, int old,
                  const void *data, size_t len);

/* Tells whoever watches that this content is on disk by our own doing. */
void write_saved(struct cordon_root *root, const struct target *t, const char *data, size_t len);
