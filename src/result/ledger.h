/*
 * The enforcement ledger: for each capability what was asked for, whether it holds, by what, and
 * how well. `applied` is written only from what was read back or proven after applying.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum capability {
    CAP_WALL_TIME,
    CAP_CPU_TIME,
    CAP_MEMORY,
    CAP_PIDS,
    CAP_OPEN_FILES,
    CAP_OUTPUT,
    CAP_FILESYSTEM,
    CAP_NETWORK,
    CAP_SYSCALLS,
    CAP_PRIVILEGES,
    CAP_ENVIRONMENT,
    CAP_PROCESSES,
    CAP_IPC,
    CAP_DEVICES,
    CAPABILITY_COUNT,
};

const char *capability_name(enum capability c); /* "wall_time" */
int capability_parse(const char *name);         /* -1 if there is none */

/* Whether `text` is CAPABILITY or CAPABILITY:MECHANISM; if not, what to write instead. */
bool capability_requirement(const char *text);
void capability_remedy(const char *text, char *out, size_t size);

struct ledger_entry {
    char requested[96];   /* as JSON: null, true, a number, a string; null: nothing was asked */
    bool applied;
    const char *mechanism; /* static; "none" if not applied */
    char details[256];
};

struct ledger {
    struct ledger_entry entries[CAPABILITY_COUNT];
};
