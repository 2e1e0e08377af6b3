/*
 * Hides names inside the sandbox, in init. In a read-only tree by an overlay: a layer of whiteouts
 * above the tree, so that a name is missing whether it is there, is replaced, or comes later. In
 * any other tree by mounting something empty over each name; when somebody replaces one, init
 * covers it again. Raw calls only.
 */
#pragma once

#include "layer/hide.h"

struct cover_name {
    const char *dir, *name; /* inside, relative to the root */
    size_t fixed;           /* the part of `dir` that nobody inside can rename */
    int fd;                 /* owned; the directory; -1: it was not there */
};

struct layer_cover {
    const struct layer_hide *hide; /* borrowed; NULL: nothing is hidden */
    struct cover_name *names;      /* made before clone */
    size_t name_count;
    int box;    /* owned; a file system that nobody inside can reach: layers, and what covers names */
    int events; /* owned; tells when a covered name was replaced; -1: there is none */
};

/* In the supervisor. */
int layer_cover_prepare(struct layer_cover *self, struct arena *arena, const struct layer_hide *hide,
                        struct cordon_error *err);

/* Once the new root is the current directory and still empty. */
int layer_cover_begin(struct layer_cover *self, struct cordon_error *err);

/* On top of what a step has just mounted. `readonly` becomes false if the overlay is not. */
int layer_cover_overlay(struct layer_cover *self, size_t step, bool *readonly, struct cordon_error *err);

/* When all mounts stand. */
int layer_cover_names(struct layer_cover *self, struct cordon_error *err);

/* In the new root: what was there to be hidden is missing or covered. */
bool layer_cover_proven(const struct layer_cover *self);

/* When `events` is readable. */
void layer_cover_again(struct layer_cover *self);
