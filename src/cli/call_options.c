#include "cli/call_options.h"

#include <string.h>

#include "base/parse.h"

/* 0: what the policy and the module say. */
static int apply_timeout(const struct option_use *use, const char *value)
{
    struct call_options *o = use->target;
    const struct policy_limit *limit = policy_limit_find("wall_ms");
    uint64_t number = POLICY_UNLIMITED;
    char room[96];
    if (strcmp(value, "none") != 0 && parse_duration_ms(value, &number) < 0)
        return option_not(use, value, "a duration", "write 1500ms, 2s, 3m or 1h");
    const char *wrong = policy_limit_wrong(limit, number, room, sizeof room);
    if (number != 0 && wrong != NULL)
        return option_refuse(use, wrong, NULL);
    o->timeout_given = number != 0;
    o->timeout_ms = number;
    return 0;
}

static const char *const exit_names[] = {[CALL_EXIT_CHILD] = "child",
                                         [CALL_EXIT_NORMALIZED] = "normalized",
                                         [CALL_EXIT_APCORE] = "apcore"};
static const struct policy_words exit_words = {exit_names, 3};

#define OPT(field) offsetof(struct call_options, field)

static const struct option items[] = {
    {"extensions", "DIR", "where the modules are; else $APCORE_EXTENSIONS_ROOT, ./extensions",
     option_string, OPT(extensions), NULL, false},
    {"list", NULL, "show the modules that are there, call none", option_flag, OPT(list), NULL, false},
    {"no-sandbox", NULL, "call it in your own environment: nothing is enforced", option_flag,
     OPT(no_sandbox), NULL, false},
    {"timeout", "DUR", "the most that it may take, whatever it asks for", apply_timeout, 0, NULL,
     false},
    {"audit-log", "FILE", "append a line about this call", option_string, OPT(audit_log), NULL,
     false},
    {"exit", "child|normalized|apcore", "the module's own exit status, or one by a table",
     option_word, OPT(exit_style), &exit_words, false},
};

struct option_table call_option_table(struct call_options *options)
{
    return OPTION_TABLE(items, options);
}
