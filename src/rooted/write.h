/* Giving a name new content, all of it or nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rooted/resolve.h"
#include "rooted/root.h"

/* What the root wants on disk before a call returns: the content of a file, the names in a directory. */
int write_sync(const struct cordon_root *root, int fd);
int write_sync_names(const struct cordon_root *root, int dir);

/* Closes a file that was written; some file systems refuse its content no earlier than here. */
int write_close(int *fd);

/*
 * Takes the place of `name`, the content synced as the root wants; the temporary name is gone in any case.
 * Closes `*fd` before the rename, so that the rename is the last that can fail: whoever is denied may write in
 * place. The name is the caller's to sync.
 */
int write_commit(struct cordon_root *root, int dir, int *fd, const char *temporary,
                 const char *name);

/* A file that is about to be changed: its place, held against other writers, and it itself. */
struct writing {
    struct resolve_place place;
    pthread_mutex_t *held;
    int fd;     /* -1: there is none yet, or it is plain */
    bool whole; /* set by the caller: all of it gets replaced, so a plain file need not be opened */
    bool plain; /* was looked at instead: place.st, and no extended attributes */
};
#define WRITING_INIT ((struct writing){.place = RESOLVE_PLACE_INIT, .fd = -1})
void writing_release(struct writing *w);
#define WRITING_AUTO __attribute__((cleanup(writing_release))) struct writing

/*
 * Follows the links of a target that was mapped and opens what is there for writing (flags may add
 * O_CREAT, O_APPEND, or O_RDWR). 0 or a code for call_fail().
 */
int write_open(struct cordon_root *root, struct target *t, int flags, struct writing *w);

/* New content for it. */
int write_replace(struct cordon_root *root, struct writing *w, const void *data, size_t len);

/* Not by a rename: the directory is not ours to change, the owner is foreign, the name a mount. */
bool write_denied(int rc);

/* The file that has this name, not followed if it is a link; a descriptor or -errno. */
int write_open_name(int dir, const char *name, int flags);

/* Tells whoever watches that this content is on disk by our own doing. */
void write_saved(struct cordon_root *root, const struct target *t, const char *data, size_t len);
