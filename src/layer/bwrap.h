/*
 * The tree of a plan as arguments for bwrap, and what else that program is given: all of it by
 * descriptors, so that nothing of it stands in the command line of a process inside.
 *
 * Lifecycle   open(), fill() and release() in the supervisor: the descriptors before clone, what
 *             stands behind them while the children begin. The payload process moves `fds` to the
 *             numbers that follow standard error and executes bwrap with them. proven() in init, at
 *             the moment of the payload's exec; forget() when that has its answer.
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

int layer_bwrap_open(struct layer_bwrap *self, const struct plan *plan, struct cordon_error *err);
int layer_bwrap_fill(const struct layer_bwrap *self, const struct plan *plan, struct cordon_error *err);
void layer_bwrap_release(struct layer_bwrap *self);

/* Closes what bwrap has read, and keeps what it says. Raw calls. */
void layer_bwrap_forget(const struct layer_bwrap *self);

/* Whether bwrap reports that it executed the command: it tells an exit code only then. Raw calls. */
bool layer_bwrap_executed(const struct layer_bwrap *self);

/* Its first line of complaint, without a newline; "" if there is none. Raw calls. */
void layer_bwrap_complaint(const struct layer_bwrap *self, char *out, size_t size);

/*
 * bwrap finds sources by their names once more. The first listed target beneath `root` where something
 * else appears than stands, without a link on the way, at its source; NULL: none. Raw calls.
 */
const char *layer_bwrap_swapped(const struct plan *plan, int root);

#define BWRAP_NAMESPACES 5

/* What a process outside has, bwrap's own among them, as far as the payload's must be other. */
struct bwrap_outside {
    bool known;
    uint64_t filters; /* without the gate */
    uint64_t namespaces[BWRAP_NAMESPACES]; /* inodes; 0: not known */
};

/* By the caller's own, ahead of time: nobody waits yet. Raw calls. */
void layer_bwrap_note(struct bwrap_outside *out, const struct plan *plan, int proc);

/*
 * What the kernel shows of the process `pid` that is about to execute the payload, compared with the
 * plan; `pidfd` is a descriptor of it. Raw calls.
 */
uint32_t layer_bwrap_proven(const struct plan *plan, const struct bwrap_outside *outside, int pidfd, int proc, int pid);
