/*
 * The rules: what in a test would touch a real file. Each has an id, a message and a fix; they are
 * data, and the audit of one file is a function of its tokens and the project's names.
 */
#pragma once

#include "audit/lexer.h"
#include "project/config.h"

enum audit_rule {
    RULE_PROTECTED_PATH,
    RULE_PROTECTED_OPEN,
    RULE_ABSOLUTE_PATH,
    RULE_ARTIFACTS_LITERAL,
    RULE_TEMPFILE_DIR,
    RULE_ROOT_CONFIG,
    RULE_CONFIG_ENV,
    RULE_TOPLEVEL_WRITE,
    RULE_COUNT,
};

struct audit_rule_text {
    const char *id;
    const char *message;
    const char *fix;
};
extern const struct audit_rule_text audit_rules[RULE_COUNT];

int audit_rule_find(const char *id); /* -1: there is none */

#define RULE_SUBJECT_MAX 96
#define RULE_FINDINGS_MAX 1000 /* in one file */

struct rule_finding {
    enum audit_rule rule;
    uint32_t at, end; /* offsets of what was found: an allow comment may stand on any of its lines */
    char subject[RULE_SUBJECT_MAX]; /* as the program has it, cut; not escaped */
};

struct rule_context {
    const struct project_config *config; /* borrowed */
    const char *root;   /* absolute; NULL: unknown */
    unsigned up;        /* how many .parent lead from the file to the root */
};

typedef void rule_found_fn(void *user, const struct rule_finding *finding);

/* Calls `found` in the order of the text. */
void rules_apply(const struct lexer *lexer, const struct rule_context *context,
                 rule_found_fn *found, void *user);
