#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/arguments.h"
#include "api/handles.h"
#include "base/fd.h"
#include "module/answer.h"
#include "supervisor/supervisor.h"
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

static int copy_policy(struct cordon_sandbox *s, const struct cordon_policy *policy, struct cordon_error *err)
{
    int r = policy_copy(&s->policy, &policy->policy, &s->arena, err);
    return r < 0 ? r : policy_validate(&s->policy, err);
}

static void warn(struct result *result, const struct cordon_policy *policy)
{
    for (unsigned i = 0; i < policy->source.warning_count; i++)
        result_warn_document(result, policy->source.warnings[i]);
    result_warn_policy(result, &policy->policy);
}

/* Input from memory: a file without a name, so that no thread has to feed a pipe. */
static int open_input(struct cordon_sandbox *s, const struct cordon_run_options *options, struct cordon_error *err)
{
    if (options->input == NULL)
        return 0;
    const int fd = fd_from_memory(options->input, options->input_len);
    if (fd < 0)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, -fd, "keep the input", "");
    s->input = fd;
    return 0;
}

static int start(struct cordon_sandbox *s, const struct cordon_run_options *options)
{
    struct backend_run *run = &s->run;
    *run = (struct backend_run){
        .policy = &s->policy,
        .arena = &s->arena,
        .command = s->result->command,
        .env = options->env != NULL ? options->env : environ,
        .result = &s->result->result,
        .wishes = {.input = s->input, .output = {-1, -1}, .capture = true, .ledger = true, .signals = -1},
    };
    supervisor_find_arguments(&run->wishes);
    int r = backend_plan(run);
    if (r < 0)
        return r;
    s->started = true;
    r = backend_start(run);
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

/* An empty one, for this command. */
static struct cordon_sandbox *make(char *const argv[], const char *trace_id, struct cordon_error *err)
{
    struct cordon_sandbox *s = calloc(1, sizeof *s);
    struct cordon_result *result = s == NULL ? NULL : result_make(argv, trace_id);
    if (result == NULL) {
        no_memory(err);
        free(s);
        return NULL;
    }
    s->arena = ARENA_INIT(POLICY_ARENA_BYTES);
    s->result = result;
    s->input = -1;
    return s;
}

static int check(const struct cordon_policy *policy, char *const argv[], struct cordon_error *err)
{
    if (argv == NULL || argv[0] == NULL || argv[0][0] == '\0')
        return err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_PROCESS, EINVAL, "run", "an empty command");
    return argument_need(policy, "no policy", err);
}

struct cordon_sandbox *cordon_start(const struct cordon_policy *policy, char *const argv[],
                                           const struct cordon_run_options *given, struct cordon_error *err)
{
    struct cordon_run_options options = {0};
    if (check(policy, argv, err) < 0 || argument_options(&options, sizeof options, given, err) < 0 ||
        argument_trace_id(options.trace_id, err) < 0)
        return NULL;
    struct cordon_sandbox *s = make(argv, options.trace_id, err);
    if (s == NULL)
        return NULL;
    int r = open_input(s, &options, err);
    if (r == 0)
        r = copy_policy(s, policy, err);
    if (r < 0) {
        discard(s);
        return NULL;
    }
    warn(&s->result->result, policy);
    s->result->profile = policy_profile_name(s->policy.profile);
    if (policy_sha256(&s->policy, s->result->policy_sha256) < 0)
        s->result->policy_sha256[0] = '\0';
    if (start(s, &options) < 0)
        s->over = true; /* the result says why */
    return s;
}

int cordon_sandbox_fd(const struct cordon_sandbox *sandbox)
{
    return sandbox != NULL && sandbox->started ? backend_descriptor(&sandbox->run) : -1;
}

int cordon_sandbox_step(struct cordon_sandbox *sandbox)
{
    if (sandbox == NULL)
        return true;
    if (!sandbox->over)
        sandbox->over = backend_step(&sandbox->run, false);
    return sandbox->over;
}

const char *cordon_sandbox_stdout(const struct cordon_sandbox *sandbox, size_t *len)
{
    return cordon_result_stdout(sandbox == NULL ? NULL : sandbox->result, len);
}

const char *cordon_sandbox_stderr(const struct cordon_sandbox *sandbox, size_t *len)
{
    return cordon_result_stderr(sandbox == NULL ? NULL : sandbox->result, len);
}

void cordon_sandbox_kill(struct cordon_sandbox *sandbox)
{
    if (sandbox != NULL && !sandbox->over)
        backend_kill(&sandbox->run);
}

struct cordon_result *cordon_sandbox_wait(struct cordon_sandbox *sandbox)
{
    if (sandbox == NULL)
        return NULL;
    while (!sandbox->over)
        sandbox->over = backend_step(&sandbox->run, true);
    struct cordon_result *result = sandbox->result;
    if (sandbox->started)
        backend_finish(&sandbox->run);
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
