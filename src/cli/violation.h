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

/* For on_violation of struct run_wishes; `notes` is a struct violation_notes. */
void violation_say(void *notes, const struct result_violation *violation);
