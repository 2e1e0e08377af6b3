/* Watches, and what others change in files that are being edited: one thread each. */
#include "watch.h"

#include <stdlib.h>

#include "call.h"
#include "side.h"

#define SYNC_LOOK_MS 200 /* how long a stop may take */

struct watch {
    struct side side;
    struct root *root; /* held */
    struct text path;
    struct cordon_root_watch_options options;
    _Atomic(struct cordon_root_watch *) watch; /* owned */
};

/* One of: the watch is armed, an event, a failure, the end. */
struct watch_report {
    const char *what;
    struct cordon_root_event event;
    struct failure *failure;
};

static bool report(struct watch *w, const struct watch_report *content)
{
    struct watch_report *r = malloc(sizeof *r);
    if (r != NULL) {
        *r = *content;
        if (side_report(&w->side, r, SIDE_WAIT))
            return true;
    }
    cordon_root_event_free(&((struct watch_report *)(uintptr_t)content)->event);
    free(content->failure);
    free(r);
    return false;
}

static void follow(struct watch *w, struct cordon_root_watch *watch)
{
    bool listening = report(w, &(struct watch_report){.what = "open"});
    while (listening && !cordon_root_watch_done(watch)) {
        struct cordon_root_error err;
        struct watch_report r = {.what = "event"};
        int rc = cordon_root_watch_next(watch, -1, &r.event, &err);
        if (rc < 0) {
            report(w, &(struct watch_report){.what = "error", .failure = failure_keep(&err)});
            return;
        }
        if (rc == 1)
            listening = report(w, &r);
    }
    if (listening)
        report(w, &(struct watch_report){.what = "end"});
}

static void watch_work(struct side *side)
{
    struct watch *w = (struct watch *)side;
    struct cordon_root_error err;
    struct cordon_root_watch *watch = NULL;
    if (cordon_root_watch_open(w->root->root, w->path.data, &w->options, &watch, &err) < 0) {
        report(w, &(struct watch_report){.what = "error", .failure = failure_keep(&err)});
        return;
    }
    atomic_store(&w->watch, watch);
    if (atomic_load(&side->stopping)) /* stop() may have come before there was a watch */
        cordon_root_watch_end(watch);
    follow(w, watch);
}

static void watch_stop(struct side *side)
{
    struct cordon_root_watch *watch = atomic_load(&((struct watch *)side)->watch);
    if (watch != NULL)
        cordon_root_watch_end(watch);
}

static void watch_deliver(napi_env env, napi_value listener, void *data)
{
    struct watch_report *r = data;
    const struct cordon_root_event *e = &r->event;
    if (env != NULL) {
        napi_value v[6] = {make_string(env, r->what)};
        if (e->event != NULL) {
            v[1] = make_string(env, e->event);
            v[2] = make_string(env, e->name);
            v[3] = e->has_stat ? method_stat_value(env, &e->stat) : NULL;
            v[4] = e->patch.data != NULL ? make_string(env, e->patch.data) : NULL;
            napi_create_double(env, (double)e->patch_seq, &v[5]);
        } else if (r->failure != NULL) {
            v[1] = failure_value(env, r->failure);
        }
        side_tell(env, listener, 6, v);
    }
    cordon_root_event_free(&r->event);
    free(r->failure);
    free(r);
}

static void watch_release(struct side *side)
{
    struct watch *w = (struct watch *)side;
    cordon_root_watch_close(atomic_load(&w->watch));
    root_drop(w->root);
    free(w->path.data);
    free(w);
}

enum { WATCH_THROW = 1, WATCH_CLOSE_ON_UNLINK = 2, WATCH_STATS = 4, WATCH_PATCH = 8 };

napi_value node_watch(napi_env env, napi_callback_info info)
{
    static const struct side_kind kind = {watch_work, watch_stop, watch_deliver, watch_release};
    size_t argc = 6;
    napi_value argv[6];
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct root *root = root_of(env, argv[0]);
    struct watch *w = root != NULL ? calloc(1, sizeof *w) : NULL;
    if (w == NULL)
        return NULL;
    w->root = root_hold(root);
    const unsigned flags = (unsigned)value_number(env, argv[2]);
    w->options = (struct cordon_root_watch_options){
        .size = sizeof w->options,
        .max_queue = (uint32_t)number_whole(value_number(env, argv[3]), UINT32_MAX),
        .throw_on_overflow = (flags & WATCH_THROW) != 0,
        .close_on_unlink = (flags & WATCH_CLOSE_ON_UNLINK) != 0,
        .stats = (flags & WATCH_STATS) != 0,
        .patch = (flags & WATCH_PATCH) != 0,
        .stability_ms = (uint32_t)number_whole(value_number(env, argv[4]), UINT32_MAX),
    };
    if (!value_text(env, argv[1], &w->path)) {
        watch_release(&w->side);
        return NULL;
    }
    return side_start(env, &w->side, &kind, argv[5], false);
}

/* ---- heartbeats ---- */

struct sync {
    struct side side;
    struct root *root; /* held */
};

static void sync_work(struct side *side)
{
    const struct sync *s = (struct sync *)side;
    while (!atomic_load(&side->stopping)) {
        struct cordon_root_sync_event *e = malloc(sizeof *e);
        if (e == NULL)
            return;
        if (cordon_root_sync_next(s->root->root, SYNC_LOOK_MS, e, NULL) != 1) {
            free(e);
        } else if (!side_report(side, e, SIDE_WAIT)) {
            cordon_root_sync_event_free(e);
            free(e);
            return;
        }
    }
}

static void sync_stop(struct side *side)
{
    (void)side; /* it looks at `stopping` by itself */
}

static napi_value data_value(napi_env env, const struct cordon_root_data *data)
{
    napi_value value = NULL;
    if (data->data != NULL)
        napi_create_string_utf8(env, data->data, data->len, &value);
    return value;
}

static void sync_deliver(napi_env env, napi_value listener, void *data)
{
    struct cordon_root_sync_event *e = data;
    if (env != NULL) {
        napi_value v[5] = {e->path != NULL ? make_string(env, e->path) : NULL,
                           make_string(env, e->type), data_value(env, &e->content),
                           data_value(env, &e->patch), make_string(env, e->sha256)};
        side_tell(env, listener, 5, v);
    }
    cordon_root_sync_event_free(e);
    free(e);
}

static void sync_release(struct side *side)
{
    struct sync *s = (struct sync *)side;
    root_drop(s->root);
    free(s);
}

napi_value node_sync(napi_env env, napi_callback_info info)
{
    static const struct side_kind kind = {sync_work, sync_stop, sync_deliver, sync_release};
    size_t argc = 2;
    napi_value argv[2];
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct root *root = root_of(env, argv[0]);
    struct sync *s = root != NULL ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return NULL;
    s->root = root_hold(root);
    return side_start(env, &s->side, &kind, argv[1], true);
}
