/*
 * A thread of its own that reports to JavaScript: for what waits (a watch, a run, a tool) and would
 * starve the worker pool. Reports are delivered in order, on the thread of the environment.
 *
 * Lifecycle  side_start() and stop() on the environment's thread, work() in the new one; release()
 *            last, when nobody else uses the side any more. An environment that ends stops the
 *            thread and waits for it; a thread that cannot be stopped is left alone instead, and
 *            its report goes nowhere.
 */
#pragma once

#include <pthread.h>

#include "root.h"

struct side;

struct side_kind {
    void (*work)(struct side *side);
    void (*stop)(struct side *side); /* make work() return soon; NULL: cannot be */
    /* Calls `listener` with what `report` is about; frees the report. env NULL: only frees. */
    void (*deliver)(napi_env env, napi_value listener, void *report);
    void (*release)(struct side *side); /* frees it */
};

/* The first member of what a kind works with. */
struct side {
    const struct side_kind *kind;
    napi_threadsafe_function reports;
    pthread_t thread;
    pthread_mutex_t lock; /* of `abandoned`, and of `reports` where nothing can be stopped */
    bool abandoned;
    atomic_bool stopping;
};

/* `listener` is a function. `background`: does not keep the process alive. On failure an exception
 * is pending and `side` was released. The value is for node_stop(). */
napi_value side_start(napi_env env, struct side *side, const struct side_kind *kind,
                      napi_value listener, bool background);

enum side_wait { SIDE_WAIT, SIDE_TRY };

/* From work(). SIDE_WAIT: waits for JavaScript if it does not keep up. False: it was not taken; it
 * is the caller's still, and with SIDE_WAIT nobody listens any more. */
bool side_report(struct side *side, void *report, enum side_wait wait);

/* (handle): asks a thread to end. */
napi_value node_stop(napi_env env, napi_callback_info info);

/* Calls a listener; a value that is NULL is undefined. */
void side_tell(napi_env env, napi_value listener, size_t count, napi_value *values);
