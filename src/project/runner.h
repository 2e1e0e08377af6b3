/*
 * The test runners that are known well enough to be given places of their own: what is added to
 * their arguments, and which names beneath the root they need as caches. Anything else simply
 * runs, with HOME, TMPDIR and the cache variables that everybody gets.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "project/workspace.h"

enum runner {
    RUNNER_OTHER,
    RUNNER_PYTEST,
    RUNNER_UNITTEST,
    RUNNER_NODE,
    RUNNER_CTEST,
    RUNNER_MESON,
    RUNNER_GO,
    RUNNER_CARGO,
};

struct runner_found {
    enum runner runner;
    size_t word; /* index of the word behind which its own arguments go */
};

/* `command` ends in NULL and has at least one word. */
struct runner_found runner_find(char *const *command);

/*
 * The command as it is to run: "{config}" replaced by the path of the configuration in every word,
 * the runner's own arguments added. NULL: no memory.
 */
char **runner_command(struct arena *arena, char *const *command, const struct workspace *w,
                      const char *config);

/* Names that the runner writes beneath the root, as plan_guard has them; NULL at the end. */
const char *const *runner_caches(enum runner runner);

/* A variable that keeps a tool's cache in the workspace: NAME=<workspace>/<place>. */
struct runner_variable {
    const char *name;
    const char *place;
};
extern const struct runner_variable runner_variables[];
extern const size_t runner_variable_count;

/* A variable that keeps what a tool has downloaded readable although HOME is another one. */
struct runner_home {
    const char *name;
    const char *place; /* beneath the caller's HOME */
};
extern const struct runner_home runner_homes[];
extern const size_t runner_home_count;
