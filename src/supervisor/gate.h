/* Init's side of the fork gate: who may fork, and how many there are. Raw calls only. */
#pragma once

#include <time.h>

#include "layer/exec_gate.h"
#include "layer/notify.h"
#include "supervisor/spawn.h"
#include "supervisor/descent.h"

#define GATE_PENDING 256 /* grants that are remembered */

struct fork_gate {
    int listener;   /* -1: there is no gate, or it is shut for good */
    int proc;       /* borrowed */
    int writes;     /* borrowed; the socket of the listener of guard mode; -1: none */
    uint64_t *unnamed; /* borrowed; calls that it had no room for */
    uint64_t most;  /* tasks */
    uint64_t bound; /* there are at most so many */
    struct {
        uint32_t task;
        uint64_t at_us;
    } granted[GATE_PENDING]; /* a ring: forks that may not have happened yet */
    unsigned next;
    struct notify_call asking;
    bool undecided; /* whether there is room shows when those have happened: `asking` waits so long */
    struct descent descent;
};

/*
 * Takes the listener from the payload process and proves it with it; without one there is no gate. The
 * other calls that wait in it are handed on to `writes`.
 */
void gate_open(struct fork_gate *gate, const struct spawn *spawn, int socket, int payload, int proc);

/*
 * Answers the fork that waits, or keeps it waiting: then nobody else is asked meanwhile. False: an exec
 * asks, `asking`, and is the caller's to answer.
 */
bool gate_answer(struct fork_gate *gate);
void gate_look(struct fork_gate *gate); /* again */

/* How long to sleep at most. */
const struct timespec *gate_pause(const struct fork_gate *gate, const struct timespec *longest);

/* From now on every fork fails. */
void gate_shut(struct fork_gate *gate);
