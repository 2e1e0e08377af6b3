/* Init's side of the fork gate: who may fork, and how many there are. Raw calls only. */
#pragma once

#include <time.h>

#include "layer/exec_gate.h"
#include "layer/notify.h"
#include "supervisor/spawn.h"
#include "supervisor/descent.h"

#define GATE_PENDING 256 /* grants that are remembered one by one */

/* Forks that may not have happened yet. */
struct gate_grants {
    struct {
        uint32_t task;
        uint64_t at_us;
    } each[GATE_PENDING]; /* a ring */
    unsigned next;
    uint64_t crowd;       /* young ones that lost their place to others: only how many */
    uint64_t crowd_at_us; /* when the youngest of them was granted */
};

struct fork_gate {
    int listener;   /* -1: there is no gate, or it is shut for good */
    int proc;       /* borrowed */
    int writes;     /* borrowed; the socket of the listener of guard mode; -1: none */
    uint64_t *unnamed; /* borrowed; calls that it had no room for */
    uint64_t most;  /* tasks */
    uint64_t bound; /* there are at most so many */
    struct gate_grants granted;
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

/* One more for this thread. */
void gate_grant(struct gate_grants *g, uint32_t task, uint64_t now_us);

/* How many may still be on their way, never less; one of the asking thread is not. */
uint64_t gate_pending(const struct gate_grants *g, uint32_t asking, uint64_t now_us);
