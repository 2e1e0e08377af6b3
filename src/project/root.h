/*
 * The project: its root, found by walking upward, and its cordon.json. No program is run to find
 * it, and nothing of it is written.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "project/config.h"

enum project_found { PROJECT_GIVEN, PROJECT_BY_FILE, PROJECT_BY_GIT, PROJECT_BY_CWD };

struct project {
    char root[PATH_MAX];  /* absolute, without links */
    int fd;               /* owned; O_PATH of the root */
    enum project_found found;
    bool has_file;        /* there is a cordon.json */
    struct project_config config;
};

#define PROJECT_INIT ((struct project){.fd = -1})

/*
 * `given`: the root itself; else the nearest directory from `start` upward with a cordon.json, up
 * to the top of the git work tree, else that top, else `start`. The config lives in `arena`.
 */
int project_open(struct project *project, struct arena *arena, const char *given, const char *start,
                 struct cordon_error *err);

/* The directory `test.root` names becomes the root; the config is what it was. */
int project_enter_test_root(struct project *project, struct cordon_error *err);

/* Opens a name beneath the root; no link is followed. A descriptor or -errno. */
int project_open_beneath(const struct project *project, const char *name, int flags);

/* The text of a regular file beneath the root, at most `max` bytes, in `arena`. */
int project_read(const struct project *project, struct arena *arena, const char *name, size_t max,
                 const char **text, size_t *len, struct cordon_error *err);

void project_release(struct project *project);
