/* A command in a sandbox, with a thread that moves it along and passes its output on. */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "side.h"

#define RETRY_MS 10 /* JavaScript did not keep up with the output */
#define LOOK_MS 10  /* the sandbox has no descriptor that would tell when to look */

struct run {
    struct side side;
    char **command, **environment; /* owned */
    struct text policy, input, trace_id;
    double timeout_ms; /* 0: the policy's */
    size_t told[2]; /* bytes of each stream that have been passed on */
};

struct report {
    const char *what;
    struct text data; /* owned */
    struct cordon_error *error; /* owned */
};

static void free_report(struct report *r)
{
    free(r->data.data);
    free(r->error);
    free(r);
}

/* False: it could not be delivered now. */
static bool report(struct run *run, const char *what, const char *data, size_t len,
                   enum side_wait wait)
{
    struct report *r = calloc(1, sizeof *r);
    if (r == NULL)
        return false;
    *r = (struct report){.what = what, .data = {.data = malloc(len + 1), .len = len}};
    if (r->data.data != NULL) {
        memcpy(r->data.data, data, len);
        r->data.data[len] = '\0';
        if (side_report(&run->side, r, wait))
            return true;
    }
    free_report(r);
    return false;
}

static void report_error(struct run *run, const char *what, const struct cordon_error *err)
{
    struct report *r = calloc(1, sizeof *r);
    if (r == NULL)
        return;
    *r = (struct report){.what = what, .error = malloc(sizeof *err)};
    if (r->error != NULL)
        *r->error = *err;
    if (!side_report(&run->side, r, SIDE_WAIT))
        free_report(r);
}

static bool pass_on(struct run *run, int stream, const char *data, size_t len,
                    enum side_wait wait)
{
    size_t *told = &run->told[stream];
    if (len <= *told)
        return true;
    if (!report(run, stream == 0 ? "stdout" : "stderr", data + *told, len - *told, wait))
        return false;
    *told = len;
    return true;
}

/* Output stays captured, so what JavaScript has no room for now is told later. */
static bool pass_output(struct run *run, const struct cordon_sandbox *sandbox)
{
    size_t len = 0;
    const char *out = cordon_sandbox_stdout(sandbox, &len);
    bool done = pass_on(run, 0, out, len, SIDE_TRY);
    const char *err = cordon_sandbox_stderr(sandbox, &len);
    return pass_on(run, 1, err, len, SIDE_TRY) && done;
}

static void finish(struct run *run, struct cordon_result *result)
{
    size_t len = 0;
    const char *out = cordon_result_stdout(result, &len);
    pass_on(run, 0, out, len, SIDE_WAIT);
    const char *err = cordon_result_stderr(result, &len);
    pass_on(run, 1, err, len, SIDE_WAIT);
    if (cordon_result_error(result) != NULL) /* with a remedy, which the document does not have */
        report_error(run, "refused", cordon_result_error(result));
    const char *json = cordon_result_json(result);
    if (json == NULL || !report(run, "result", json, strlen(json), SIDE_WAIT))
        report_error(run, "error", &(struct cordon_error){.kind = CORDON_ERROR_SETUP, .errnum = ENOMEM,
                                                          .what = "write the result"});
    cordon_result_free(result);
}

void run_pause(const struct side *side, struct cordon_sandbox *sandbox, int timeout_ms)
{
    uint64_t asked = 0;
    struct pollfd fds[2] = {{.fd = cordon_sandbox_fd(sandbox), .events = POLLIN},
                            {.fd = side->wake_fd, .events = POLLIN}};
    poll(fds, 2, fds[0].fd < 0 && timeout_ms < 0 ? LOOK_MS : timeout_ms);
    if (read(side->wake_fd, &asked, sizeof asked) > 0)
        cordon_sandbox_kill(sandbox);
}

static void follow(struct run *run, struct cordon_sandbox *sandbox)
{
    while (!cordon_sandbox_step(sandbox)) {
        const bool told = pass_output(run, sandbox);
        run_pause(&run->side, sandbox, told ? -1 : RETRY_MS);
    }
    finish(run, cordon_sandbox_wait(sandbox));
}

struct cordon_policy *run_policy(const struct text *text, struct cordon_error *err)
{
    if (text->data != NULL && text->data[0] == '{')
        return cordon_policy_parse(text->data, text->len, err);
    return cordon_policy_new(text->data != NULL ? text->data : "stage", err);
}

static int limit_time(struct cordon_policy *policy, double ms, struct cordon_error *err)
{
    return ms > 0 ? cordon_policy_set_limit(policy, "wall_ms", (uint64_t)ms, err) : 0;
}

static void run_work(struct side *side)
{
    struct run *run = (struct run *)side;
    struct cordon_error err = {0};
    const struct cordon_run_options options = {.size = sizeof options,
                                               .input = run->input.data,
                                               .input_len = run->input.len,
                                               .env = run->environment,
                                               .trace_id = run->trace_id.data};
    struct cordon_policy *policy = run_policy(&run->policy, &err);
    struct cordon_sandbox *sandbox = NULL;
    if (policy != NULL && limit_time(policy, run->timeout_ms, &err) == 0)
        sandbox = cordon_start(policy, run->command, &options, &err);
    cordon_policy_free(policy);
    if (sandbox != NULL)
        follow(run, sandbox);
    else
        report_error(run, "error", &err);
}

static void run_deliver(napi_env env, napi_value listener, void *data)
{
    struct report *r = data;
    if (env != NULL) {
        napi_value v[2] = {make_string(env, r->what)};
        if (r->error != NULL)
            v[1] = error_value(env, r->error);
        else if (strcmp(r->what, "result") == 0)
            v[1] = make_text(env, r->data.data, r->data.len);
        else
            v[1] = make_buffer(env, r->data.data, r->data.len);
        side_tell(env, listener, 2, v);
    }
    free_report(r);
}

static void run_release(struct side *side)
{
    struct run *run = (struct run *)side;
    value_list_free(run->command);
    value_list_free(run->environment);
    free(run->policy.data);
    free(run->input.data);
    free(run->trace_id.data);
    free(run);
}

napi_value node_run(napi_env env, napi_callback_info info)
{
    static const struct side_kind kind = {run_work, side_wake, run_deliver, run_release};
    size_t argc = 7;
    napi_value argv[7];
    size_t count = 0;
    bool has_environment = false;
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    napi_is_array(env, argv[3], &has_environment);
    run->timeout_ms = value_number(env, argv[5]);
    if (!value_list(env, argv[0], &run->command, &count) ||
        !value_text(env, argv[1], &run->policy) || !value_bytes(env, argv[2], &run->input) ||
        (has_environment && !value_list(env, argv[3], &run->environment, &count)) ||
        !value_text(env, argv[4], &run->trace_id)) {
        run_release(&run->side);
        return NULL;
    }
    return side_start(env, &run->side, &kind, argv[6], false);
}
