/*
 * A backend carries out one run: a policy and a command in, a result filled. The front ends, library
 * and command, know only what stands here; and nothing here knows a kernel. What a backend can do it
 * says in the ledger of its plan.
 *
 *   native   namespaces, Landlock, seccomp; a second tier where namespaces are refused
 *   bwrap    the same supervisor around bubblewrap
 *   posix    limits for each process, a process group, environment and output: any POSIX system
 *   none     streams and deadline only
 */
#pragma once

#include "plan/plan.h"
#include "result/result.h"
#include "result/wishes.h"

struct backend_run;

struct backend {
    const char *kind;  /* as the result names it */
    bool effective;    /* it isolates */

    /* Facts and plan; nothing exists yet. */
    int (*plan)(struct backend_run *run);
    /* Which plan this host would really have, if that shows only by trying; NULL: `plan` said it all. */
    void (*rehearse)(struct backend_run *run);

    /* From here on the result says why something failed. */
    int (*start)(struct backend_run *run);
    bool (*step)(struct backend_run *run, bool wait); /* true: it is over */
    void (*kill)(struct backend_run *run);
    void (*finish)(struct backend_run *run); /* after the end, or a failed start */

    /* Both only while it runs; NULL: this backend cannot. */
    void (*usage)(const struct backend_run *run, struct run_usage *out);
    void (*resize)(struct backend_run *run, unsigned rows, unsigned columns); /* of the payload's terminal */

    int (*descriptor)(const struct backend_run *run); /* readable when step() has work; -1: has none */
};

struct backend_run {
    /* set by the front end; borrowed */
    const struct policy *policy;
    struct arena *arena; /* plan and facts live there */
    char *const *command;
    char *const *env;
    struct plan_work work;   /* an open directory as /work; only native can */
    struct plan_guard guard; /* counts in guard mode only */
    bool tty;                /* a terminal for the payload; only native can */
    struct run_wishes wishes;
    struct result *result;
    bool unsafe_known;   /* the caller knows what `none` means: no warning */
    /* test programs: takes facts away; NULL: none */
    int (*tune)(struct host *host, struct cordon_error *err);

    const struct backend *backend;
    const char *path; /* the caller's PATH: its environment may be wiped when it is asked for */
    struct host host;
    struct plan plan;
    void *state; /* owned by the backend, from start() to finish() */
    int lost_output; /* after finish(): why output could not be passed on, as an errno; 0: all was */
};

/*
 * Chooses by the policy and makes the plan. On failure `result` says why, and the ledger tells of
 * each capability; there is nothing to finish.
 */
int backend_plan(struct backend_run *run);

/* For who wants to see the plan and run nothing. */
void backend_rehearse(struct backend_run *run);

/* The run by whoever was chosen. */
int backend_start(struct backend_run *run);
bool backend_step(struct backend_run *run, bool wait);
void backend_kill(struct backend_run *run);
void backend_finish(struct backend_run *run);
int backend_descriptor(const struct backend_run *run);
bool backend_usage(const struct backend_run *run, struct run_usage *out); /* false: it cannot be known */
void backend_resize(struct backend_run *run, unsigned rows, unsigned columns);

/*
 * CORDON_REQUIRE_ISOLATION is there, and neither empty nor 0: in this process's own environment or
 * in `env`, which somebody may offer to the payload instead. It may only tighten.
 */
bool backend_isolation_required(char *const *env);

/* For the backends themselves: the plan by this one, and what the result says of who runs it. */
int backend_compile(struct backend_run *run, enum policy_backend by);

extern const struct backend backend_native, backend_bwrap, backend_posix, backend_none;
