/*
 * What a test run leaves for people: a summary of refused writes for the terminal, and a page that
 * needs no network. All text from the run is a stranger's and is escaped.
 */
#pragma once

#include "base/buf.h"
#include "result/result.h"

#define REPORT_SUMMARY_PATHS 50 /* that are named on the terminal */
#define REPORT_SUMMARY_TESTS 5  /* that are named for each of them */

struct report {
    const char *root;     /* of the project, absolute */
    const char *writable; /* the first place that may be written, from the root: "tests" */
    char *const *command;
    size_t command_count;
    const char *config; /* the configuration that the tests were given */
    const struct result *result; /* its violations are sorted */
};

/* Nothing if nothing was refused. */
void report_summary(const struct report *report, struct buf *out);

void report_html(const struct report *report, struct buf *out);

/* What to do about a write to `path`, in one line. */
void report_fix(const struct report *report, const char *path, char *out, size_t size);
