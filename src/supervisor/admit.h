/*
 * Init's side of bwrap: the exec of the payload waits here until everything that bwrap was to make
 * has been read back. Until then bwrap's standard error is our own, so that its complaints are not
 * taken for the payload's. Raw calls only.
 */
#pragma once

#include "layer/exec_gate.h"
#include "supervisor/spawn.h"

struct admission {
    int outer;    /* bwrap's own process */
    int proc;     /* borrowed */
    int command;  /* the payload, a pidfd; -1: not seen yet */
    int answer;   /* to each exec of bwrap's: 0, or a negative errno */
    bool decided;
    int root;     /* of the payload; -1: not seen, or taken */
    bool runs_by_another; /* the file begins as those do that name an interpreter or loader */
};

void admit_open(struct admission *a, int outer, int proc);

/* The answer to an exec that waits at `listener`: 0 or a negative errno. */
int admit_exec(struct admission *a, struct spawn *s, int listener, const struct notify_call *request);

/* bwrap has ended: says in the shared page how the payload did, or why there was none. */
void admit_close(struct admission *a, struct spawn *s);
