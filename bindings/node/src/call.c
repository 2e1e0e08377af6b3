#include "call.h"

#include <errno.h>
#include <stdlib.h>

#define ARGUMENTS_MAX 6

static void free_call(struct call *c)
{
    for (size_t i = 0; i < c->text_count; i++)
        free(c->text[i].data);
    value_list_free(c->list);
    free(c->failure);
    root_drop(c->root);
    free(c);
}

static bool read_argument(napi_env env, struct call *c, char kind, napi_value value)
{
    switch (kind) {
    case 'p':
        return value_text(env, value, &c->text[c->text_count++]);
    case 'b':
        return value_bytes(env, value, &c->text[c->text_count++]);
    case 'l':
        return value_list(env, value, &c->list, &c->list_count);
    default:
        c->number[c->number_count++] = value_number(env, value);
        return true;
    }
}

static void work(napi_env env, void *data)
{
    (void)env;
    struct call *c = data;
    struct cordon_root_error err;
    if (atomic_load_explicit(&c->root->addon->leaving, memory_order_relaxed)) {
        c->rc = -ECANCELED; /* nobody will look at it */
        return;
    }
    c->rc = c->method->work(c, &err);
    if (c->rc < 0)
        c->failure = failure_keep(&err);
}

static void settle(napi_env env, struct call *c)
{
    if (c->rc < 0) {
        napi_value error = failure_value(env, c->failure);
        if (error != NULL)
            napi_reject_deferred(env, c->deferred, error);
        return;
    }
    napi_value value = c->method->value != NULL ? c->method->value(env, c) : make_undefined(env);
    if (value != NULL) {
        napi_resolve_deferred(env, c->deferred, value);
        return;
    }
    /* The engine refused: a text too long, no memory, or a context that ends. */
    bool pending = false;
    napi_value error = NULL;
    napi_is_exception_pending(env, &pending);
    if (pending)
        napi_get_and_clear_last_exception(env, &error);
    else
        napi_create_error(env, make_string(env, "ENOMEM"),
                          make_string(env, "the result is too large for the engine"), &error);
    if (error != NULL)
        napi_reject_deferred(env, c->deferred, error);
}

static void complete(napi_env env, napi_status status, void *data)
{
    struct call *c = data;
    if (status == napi_ok) {
        settle(env, c);
        if (c->rc >= 0 && c->method->release != NULL)
            c->method->release(c);
    }
    napi_delete_async_work(env, c->work);
    free_call(c);
}

static bool queue(napi_env env, struct call *c, napi_value *promise)
{
    napi_value name = make_string(env, "cordon");
    if (napi_create_async_work(env, NULL, name, work, complete, c, &c->work) != napi_ok)
        return false;
    if (napi_create_promise(env, &c->deferred, promise) == napi_ok &&
        napi_queue_async_work(env, c->work) == napi_ok)
        return true;
    napi_delete_async_work(env, c->work);
    return false;
}

static napi_value start(napi_env env, napi_callback_info info)
{
    size_t argc = ARGUMENTS_MAX + 1;
    napi_value argv[ARGUMENTS_MAX + 1];
    void *method = NULL;
    napi_value promise = NULL;
    napi_get_cb_info(env, info, &argc, argv, NULL, &method);
    struct root *root = root_of(env, argv[0]);
    struct call *c = root != NULL ? calloc(1, sizeof *c) : NULL;
    if (c == NULL)
        return NULL;
    c->method = method;
    c->root = root_hold(root);
    bool ok = true;
    for (size_t i = 0; ok && c->method->arguments[i] != '\0'; i++)
        ok = read_argument(env, c, c->method->arguments[i], argv[i + 1]);
    if (!ok || !queue(env, c, &promise)) {
        free_call(c);
        return NULL;
    }
    return promise;
}

bool call_register(napi_env env, napi_value exports)
{
    for (size_t i = 0; i < call_method_count; i++) {
        const struct method *m = &call_methods[i];
        const napi_property_descriptor property = {
            .utf8name = m->name,
            .method = start,
            .attributes = napi_enumerable,
            .data = (void *)(uintptr_t)m, /* never written through */
        };
        if (napi_define_properties(env, exports, 1, &property) != napi_ok)
            return false;
    }
    return true;
}
