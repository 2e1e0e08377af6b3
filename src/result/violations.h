/*
 * Writes that were refused in guard mode: one record for each distinct operation, path, command and
 * test, sorted, with a bound. The kernel refused them; these are only their names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIOLATIONS_MAX 1000 /* distinct ones that are kept; all are counted */

struct result_violation {
    const char *op;   /* "open for writing" */
    const char *path; /* absolute, the host's */
    int pid;          /* as seen inside; of the first */
    const char *comm;
    const char *rule; /* "read-only" */
    uint64_t count;
    const char *test; /* the name of the test that did it; NULL: not known */
};

struct result_violations {
    struct result_violation *items; /* owned, with all that it points to */
    size_t count;
    uint64_t total;  /* calls, those without a record of their own too */
    uint64_t unseen; /* calls of processes or at places that cannot be looked into: nothing is known of them */
    bool watched;    /* false: nobody was there to name them */
};

/* By path, operation, command and test. */
void violations_sort(struct result_violations *v);
void violations_free(struct result_violations *v);
