/*
 * The audit: goes through the test files of a project and collects what the rules find. It reads
 * and never writes; a file that it cannot read or that is too long is counted, because it was not
 * judged.
 */
#pragma once

#include "audit/rules.h"
#include "base/buf.h"
#include "project/root.h"

#define AUDIT_FINDINGS_MAX 100000 /* that are kept; all are counted */
#define AUDIT_DEPTH_MAX 64        /* of directories */
#define AUDIT_ARENA_BYTES (256u * 1024 * 1024)

struct audit_finding {
    const char *file; /* from the root */
    uint32_t line, col;
    enum audit_rule rule;
    const char *subject; /* escaped */
    bool unreasoned;     /* an allow comment stands there, and gives no reason */
};

struct audit {
    const struct project *project; /* borrowed */
    struct arena *arena;           /* borrowed; names and findings live there */
    void (*progress)(void *user, size_t files); /* after each file; or NULL */
    /* A file or directory that could not be judged. */
    void (*problem)(void *user, const char *file, int errnum);
    void *user;

    bool off[RULE_COUNT];
    struct lexer lexer; /* owned */
    char *text;         /* owned; of the file at hand */
    size_t room;
    struct audit_finding *findings; /* owned */
    size_t count, findings_room;
    uint64_t total;    /* findings, those beyond the bound too */
    size_t files, problems;
};

/* The rules that the project switched off are known, or `err` names the one that is not. */
int audit_init(struct audit *audit, const struct project *project, struct arena *arena,
               struct cordon_error *err);

/*
 * `name`, from the root: a file, or a directory with all test_*.py beneath it. Links to
 * directories, hidden directories and artifacts are left out.
 */
int audit_scan(struct audit *audit, const char *name);

/* By file, line, column and rule. */
void audit_sort(struct audit *audit);
void audit_release(struct audit *audit);

/* ---- what it says ---- */

void audit_write_text(const struct audit *audit, struct buf *out); /* a line each */
void audit_write_json(const struct audit *audit, struct buf *out);
void audit_write_sarif(const struct audit *audit, struct buf *out); /* 2.1.0 */
