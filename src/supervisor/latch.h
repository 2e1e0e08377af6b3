/*
 * A word in the shared page that one process of a run sets once and another one waits for. It is a
 * futex. Raw calls only.
 */
#pragma once

#include <stdint.h>

#include "sys/process.h"

enum latch { LATCH_CLOSED = 0, LATCH_OPEN = 1, LATCH_FAILED = 2 };

static inline enum latch latch_look(const uint32_t *latch)
{
    return (enum latch)__atomic_load_n(latch, __ATOMIC_ACQUIRE);
}

static inline void latch_set(uint32_t *latch, enum latch value)
{
    __atomic_store_n(latch, value, __ATOMIC_RELEASE);
    sys_futex_wake(latch);
}

#define LATCH_LOOKS 60 /* as long as to be woken takes: more would be taken from others */

/*
 * Before a wait that answers sooner and costs throughput: to be woken on a core that sleeps takes longer than most waits
 * here. So look for a while, and let everybody else run in between.
 */
static inline void latch_expect(const uint32_t *latch)
{
    for (int i = 0; i < LATCH_LOOKS && latch_look(latch) == LATCH_CLOSED; i++)
        sys_call(SYS_sched_yield);
}

/* Whoever is to set it ends this process if it cannot. */
static inline void latch_wait(uint32_t *latch)
{
    while (latch_look(latch) == LATCH_CLOSED)
        sys_futex_wait(latch, LATCH_CLOSED, NULL);
}

/* Its value; closed only when a moment is over: time to see whether the other one is still there. */
static inline enum latch latch_wait_a_moment(uint32_t *latch)
{
    static const struct timespec moment = {.tv_nsec = 100000000};
    long r = 0;
    while (latch_look(latch) == LATCH_CLOSED && r != -ETIMEDOUT)
        r = sys_futex_wait(latch, LATCH_CLOSED, &moment);
    return latch_look(latch);
}
