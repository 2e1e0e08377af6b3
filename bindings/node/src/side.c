#include "side.h"

#include <signal.h>
#include <stdlib.h>

#define REPORTS_WAITING 64
#define STACK_BYTES ((size_t)1024 * 1024)

/* The environment's end of a side; only its thread looks here. */
struct handle {
    struct side *side; /* NULL: it is gone, or left alone */
    bool joined;
    int users; /* the value in JavaScript, and the reports */
};

static void handle_drop(struct handle *h)
{
    if (--h->users == 0)
        free(h);
}

static void *run(void *data)
{
    struct side *s = data;
    s->kind->work(s);
    pthread_mutex_lock(&s->lock);
    const bool abandoned = s->abandoned;
    if (!abandoned)
        napi_release_threadsafe_function(s->reports, napi_tsfn_release);
    pthread_mutex_unlock(&s->lock);
    if (abandoned)
        s->kind->release(s);
    return NULL;
}

static void ask_to_stop(struct side *s)
{
    if (!atomic_exchange(&s->stopping, true) && s->kind->stop != NULL)
        s->kind->stop(s);
}

/* The environment ends, and the reports with it. */
static void leave(void *data)
{
    struct handle *h = data;
    struct side *s = h->side;
    if (s->kind->stop != NULL) {
        /* Reports are cut off first: the thread may be waiting to deliver one. */
        napi_release_threadsafe_function(s->reports, napi_tsfn_abort);
        ask_to_stop(s);
        pthread_join(s->thread, NULL);
        h->joined = true;
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->abandoned = true;
    napi_release_threadsafe_function(s->reports, napi_tsfn_abort);
    pthread_detach(s->thread);
    h->side = NULL; /* the thread's alone from now on */
    pthread_mutex_unlock(&s->lock);
}

static void finalize_reports(napi_env env, void *data, void *hint)
{
    (void)hint;
    struct handle *h = data;
    struct side *s = h->side;
    if (s != NULL && !h->joined) {
        napi_remove_env_cleanup_hook(env, leave, h);
        pthread_join(s->thread, NULL);
    }
    h->side = NULL;
    if (s != NULL)
        s->kind->release(s);
    handle_drop(h);
}

static void finalize_value(napi_env env, void *data, void *hint)
{
    (void)env, (void)hint;
    handle_drop(data);
}

static void deliver(napi_env env, napi_value listener, void *context, void *report)
{
    const struct side_kind *kind = context;
    kind->deliver(env, listener, report);
}

static int spawn(struct side *s)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int rc = pthread_attr_init(&attributes);
    if (rc != 0)
        return rc;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all); /* signals are for the threads of the engine */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&s->thread, &attributes, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return rc;
}

napi_value side_start(napi_env env, struct side *s, const struct side_kind *kind,
                      napi_value listener, bool background)
{
    napi_value value = NULL;
    struct handle *h = calloc(1, sizeof *h);
    s->kind = kind;
    pthread_mutex_init(&s->lock, NULL);
    if (h == NULL ||
        napi_create_threadsafe_function(env, listener, NULL, make_string(env, "cordon"),
                                        REPORTS_WAITING, 1, h, finalize_reports,
                                        (void *)(uintptr_t)kind, deliver, &s->reports) != napi_ok) {
        napi_throw_error(env, "ENOMEM", "cannot make a thread");
        kind->release(s);
        free(h);
        return NULL;
    }
    *h = (struct handle){.side = s, .users = 1};
    if (napi_create_external(env, h, finalize_value, NULL, &value) == napi_ok)
        h->users++;
    if (background)
        napi_unref_threadsafe_function(env, s->reports);
    if (spawn(s) != 0) {
        h->joined = true; /* there is nobody to join; what is left goes with the reports */
        napi_release_threadsafe_function(s->reports, napi_tsfn_abort);
        napi_throw_error(env, "EAGAIN", "cannot make a thread");
        return NULL;
    }
    /* After the one of the reports, hence called before it. */
    napi_add_env_cleanup_hook(env, leave, h);
    return value;
}

bool side_report(struct side *s, void *report, enum side_wait wait)
{
    const napi_threadsafe_function_call_mode mode =
        wait == SIDE_WAIT ? napi_tsfn_blocking : napi_tsfn_nonblocking;
    if (s->kind->stop != NULL)
        return napi_call_threadsafe_function(s->reports, report, mode) == napi_ok;
    pthread_mutex_lock(&s->lock);
    const bool taken = !s->abandoned &&
                       napi_call_threadsafe_function(s->reports, report, mode) == napi_ok;
    pthread_mutex_unlock(&s->lock);
    return taken;
}

napi_value node_stop(napi_env env, napi_callback_info info)
{
    size_t argc = 1;
    napi_value value = NULL;
    void *data = NULL;
    napi_get_cb_info(env, info, &argc, &value, NULL, NULL);
    if (napi_get_value_external(env, value, &data) == napi_ok) {
        const struct handle *h = data;
        if (h->side != NULL)
            ask_to_stop(h->side);
    }
    return NULL;
}

void side_tell(napi_env env, napi_value listener, size_t count, napi_value *values)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] == NULL)
            values[i] = make_undefined(env);
    }
    napi_call_function(env, make_undefined(env), listener, count, values, NULL);
}
