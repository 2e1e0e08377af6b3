/*
 * The cache grant: what no mount can express (a component such as __pycache__ anywhere in the project)
 * is done by the listener on the payload's behalf. It is a deputy, so it trusts nothing of the
 * payload's but words: it finds the place itself, beneath its own descriptor of the project, without
 * any link, and has no more rights than the payload. Raw calls only.
 */
#pragma once

#include "listener/spot.h"

struct grant {
    const struct plan_guard *guard; /* borrowed */
    int root;                       /* borrowed; of the project; -1: nothing is granted */
};

enum grant_outcome {
    GRANT_REFUSED,
    GRANT_ANSWERED, /* the call has its answer */
    GRANT_CHANGED,  /* what stands there is not what the spot saw: hidden, or somebody else works there, too */
};

enum grant_outcome grant_answer(const struct grant *grant, const struct view *view, int listener,
                                const struct attempt *attempt, const struct spot spots[2]);

/* "__pycache__", or with * for any characters: ".coverage.*". */
bool grant_matches(const char *pattern, const char *component, size_t len);
/* One of the components of an absolute path does; `patterns` ends with NULL. */
bool grant_component(const char *const *patterns, const char *path);
