/*
 * The tree of a plan as arguments for bwrap, and what else that program is given: all of it by
 * descriptors, so that nothing of it stands in the command line of a process inside.
 *
 * Lifecycle   prepare() and release() in the supervisor. The payload process moves `fds` to the
 *             numbers that follow standard error and executes bwrap with them. proven() in init, at
 *             the moment of the payload's exec.
 */
#pragma once

#include "plan/plan.h"

#define BWRAP_FIRST_FD 3
#define BWRAP_MAX_FDS 8
#define BWRAP_ARGS "3" /* the first of them, as bwrap's own words name it */

struct layer_bwrap {
    int fds[BWRAP_MAX_FDS]; /* owned; arguments, status, then filter and small files */
    size_t count;
    int messages;           /* owned; what bwrap says on its standard error */
    char **argv;            /* in the plan's arena */
};

#define LAYER_BWRAP_INIT ((struct layer_bwrap){.messages = -1})

int layer_bwrap_prepare(struct layer_bwrap *self, const struct plan *plan, struct cordon_error *err);
void layer_bwrap_release(struct layer_bwrap *self);

/* Whether bwrap reports that it executed the command: it tells an exit code only then. Raw calls. */
bool layer_bwrap_executed(const struct layer_bwrap *self);

/* Its first line of complaint, without a newline; "" if there is none. Raw calls. */
void layer_bwrap_complaint(const struct layer_bwrap *self, char *out, size_t size);

/*
 * What /proc shows of the process `pid` that is about to execute the payload, compared with the
 * plan; `outer` is bwrap's own process outside. Raw calls.
 */
uint32_t layer_bwrap_proven(const struct plan *plan, int proc, int pid, int outer);
