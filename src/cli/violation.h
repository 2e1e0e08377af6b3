/* Refused writes, said on stderr when they happen: once for each distinct path. */
#pragma once

#include "result/violations.h"

struct violation_notes {
    const char *fix; /* the second line; NULL: none */
    bool quiet;
    bool raw; /* the terminal is passed on: the end of a line needs its carriage return */
    size_t count;
    uint64_t seen[VIOLATIONS_MAX]; /* hashes of paths */
};

/* While the command runs: not, if that would wait for a reader. */
void violation_say(struct violation_notes *notes, const struct result_violation *violation);
/* When it has ended: those that were not said. */
void violation_say_rest(struct violation_notes *notes, const struct result_violations *violations);
