/*
 * What is to be hidden, found out by walking the trees before anything is cloned: for a read-only
 * tree the directories and whiteouts of the layer that an overlay puts on top of it, for any other
 * the names that are covered one by one. Plain data; cover.h makes mounts of it.
 */
#pragma once

#include <time.h>

#include "plan/plan.h"

struct hide_at {
    const struct glob *glob;
    glob_states states;
};

struct hide_dir {
    const char *path; /* beneath the tree; "" is the tree itself */
    size_t above;     /* index of the directory that it is in; the first one is in itself */
    bool needed;      /* something beneath it is hidden */
    unsigned mode;
    struct timespec changed;
    const struct hide_at *at; /* the patterns that are alive here */
    size_t at_count;
};

struct hide_name {
    const char *path; /* beneath the tree */
    bool present;     /* it was there when the tree was walked */
};

struct hide_tree {
    size_t step;        /* whose tree it is */
    const char *target; /* as in plan_step */
    bool overlay;
    struct hide_dir *dirs; /* a directory stands behind the one that it is in */
    size_t dir_count, dir_room;
    struct hide_name *names;
    size_t name_count, name_room;
};

struct layer_hide {
    struct hide_tree *trees;
    size_t tree_count;
    unsigned linked; /* hidden files that have other hard links */
};

/* Memory in `arena`. */
int layer_hide_prepare(struct layer_hide *self, struct arena *arena, const struct plan *plan,
                       struct cordon_error *err);
