/*
 * Mounts that only root can make, before it becomes an ordinary user: each listed bind with its
 * owners mapped, so that files of the caller are the payload's own inside and files made inside
 * belong to the caller; in guard mode the whole tree, file system by file system.
 */
#pragma once

#include "plan/plan.h"

struct layer_tree {
    int fd;             /* owned; a detached mount */
    const char *target; /* relative to the new root */
};

struct layer_trees {
    int *of_step; /* for each step of the plan: owned descriptor, or -1 */
    size_t step_count;
    struct layer_tree *host; /* guard mode: the root first, then what is mounted on it, in order */
    size_t host_count;
    int project;        /* owned; guard mode: the project's root, writable, for the listener; -1: none */
    char unmapped[160]; /* the first place whose file system cannot be mapped; empty: none */
    bool partial;       /* guard mode: one of those is where the run works or writes */
};

#define LAYER_TREES_INIT ((struct layer_trees){.project = -1})

/* Does nothing unless the plan switches the user. Memory in `arena`. */
int layer_trees_prepare(struct layer_trees *self, struct arena *arena, const struct plan *plan,
                        struct cordon_error *err);
void layer_trees_release(struct layer_trees *self);
