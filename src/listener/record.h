/*
 * What the listener has seen, in memory that it shares with the supervisor. It alone writes; a record
 * is complete before the count includes it.
 */
#pragma once

#include "listener/task.h"
#include "result/violations.h"

#define RECORD_TEXT (512 * 1024)

struct record {
    uint64_t hash;
    const char *op;   /* static: both processes are one program */
    const char *rule; /* the same */
    uint32_t path, comm, test; /* offsets into the text; test 0: not known */
    int pid;
    uint64_t count;
};

struct records {
    uint32_t count;
    uint32_t begun, done; /* calls; between the two the listener is at work on one */
    uint64_t total, unseen;
    uint32_t text_used;
    struct record items[VIOLATIONS_MAX];
    char text[RECORD_TEXT];
};

struct sighting {
    const char *op, *rule, *path;
    const char *comm, *test; /* test NULL: not known */
    int pid;
};

/* True if there was none like it, and there was room for it. */
bool record_add(struct records *records, const struct sighting *seen);

/* Record `index` as the result has it; its strings are in `records`. */
struct result_violation record_get(const struct records *records, uint32_t index);

/* Everything, sorted, in memory of its own; false if there is none. */
bool record_collect(const struct records *records, struct result_violations *out);
