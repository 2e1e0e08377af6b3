/*
 * How a run ended: what was seen of it, and the verdict that follows. Evidence decides, one cause
 * only; it is the same for every backend.
 */
#pragma once

#include "plan/plan.h"
#include "result/result.h"

struct ending {
    bool ran;          /* the payload came as far as exec */
    int exec_errno;    /* and this is what it answered; 0: it was executed */
    bool interpreter;  /* the file is there, what it names in its first line is not */
    bool ended;        /* its own end was seen */
    int init_signal;   /* else: that ended who would have seen it; 0: not known */
    int status;        /* and was this, as of waitpid() */
    bool timed_out;
    bool oom;          /* an event of the cgroup */
    bool memory_seen, cpu_seen; /* by whoever watches */
    bool blind;        /* whoever watches could not look any more */
    bool listener_lost; /* whoever names refused writes is gone */
    bool killed;       /* by us */
    int overflow;      /* 1 + index of the stream that ran over; 0: none */
    uint64_t cpu_us;   /* of the tree, as far as it is known */
};

/* A run that did not come to be: `result->error` says why. */
void ending_refused(struct result *result);

/* Status, rc and reason of one that did. */
void ending_judge(const struct ending *ending, const struct plan *plan, struct result *result);

/* Whether something was asked for that was not proven; then a run that says nothing worse says that. */
void ending_tell_partial(const struct plan *plan, uint32_t proof, struct result *result);
