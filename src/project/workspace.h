/*
 * The place of one test run: tests/artifacts/_isolation_workspace_<run>/ with a configuration, a
 * home, a temporary directory and caches, and beside it the base temp of pytest. <run> is the
 * lowest number that is free. All names are reached from remembered descriptors and no link is
 * followed, because what runs there may change the tree; what is removed is what was made, by
 * device and inode.
 */
#pragma once

#include <sys/types.h>

#include "project/root.h"

#define WORKSPACE_PREFIX "_isolation_workspace_"
#define WORKSPACE_BASE_TEMP "_pytest_tmp"
#define WORKSPACE_RUNS_MAX 1000 /* at once, in one project */

struct workspace_made {
    int parent;  /* owned; -1: nothing was made */
    char name[64];
    dev_t dev;
    ino_t ino;
};

struct workspace {
    const struct project *project; /* borrowed */
    unsigned run;
    char artifacts[PATH_MAX];           /* from the root: "tests/artifacts" */
    char path[2 * PATH_MAX + 80];       /* absolute; never longer than PATH_MAX in the end */
    char base_temp[2 * PATH_MAX + 80];  /* absolute: the command may start elsewhere */
    char config[2 * PATH_MAX + 160];    /* absolute; of the generated configuration */

    int parent;  /* owned; tests/artifacts */
    int dir;     /* owned; the workspace, locked while the run lasts */
    bool unlocked; /* but for file systems without locks: then no run sweeps it before this one is over */
    struct workspace_made made;      /* the workspace itself */
    struct workspace_made above[16]; /* directories on the way to it */
    unsigned above_count;
};

#define WORKSPACE_INIT ((struct workspace){.parent = -1, .dir = -1, .made = {.parent = -1}})

/* The names that the next run gets; nothing is made. */
int workspace_name(struct workspace *w, const struct project *project, struct cordon_error *err);

/*
 * Makes it, with `template` as its configuration (NULL: none is wanted); the names may have another
 * number than workspace_name() said, if somebody was faster. What earlier runs left behind is
 * removed.
 */
int workspace_make(struct workspace *w, const char *template, size_t template_len,
                   struct cordon_error *err);

/* Removes what was made, and directories above it that are empty. */
void workspace_remove(struct workspace *w);

/* Gives up the lock, and lets later runs remove it; what was made stays. */
void workspace_release(struct workspace *w);

/* What a program finds in its configuration when the project has no template. */
extern const char workspace_template[];
