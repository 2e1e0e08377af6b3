/* A live line on standard error: time, cpu and memory so far. Only on a terminal. */
#pragma once

#include <stdbool.h>

#include "backend/backend.h"

struct progress {
    int timer; /* owned; -1: no line is wanted, or nobody would see it */
    bool shown;
    const struct backend_run *run; /* borrowed */
};

#define PROGRESS_INIT ((struct progress){.timer = -1})

void progress_begin(struct progress *p, const struct backend_run *run);

/* When `timer` is readable. */
void progress_tick(struct progress *p);

/* Takes the line away: before anything else is written. */
void progress_erase(void *progress);

void progress_end(struct progress *p);
