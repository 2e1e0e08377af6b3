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

/* Its value; closed only when `most` is over (NULL: never). */
static inline enum latch latch_wait(uint32_t *latch, const struct timespec *most)
{
    long r = 0;
    while (latch_look(latch) == LATCH_CLOSED && r != -ETIMEDOUT)
        r = sys_futex_wait(latch, LATCH_CLOSED, most);
    return latch_look(latch);
}
