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
#include "supervisor/spawn.h"
#include "supervisor/stream.h"

struct supervisor_options {
    int input;          /* borrowed; pumped into standard input; -1: the payload gets /dev/null */
    int output[2];      /* borrowed; where standard output and error pass on to; -1: nowhere */
    bool capture;       /* keep both streams in the result, up to the cap */
    void (*before_output)(void *user); /* called before something is passed on; NULL: nobody minds */
    void *user;
    bool ledger;        /* the result is to hold the ledger: somebody will read it */
    /* Each distinct violation when it happens, from step(); NULL: nobody wants to know so soon. */
    void (*on_violation)(void *context, const struct result_violation *violation);
    void *on_violation_context;
    int signals;        /* borrowed; a signalfd with what the caller wants passed on; -1: none */
    bool death_signal, quick_end; /* see struct spawn */
    char *arguments;    /* the caller's own argument block, to be wiped in init; NULL: none */
    size_t arguments_size;
};

struct supervisor {
    const struct plan *plan; /* borrowed, like all below that is not marked */
    const struct host *host;
    struct supervisor_options options;
    struct result *result;
    struct spawn spawn;
    struct layer_cgroup cgroup; /* owned */
    struct layer_trees trees;   /* owned */
    struct layer_workdir workdir; /* owned */
    struct layer_hide hide;     /* in the plan's arena */
    struct listener listener;     /* owned */
    struct stream streams[2];   /* owned */
    int epoll, timer;           /* owned */
    int terminal;               /* owned; over which init sends the master of the terminal; -1: none, or it came */
    int nudge[2];               /* owned; see nudge_collector() */
    struct {
        int from;  /* borrowed */
        int to;    /* owned; -1: closed */
        bool from_armed, to_armed;
        bool file; /* cannot be polled, is always ready */
        char *pending; /* owned */
        size_t start, end;
    } input;
    unsigned cores;
    uint64_t started_us, deadline_us, kill_us, tick_us, listen_us; /* 0: not set */
    bool timed_out, killed, init_gone, cpu_hit, oom;
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
void supervisor_find_arguments(struct supervisor_options *options);

/* On failure the result says why, and nothing is left. */
int supervisor_start(struct supervisor *s, const struct plan *plan, const struct host *host,
                     const struct supervisor_options *options, struct result *result);

/* Handles what is ready; true when the run is over. `wait`: sleeps until something is. */
bool supervisor_step(struct supervisor *s, bool wait);

/*
 * After a failed start, or when step() says that the run is over: true if this host refused
 * namespaces, or a procfs of their own, before anything of the payload's ran, and a run by another
 * plan is under way. `plan` and `host` are those of the first and are written anew.
 */
bool supervisor_fall_back(struct supervisor *s, struct plan *plan, struct host *host);

/* The same streams and clock, and the plan as it is now. On failure the result says why. */
int supervisor_again(struct supervisor *s);

/* With a terminal: it now has this size. */
void supervisor_resize(struct supervisor *s, const struct winsize *size);

/* What it uses at this moment. */
struct supervisor_usage {
    uint64_t elapsed_us, cpu_us;
    uint64_t memory_bytes; /* resident, and not shared with files */
};
void supervisor_usage(const struct supervisor *s, struct supervisor_usage *out);

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
