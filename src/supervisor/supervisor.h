/*
 * The supervisor: starts the sandbox, moves its streams, keeps its limits, and writes down how it
 * ended. One epoll descriptor shows when there is something to do, so it fits into any event loop;
 * it installs no handler, needs no signal, and has no state but its own object.
 */
#pragma once

#include "layer/cgroup.h"
#include "layer/hide.h"
#include "layer/trees.h"
#include "layer/workdir.h"
#include "listener/listener.h"
#include "plan/plan.h"
#include "result/result.h"
#include "result/wishes.h"
#include "supervisor/planted.h"
#include "supervisor/spawn.h"
#include "supervisor/stream.h"

struct supervisor {
    const struct plan *plan; /* borrowed, like all below that is not marked */
    struct run_wishes wishes;
    struct result *result;
    struct spawn spawn;
    struct layer_cgroup cgroup; /* owned */
    struct layer_trees trees;   /* owned */
    struct layer_workdir workdir; /* owned */
    struct layer_hide hide;     /* in the plan's arena */
    struct planted planted;     /* in the plan's arena */
    struct layer_bwrap bwrap;   /* owned */
    struct listener listener;     /* owned */
    struct stream streams[2];   /* owned */
    int epoll, timer;           /* owned */
    int terminal;               /* owned; over which init sends the master of the terminal; -1: none, or it came */
    int nudge[2];               /* owned; see nudge_collector() */
    struct {
        int from;  /* borrowed */
        int own;   /* owned; the same, opened again, so that to read it is never to wait; -1: not yet, or it cannot be */
        int to;    /* owned; -1: closed */
        bool from_armed, to_armed;
        bool file; /* cannot be polled, is always ready */
        char *pending; /* owned */
        size_t start, end;
    } input;
    uint64_t ended_us; /* init was reaped */
    uint64_t started_us, deadline_us, kill_us, tick_us, listen_us, end_us, front_us; /* 0: not set */
    bool timed_out, killed, init_gone, cpu_hit, oom;
    int init_signal; /* that ended init; 0: none */
    bool listener_lost; /* it ended, or got stuck, before those that it listens to */
    bool impatient; /* output that nobody takes now is dropped */
    int overflow; /* 1 + index of the stream that ran over; 0: none */
    uint64_t cpu_us;
    uint64_t max_rss_bytes;
};

/*
 * Fills in where the kernel keeps the words that this process was started with, environment
 * included: init is a copy of this process and wipes its own.
 */
void supervisor_find_arguments(struct run_wishes *wishes);

/* On failure the result says why, and nothing runs; finish() gives back the rest. */
int supervisor_start(struct supervisor *s, const struct plan *plan, const struct run_wishes *wishes,
                     struct result *result);

/* Handles what is ready; true when the run is over. `wait`: sleeps until something is. */
bool supervisor_step(struct supervisor *s, bool wait);

/*
 * After a failed start, or when step() says that the run is over: why the set-up ended before
 * anything of the payload's ran; NULL: it got further, or somebody wanted the end.
 */
const struct cordon_error *supervisor_failure(const struct supervisor *s);

/* Forgets that failure: another plan is tried, or its own failure counts. */
void supervisor_forget(struct supervisor *s);

/* The same streams and clock, and the plan as it is now. On failure the result says why. */
int supervisor_again(struct supervisor *s);

/* With a terminal: it now has this size. */
void supervisor_resize(struct supervisor *s, unsigned rows, unsigned columns);

/* What it uses at this moment. */
void supervisor_usage(const struct supervisor *s, struct run_usage *out);

/* Ends everything inside at once; step() then comes to its end. */
void supervisor_kill(struct supervisor *s);

/* After the end: why output could not be passed on, as an errno; 0 if all was, or nobody read. */
int supervisor_lost_output(const struct supervisor *s);

/*
 * After the end (or a failed start): the verdict is in the result, and nothing of the run is left
 * on the host. Memory and descriptors are still held.
 */
void supervisor_conclude(struct supervisor *s);

/* Concludes and gives back everything, for a process that goes on. */
void supervisor_finish(struct supervisor *s);
