#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/handles.h"
#include "base/fd.h"
#include "layer/probe.h"
#include "module/answer.h"
#include "supervisor/verdict.h"
#include "wire/policy_json.h"

extern char **environ;

const char *cordon_version(void)
{
    return CORDON_VERSION;
}

static int no_memory(struct cordon_error *err)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, ENOMEM, "make a sandbox", "");
}

/* Copies the policy by its own document: lists, strings and all. */
static int copy_policy(struct cordon_sandbox *s, const struct cordon_policy *policy, struct cordon_error *err)
{
    struct policy_source source = POLICY_SOURCE_INIT;
    BUF_AUTO text = BUF_INIT(64 * POLICY_MAX_BYTES);
    policy_write_v1(&policy->policy, &text);
    if (text.failed)
        return no_memory(err);
    int r = policy_read(&s->policy, &s->arena, text.data, text.len, &source, err);
    return r < 0 ? r : policy_validate(&s->policy, err);
}

/* Input from memory: a file without a name, so that no thread has to feed a pipe. */
static int open_input(const struct cordon_run_options *options)
{
    if (options == NULL || options->input == NULL)
        return -1;
    return fd_from_memory(options->input, options->input_len);
}

static int start(struct cordon_sandbox *s, const struct cordon_run_options *options)
{
    struct result *result = &s->result->result;
    char *const *env = options != NULL && options->env != NULL ? options->env : environ;
    int r = layer_probe(&s->host, &s->arena, &s->policy, env, &result->error);
    if (r < 0)
        return r;
    const struct plan_request request = {
        .policy = &s->policy, .host = &s->host, .command = s->result->command, .caller_env = env};
    r = plan_compile(&s->plan, &s->arena, &request, &result->error);
    if (r < 0) {
        ledger_fill(&result->ledger, &s->plan, 0, false);
        return r;
    }
    struct supervisor_options so = {
        .input = s->input, .output = {-1, -1}, .capture = true, .ledger = true, .signals = -1};
    supervisor_find_arguments(&so);
    s->started = true;
    r = supervisor_start(&s->supervisor, &s->plan, &s->host, &so, result);
    if (r < 0 && supervisor_fall_back(&s->supervisor, &s->plan, &s->host))
        r = 0;
    s->over = r < 0;
    return r;
}

static void discard(struct cordon_sandbox *s)
{
    if (s == NULL)
        return;
    fd_close(&s->input);
    cordon_result_free(s->result);
    arena_free(&s->arena);
    free(s);
}

struct cordon_sandbox *cordon_start(const struct cordon_policy *policy, char *const argv[],
                                           const struct cordon_run_options *options, struct cordon_error *err)
{
    if (argv == NULL || argv[0] == NULL) {
        err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_PROCESS, EINVAL, "run", "an empty command");
        return NULL;
    }
    struct cordon_sandbox *s = calloc(1, sizeof *s);
    struct cordon_result *result = s == NULL ? NULL : result_make(argv, options == NULL ? NULL : options->trace_id);
    if (result == NULL) {
        no_memory(err);
        free(s);
        return NULL;
    }
    s->arena = ARENA_INIT(POLICY_ARENA_BYTES);
    s->result = result;
    result->result.backend_kind = "native";
    result->result.backend_effective = true;
    s->input = open_input(options);

    int r = s->input < -1 ? no_memory(err) : copy_policy(s, policy, err);
    if (r < 0) {
        discard(s);
        return NULL;
    }
    result->profile = policy_profile_name(s->policy.profile);
    if (policy_sha256(&s->policy, result->policy_sha256) < 0)
        result->policy_sha256[0] = '\0';
    if (start(s, options) < 0)
        s->over = true; /* the result says why */
    return s;
}

int cordon_sandbox_fd(const struct cordon_sandbox *sandbox)
{
    return sandbox->started ? sandbox->supervisor.epoll : -1;
}

/* An end before anything ran may be a refusal that another plan does without. */
static void step(struct cordon_sandbox *s, bool wait)
{
    s->over = supervisor_step(&s->supervisor, wait) && !supervisor_fall_back(&s->supervisor, &s->plan, &s->host);
}

int cordon_sandbox_step(struct cordon_sandbox *sandbox)
{
    if (!sandbox->over)
        step(sandbox, false);
    return sandbox->over;
}

const char *cordon_sandbox_stdout(const struct cordon_sandbox *sandbox, size_t *len)
{
    return cordon_result_stdout(sandbox->result, len);
}

const char *cordon_sandbox_stderr(const struct cordon_sandbox *sandbox, size_t *len)
{
    return cordon_result_stderr(sandbox->result, len);
}

void cordon_sandbox_kill(struct cordon_sandbox *sandbox)
{
    if (!sandbox->over)
        supervisor_kill(&sandbox->supervisor);
}

struct cordon_result *cordon_sandbox_wait(struct cordon_sandbox *sandbox)
{
    while (!sandbox->over)
        step(sandbox, true);
    struct cordon_result *result = sandbox->result;
    if (sandbox->started)
        supervisor_finish(&sandbox->supervisor);
    else
        verdict_refused(&result->result);
    sandbox->result = NULL;
    discard(sandbox);
    if (result->module_id != NULL)
        module_answer(&result->result, &result->value);
    result_document(result);
    return result;
}

struct cordon_result *cordon_run(const struct cordon_policy *policy, char *const argv[],
                                        const struct cordon_run_options *options, struct cordon_error *err)
{
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, options, err);
    return sandbox == NULL ? NULL : cordon_sandbox_wait(sandbox);
}
