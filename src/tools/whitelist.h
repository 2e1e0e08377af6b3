/*
 * What a caller may say to the tools that search, measure, pack and back up a tree: an option that
 * is not listed is refused, and so is a value that does not fit. Pure data and pure functions; the
 * running of a tool is somebody else's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum tool { TOOL_FIND, TOOL_FD, TOOL_RIPGREP, TOOL_DUST, TOOL_OUCH, TOOL_RUSTIC };
#define TOOL_COUNT 6

enum tool_rustic { RUSTIC_BACKUP, RUSTIC_SNAPSHOTS, RUSTIC_RESTORE, RUSTIC_FORGET };

/* What the value of an option must be. */
enum tool_value {
    VALUE_NONE,   /* it takes none */
    VALUE_TEXT,
    VALUE_INTEGER, /* digits, with a sign perhaps */
    VALUE_NUMBER,
    VALUE_INSIDE,  /* a relative path that stays inside */
    VALUE_SET,     /* one of a list of words */
    VALUE_PATH     /* a path of the caller's, to be mapped before it is used */
};

struct tool_problem {
    char message[256]; /* "Disallowed option: --exec" */
};

/*
 * Checks a flat list of options and values. `sub` is the command of rustic, 0 elsewhere. 0, or
 * -EINVAL and what is wrong. Values stay where they are.
 */
int tool_check_options(enum tool tool, int sub, const char *const *options, size_t count,
                       struct tool_problem *problem);

/* The kind of an option, or -1 if it is not allowed. */
int tool_option_kind(enum tool tool, int sub, const char *option);

/* The time a call may take: the smaller of the tool's cap and what was asked for, if that is a number. */
uint32_t tool_timeout_ms(enum tool tool, double asked_ms);

/* Is args[0] of ouch or rustic one of theirs? 0 (for rustic: enum tool_rustic), or -EINVAL. */
int tool_check_command(enum tool tool, const char *command, struct tool_problem *problem);
