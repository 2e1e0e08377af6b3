/* The vocabulary of enforcement: what can be asked for, and what the ledger speaks of. */
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
    CAP_CPU_RATE, /* in the ledger only if it was asked for */
    CAPABILITY_COUNT,
};

/* Those in every ledger: all but the last one. */
#define CAPABILITY_ALWAYS CAP_CPU_RATE

const char *capability_name(enum capability c); /* "wall_time" */
int capability_parse(const char *name);         /* -1 if there is none */
/* Of CAPABILITY or CAPABILITY:MECHANISM; -1 if there is none. `mechanism`: what follows the colon, or NULL. */
int capability_of(const char *text, const char **mechanism);

/* Whether `word` is a whole word of a mechanism. */
bool capability_names_word(const char *mechanism, const char *word);

/* Whether `text` is CAPABILITY or CAPABILITY:MECHANISM; if not, what to write instead. */
bool capability_requirement(const char *text);
void capability_remedy(const char *text, char *out, size_t size);
