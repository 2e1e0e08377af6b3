/*
 * Init's side of bwrap: the exec of the payload waits here until everything that bwrap was to make
 * has been read back. Until then bwrap's standard error is our own, so that its complaints are not
 * taken for the payload's. Raw calls only.
 */
#pragma once

#include "layer/exec_gate.h"
#include "supervisor/spawn.h"

struct admission {
    struct bwrap_outside outside;
    int proc;     /* borrowed */
    int command;  /* the payload, a pidfd; -1: not seen yet */
    int answer;   /* to each exec of bwrap's: 0, or a negative errno */
    bool decided;
    int root;     /* of the payload; -1: not seen, or settled */
    int program;  /* what it executes, as a place; -1: none */
};

void admit_open(struct admission *a, const struct plan *plan, int proc);

/* The answer to an exec that waits at `listener`: 0 or a negative errno. */
int admit_exec(struct admission *a, struct spawn *s, int listener, const struct notify_call *request);

/* What is left to do when the exec has its answer and nobody waits. */
void admit_settle(struct admission *a, const struct spawn *s, const struct notify_call *request);

/* bwrap has ended: says in the shared page how the payload did, or why there was none. */
void admit_close(struct admission *a, struct spawn *s);
