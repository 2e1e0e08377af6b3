/* What takes long and gives one answer: the doctor, which cannot be stopped, tools, calls of modules. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "side.h"

struct answer {
    struct failure *failure;     /* owned, of a root */
    char *json;                  /* owned */
    struct cordon_error *error;  /* owned; with `json`: why nothing ran */
    bool has_tool;
    struct cordon_root_tool_result tool; /* owned */
};

static void free_answer(struct answer *a)
{
    free(a->failure);
    free(a->error);
    free(a->json);
    if (a->has_tool)
        cordon_root_tool_result_free(&a->tool);
    free(a);
}

static napi_value tool_value(napi_env env, const struct cordon_root_tool_result *tool)
{
    napi_value array = NULL;
    napi_value v[4] = {make_buffer(env, tool->out.data, tool->out.len),
                       make_buffer(env, tool->err.data, tool->err.len)};
    napi_create_int32(env, tool->code, &v[2]);
    napi_get_boolean(env, tool->truncated, &v[3]);
    if (napi_create_array(env, &array) != napi_ok)
        return NULL;
    for (uint32_t i = 0; i < 4; i++) {
        if (v[i] != NULL)
            napi_set_element(env, array, i, v[i]);
    }
    return array;
}

static void deliver(napi_env env, napi_value listener, void *data)
{
    struct answer *a = data;
    if (env != NULL) {
        napi_value v[3] = {NULL, NULL, NULL};
        const bool good = a->has_tool || a->json != NULL;
        if (a->has_tool)
            v[1] = tool_value(env, &a->tool);
        else if (a->json != NULL)
            v[1] = make_text(env, a->json, strlen(a->json));
        if (a->error != NULL)
            v[good ? 2 : 0] = error_value(env, a->error);
        else if (!good)
            v[0] = failure_value(env, a->failure);
        side_tell(env, listener, 3, v);
    }
    free_answer(a);
}

static void keep_error(struct answer *a, const struct cordon_error *err)
{
    a->error = malloc(sizeof *err);
    if (a->error != NULL)
        *a->error = *err;
}

static void answer(struct side *side, struct answer *a)
{
    if (!side_report(side, a, SIDE_WAIT))
        free_answer(a);
}

/* ---- the doctor ---- */

struct doctor {
    struct side side;
    struct text profile;
};

static void doctor_work(struct side *side)
{
    const struct doctor *d = (struct doctor *)side;
    struct answer *a = calloc(1, sizeof *a);
    if (a == NULL)
        return;
    struct cordon_error err = {0};
    a->json = cordon_doctor_json(d->profile.data, &err);
    if (a->json == NULL)
        keep_error(a, &err);
    answer(side, a);
}

static void doctor_release(struct side *side)
{
    struct doctor *d = (struct doctor *)side;
    free(d->profile.data);
    free(d);
}

napi_value node_doctor(napi_env env, napi_callback_info info)
{
    static const struct side_kind kind = {doctor_work, NULL, deliver, doctor_release};
    size_t argc = 2;
    napi_value argv[2];
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct doctor *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    if (!value_text(env, argv[0], &d->profile)) {
        doctor_release(&d->side);
        return NULL;
    }
    return side_start(env, &d->side, &kind, argv[1], false);
}

/* ---- tools ---- */

struct tool {
    struct side side;
    struct root *root; /* held */
    struct text name, cwd;
    char **args, **options;
    size_t arg_count, option_count;
    double timeout_ms, max_output;
};

static void tool_work(struct side *side)
{
    struct tool *t = (struct tool *)side;
    struct answer *a = calloc(1, sizeof *a);
    if (a == NULL)
        return;
    struct cordon_root_error err;
    const struct cordon_root_tool_options options = {
        .size = sizeof options,
        .options = (const char *const *)t->options,
        .option_count = t->option_count,
        .timeout_ms = t->timeout_ms,
        .max_output = number_whole(t->max_output, NUMBER_MAX),
        .cwd = t->cwd.data,
        .stop_fd = side->wake_fd,
    };
    int rc = cordon_root_tool(t->root->root, t->name.data, (const char *const *)t->args,
                              t->arg_count, &options, &a->tool, &err);
    a->has_tool = rc == 0;
    if (rc < 0)
        a->failure = failure_keep(&err);
    answer(side, a);
}

static void tool_release(struct side *side)
{
    struct tool *t = (struct tool *)side;
    root_drop(t->root);
    free(t->name.data);
    free(t->cwd.data);
    value_list_free(t->args);
    value_list_free(t->options);
    free(t);
}

napi_value node_tool(napi_env env, napi_callback_info info)
{
    static const struct side_kind kind = {tool_work, side_wake, deliver, tool_release};
    size_t argc = 8;
    napi_value argv[8];
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct root *root = root_of(env, argv[0]);
    struct tool *t = root != NULL ? calloc(1, sizeof *t) : NULL;
    if (t == NULL)
        return NULL;
    t->root = root_hold(root);
    t->timeout_ms = value_number(env, argv[4]);
    t->max_output = value_number(env, argv[5]);
    if (!value_text(env, argv[1], &t->name) ||
        !value_list(env, argv[2], &t->args, &t->arg_count) ||
        !value_list(env, argv[3], &t->options, &t->option_count) ||
        !value_text(env, argv[6], &t->cwd)) {
        tool_release(&t->side);
        return NULL;
    }
    return side_start(env, &t->side, &kind, argv[7], false);
}

/* ---- modules ---- */

struct module_call {
    struct side side;
    struct text id, input, extensions, policy, within, trace_id, runner;
    char **environment; /* owned */
    double timeout_ms;
};

static struct cordon_policy *optional_policy(const struct text *text, struct cordon_error *err)
{
    return text->data != NULL ? run_policy(text, err) : NULL;
}

static struct cordon_result *wait_for(const struct side *side, struct cordon_sandbox *sandbox)
{
    while (!cordon_sandbox_step(sandbox))
        run_pause(side, sandbox, -1);
    return cordon_sandbox_wait(sandbox);
}

static void call_module(const struct module_call *m, struct answer *a)
{
    struct cordon_error err = {0};
    struct cordon_policy *policy = optional_policy(&m->policy, &err);
    struct cordon_policy *within = optional_policy(&m->within, &err);
    const struct cordon_call_options options = {
        .size = sizeof options,
        .extensions = m->extensions.data,
        .policy = policy,
        .within = within,
        .timeout_ms = number_whole(m->timeout_ms, NUMBER_MAX),
        .env = m->environment,
        .trace_id = m->trace_id.data,
        .runner = m->runner.data,
    };
    struct cordon_sandbox *sandbox = NULL;
    if (err.kind == CORDON_ERROR_NONE)
        sandbox = cordon_call_start(m->id.data, m->input.data, m->input.len, &options, &err);
    cordon_policy_free(policy);
    cordon_policy_free(within);
    struct cordon_result *result = sandbox != NULL ? wait_for(&m->side, sandbox) : NULL;
    const char *json = result != NULL ? cordon_result_json(result) : NULL;
    a->json = json != NULL ? strdup(json) : NULL;
    const struct cordon_error *refused = result != NULL ? cordon_result_error(result) : NULL;
    if (a->json == NULL || refused != NULL)
        keep_error(a, refused != NULL ? refused : &err);
    cordon_result_free(result);
}

static void module_work(struct side *side)
{
    struct answer *a = calloc(1, sizeof *a);
    if (a == NULL)
        return;
    call_module((const struct module_call *)side, a);
    answer(side, a);
}

static void module_release(struct side *side)
{
    struct module_call *m = (struct module_call *)side;
    struct text *const all[] = {&m->id,     &m->input,    &m->extensions, &m->policy,
                                &m->within, &m->trace_id, &m->runner};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->data);
    value_list_free(m->environment);
    free(m);
}

static bool read_module(napi_env env, napi_value *argv, struct module_call *m)
{
    napi_value o = argv[2];
    napi_value environment = value_named(env, o, "environment");
    size_t count = 0;
    bool has_environment = false;
    napi_is_array(env, environment, &has_environment);
    m->timeout_ms = value_number(env, value_named(env, o, "timeoutMs"));
    return value_text(env, argv[0], &m->id) && value_bytes(env, argv[1], &m->input) &&
           value_text(env, value_named(env, o, "extensions"), &m->extensions) &&
           value_text(env, value_named(env, o, "policy"), &m->policy) &&
           value_text(env, value_named(env, o, "within"), &m->within) &&
           value_text(env, value_named(env, o, "traceId"), &m->trace_id) &&
           value_text(env, value_named(env, o, "runner"), &m->runner) &&
           (!has_environment || value_list(env, environment, &m->environment, &count));
}

napi_value node_call(napi_env env, napi_callback_info info)
{
    static const struct side_kind kind = {module_work, side_wake, deliver, module_release};
    size_t argc = 4;
    napi_value argv[4];
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct module_call *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    if (!read_module(env, argv, m)) {
        module_release(&m->side);
        return NULL;
    }
    return side_start(env, &m->side, &kind, argv[3], false);
}
