/*
 * Init's descendants, by the children files of /proc: for init where its own procfs does not show
 * exactly them. A process whose parent dies becomes init's child, so none leaves the tree. Raw calls
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

#define DESCENT_MAX PLAN_GATE_TASKS_MAX /* processes in one walk */

struct descent {
    int proc; /* borrowed; /proc */
    int pids[DESCENT_MAX];
    size_t count;
    size_t tasks;    /* of all of them */
    bool cut;        /* there are more, or this host lets it look no more */
};

/* All of them, parents before children; zombies too. */
void descent_read(struct descent *t, int proc);

/* The same for another process than the caller. */
void descent_read_of(struct descent *t, int proc, int pid);

/* The list of the caller's direct children, or -errno. It is read anew each time, which takes no further file. */
int descent_open_children(int proc);

/* A signal for each in it; false if it cannot be read. */
bool descent_signal_children(int list, int sig);

/*
 * Whether /proc shows the caller's first child. Where it was mounted to hide processes (hidepid) it does not
 * show those that let nobody look into them, not even to their own user; so this is asked while the
 * payload process waits, whose memory is init's, and sealed.
 */
bool descent_shown(int proc);
