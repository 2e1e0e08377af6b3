/*
 * Finding out by doing: an act in a process of its own, which may end in any way, and what came
 * of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct attempt {
    int errnum; /* positive; 0: it worked */
    int signal; /* that ended the process; 0: none */
    bool outside; /* the user namespace itself did not come to be; the act was never reached */
    char step[64]; /* what failed: "mount proc" */
    uint64_t number; /* what the act wants to say: an ABI, flags */
    bool over; /* the act came back; known even if somebody else has taken the status of its process */
};

typedef void attempt_fn(struct attempt *a);

/* For acts: true, and recorded, if `r` is a -errno. */
bool attempt_failed(struct attempt *a, long r, const char *step);

static inline bool attempt_worked(const struct attempt *a)
{
    return a->errnum == 0 && a->signal == 0;
}

void attempt_run(struct attempt *out, attempt_fn *act);
void attempt_run_with(struct attempt *out, void (*act)(struct attempt *a, void *context), void *context);

/*
 * For a new process that tries something: whatever its caller blocks or ignores, it is ended if it hangs, and sees
 * its own children end.
 */
void attempt_alone(void);

/* Waits for a child of any kind; the signal that ended it, or 0, also if somebody else has waited for it. */
int attempt_wait(int pid);

/*
 * The same in a user namespace that is made and mapped as a sandbox's is, together with the
 * namespaces of `flags`. `act` may be NULL.
 */
void attempt_run_inside(struct attempt *out, uint64_t flags, attempt_fn *act);
