/*
 * Patterns over the components of a path: plain names, names with * ? and [...], and ** for any
 * number of components. A walk carries the set of places in the pattern where it may stand, so
 * each name is looked at once, however deep the tree is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define GLOB_MAX_PARTS 63

enum glob_kind { GLOB_NAME, GLOB_WILD, GLOB_ANY };

struct glob_part {
    enum glob_kind kind;
    const char *text;
};

struct glob {
    const char *pattern; /* borrowed */
    struct glob_part *parts;
    unsigned count;
    bool wild; /* something in it is not a plain name */
};

typedef uint64_t glob_states; /* bit i: the next name may be part i */

/* Slashes at both ends mean nothing. 0, -E2BIG, -ENOMEM. */
int glob_compile(struct glob *g, struct arena *arena, const char *pattern);

/* Where a walk stands before the first name. */
glob_states glob_begin(const struct glob *g);

/* Goes on by one name; true if the pattern ends here. No bits: nothing beneath can match. */
bool glob_step(const struct glob *g, glob_states *states, const char *name);

/* The same for all names of a path; true if the pattern ended at one of them. */
bool glob_follow(const struct glob *g, glob_states *states, const char *path);

/* Goes to the end of the path; true if the pattern ends there. Where it ended on the way does not count. */
bool glob_enter(const struct glob *g, glob_states *states, const char *path);

/* Only a directory's list can tell what matches here. */
bool glob_must_list(const struct glob *g, glob_states states);
