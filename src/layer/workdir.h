/*
 * A directory of the run's own on the host's file system, where there is no mount namespace to have
 * one in: /tmp/cordon-UID/work-RANDOM. Runs in the supervisor.
 *
 * Liveness    Its descriptor carries a lock for as long as the supervisor lives; what nobody locks
 *             was left by a supervisor that was killed, and the next one of the same user removes it.
 *             The directory of the user goes with the last one in it. Until it is locked a new one has
 *             another name, which the others leave alone.
 * Removal     By the device and inode that were seen when it was made, never following a link: what
 *             somebody put in its place stays.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define WORKDIR_PREFIX "work-"

struct layer_workdir {
    int parent; /* owned; -1: none was made */
    int fd;     /* owned; carries the lock */
    const char *path; /* borrowed */
};

#define LAYER_WORKDIR_INIT ((struct layer_workdir){.parent = -1, .fd = -1})

/* A name for one: `size` bytes of `out`. */
int layer_workdir_name(char *out, size_t size);

/* Mode 0700, belonging to `uid` and `gid`; `path` must live as long as `self`. */
int layer_workdir_make(struct layer_workdir *self, const char *path, uid_t uid, gid_t gid,
                       struct cordon_error *err);

/* Nothing may run in it any more. Idempotent; safe where none was made. */
void layer_workdir_remove(struct layer_workdir *self);
