/*
 * cordon.json: what a project says about its tests and its audit. Read once, strictly, and never
 * written. It lies in a tree that may be a stranger's, so it can name places beneath its own root
 * and nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

#define PROJECT_FILE "cordon.json"
#define PROJECT_CONFIG_MAX (1024 * 1024)
#define PROJECT_LIST_MAX 256

struct project_names {
    const char *const *items;
    size_t count;
};

struct project_config {
    const char *schema;              /* "$schema", for editors; nothing here reads it */
    const char *test_root;           /* relative to the root; "." */
    struct project_names writable;   /* relative to test_root, normalised */
    struct project_names caches;     /* whole components; a trailing * is any end */
    const char *config_template;     /* relative to test_root; NULL: the built-in one */
    struct project_names command;    /* what `cordon test` runs by itself; may be empty */
    struct project_names protect;    /* file names that no test may name */
    struct project_names config_env; /* variables that select a configuration */
    struct project_names disabled;   /* ids of audit rules; checked by the audit */
};

/* Without a file: the defaults, in static memory. */
void project_config_default(struct project_config *config);

/* Others than the default ones. */
bool project_config_names_caches(const struct project_config *config);

/* The fields that `text` names replace the defaults. What is refused says pointer and line:column. */
int project_config_parse(struct project_config *config, struct arena *arena, const char *text,
                         size_t len, struct cordon_error *err);
