/*
 * The listener of guard mode: a process beside the supervisor, outside of the sandbox, that looks at
 * each call which would write, names those that the guard refuses, and performs those that a cache
 * grant covers.
 *
 * Rights      The payload's, and no more: an ordinary caller's own; of root the user of this run, to
 *             which the project is shown through the same map as inside. Root's also keeps the one
 *             capability by which a process may be looked into.
 * Its end     It ends when nobody is left who could ask. If it ends before, the kernel answers ENOSYS
 *             to all that it watched; the supervisor then ends the run, so that nobody wonders.
 */
#pragma once

#include "base/error.h"
#include "listener/record.h"
#include "plan/plan.h"

struct listener {
    int pid;
    int pidfd;  /* owned; -1: there is none */
    int socket; /* owned; the end that the payload, or init, gets */
    int event;  /* owned; readable when there is something new to tell */
    struct records *records; /* owned; mapped shared */
    uint32_t told;           /* records that were told already */
    uint32_t begun;          /* as seen when it was last looked after */
    unsigned stuck;          /* how often it was found at work on the same call */
};
#define LISTENER_INIT ((struct listener){.pidfd = -1, .socket = -1, .event = -1})

/* `project`: the project's root as the payload would have it, borrowed; -1: by its path. */
int listener_start(struct listener *self, const struct plan *plan, int project, struct cordon_error *err);

/* The next record that was not told yet; false: none. */
bool listener_tell(struct listener *self, struct result_violation *out);

/*
 * Looks after it, to be called once a second: wakes it where somebody stopped it; false if it has been
 * stuck for LISTENER_PATIENCE of them. A slow file system is not a dead one.
 */
#define LISTENER_PATIENCE 10
bool listener_alive(struct listener *self);

/* It has ended because nobody was left who could ask, not by somebody's hand. */
bool listener_finished(const struct listener *self);

void listener_collect(const struct listener *self, struct result_violations *out);
void listener_release(struct listener *self); /* ends it, too */
