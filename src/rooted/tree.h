/*
 * Going through a tree with an explicit stack and a constant number of descriptors, however deep
 * it is. A directory far up the stack is closed, and found again through ".." of its child; if that
 * is not the directory it was (device and inode), the walk stops with -ESTALE instead of going on
 * somewhere else. Links are never followed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "rooted/names.h"

struct tree_dir {
    int fd; /* owned; -1 while closed */
    dev_t dev;
    ino_t ino;
};

struct tree_level {
    struct tree_dir dir;
    struct tree_dir out; /* the copy of it, or fd -1 and ino 0 */
    bool pinned;         /* its child was reached through a link: ".." will not lead back */
    bool made;           /* out was created by this walk */
    struct stat st;      /* of dir */
    struct names names;
    size_t next;     /* of names */
    size_t path_len; /* of the walk's path up to this directory */
    unsigned rounds; /* how often it was read again */
};

struct tree {
    bool no_xdev; /* set by the caller: no mount beneath the first directory is entered */
    struct tree_level *levels; /* owned */
    size_t depth, cap;
    struct buf path; /* of the innermost level, relative to the top: "a/b" */
};

#define TREE_INIT ((struct tree){.path = {.max = 64u << 20}})
void tree_free(struct tree *t);
#define TREE_AUTO __attribute__((cleanup(tree_free))) struct tree

/* Opens directory `name` in `parent` for reading; never through a link. */
int tree_open_dir(int parent, const char *name);

/*
 * Goes into a directory and reads its names. Takes `fd` and `out` (or -1) in any case. `name` is
 * what it is called in the level above; ignored for the first. -EXDEV: it is a mount, and not entered.
 */
int tree_enter(struct tree *t, int fd, int out, const char *name);

struct tree_level *tree_level(struct tree *t); /* the innermost; NULL if there is none */

/* Goes back up. After it the level above has its descriptors. 0 or -errno. */
int tree_leave(struct tree *t);

/* The name of the innermost directory in the one above it. */
const char *tree_name(const struct tree *t);

/* "<path of the innermost level>/<name>", borrowed until the next call; never NULL. */
const char *tree_path(struct tree *t, const char *name);

/* Is the directory `st` the one that `dir` stands for, or above it? Looks up to `top`. 0, 1 or -errno. */
int tree_is_above(const struct stat *st, int dir, int top);
