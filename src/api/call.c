#include <cordon/call.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments.h"
#include "api/handles.h"
#include "module/answer.h"
#include "module/direct.h"
#include "module/inprocess.h"
#include "module/request.h"
#include "wire/policy_json.h"

extern char **environ;

/* One call, and what it borrows. */
struct call {
    const char *id;
    const char *input;
    size_t input_len;
    struct cordon_call_options options;
    struct arena arena;
    struct module_root root;
    struct module module;
};

static int no_memory(const struct call *c, struct cordon_error *err)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MODULE, ENOMEM, "call module", c->id);
}

/* Where the runner was installed with this library: found from the place of the library itself. */
static const char *installed_runner(struct arena *arena)
{
    static const char here = 0;
    char path[PATH_MAX];
    Dl_info self;
    if (dladdr(&here, &self) == 0 || realpath(self.dli_fname, path) == NULL)
        path[0] = '\0';
    return module_runner_beside(arena, path, CORDON_RUNNER_FROM_LIBRARY);
}

static const char *runner_of(struct call *c)
{
    return c->options.runner != NULL ? c->options.runner : installed_runner(&c->arena);
}

static int check_input(const struct call *c, struct cordon_error *err)
{
    char room[160];
    const char *wrong = module_input_wrong(c->input, c->input_len, room, sizeof room);
    if (wrong == NULL)
        return 0;
    int r = err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_MODULE, EINVAL, "read input of", c->id);
    err_why(err, wrong);
    return r;
}

/* `profile`: for who named no policy. */
static struct module_terms terms_of(struct call *c, const struct policy *profile)
{
    const struct cordon_call_options *o = &c->options;
    return (struct module_terms){
        .policy = o->policy != NULL ? &o->policy->policy : profile,
        .ceiling = o->within != NULL ? &o->within->policy : NULL,
        .timeout_ms = o->timeout_ms != 0 ? &o->timeout_ms : NULL,
        .runner = runner_of(c),
    };
}

static int make_request(struct call *c, struct cordon_policy *out, char ***command,
                        struct cordon_error *err)
{
    struct policy profile;
    struct module_request request;
    policy_init(&profile, PROFILE_MODULE);
    const struct module_terms terms = terms_of(c, &profile);
    if (terms.runner == NULL)
        return no_memory(c, err);
    int r = module_request(&request, &c->arena, &c->root, &c->module, &terms, err);
    if (r < 0)
        return r;
    out->policy = request.policy; /* lives in c->arena; the sandbox makes a copy */
    if (c->options.policy != NULL)
        out->source = c->options.policy->source;
    *command = request.command;
    return 0;
}

static struct cordon_sandbox *start_in_sandbox(struct call *c, struct cordon_error *err)
{
    struct cordon_policy policy = {0};
    char **command = NULL;
    const struct cordon_run_options run = {.size = sizeof run,
                                           .input = c->input,
                                           .input_len = c->input_len,
                                           .env = c->options.env,
                                           .trace_id = c->options.trace_id};
    if (make_request(c, &policy, &command, err) < 0)
        return NULL;
    struct cordon_sandbox *sandbox = cordon_start(&policy, command, &run, err);
    if (sandbox != NULL)
        sandbox->result->module_id = arena_strdup(&sandbox->result->arena, c->id);
    return sandbox;
}

static struct cordon_result *call_unprotected(struct call *c, struct cordon_error *err)
{
    char *const *env = c->options.env != NULL ? c->options.env : environ;
    const struct module_terms terms = terms_of(c, NULL);
    if (module_direct_check(c->id, &terms, env, err) < 0)
        return NULL;
    char **command = terms.runner == NULL ? NULL : module_command(&c->arena, &c->module, terms.runner);
    struct cordon_result *result = command == NULL ? NULL : result_make(command, c->options.trace_id);
    if (result == NULL) {
        no_memory(c, err);
        return NULL;
    }
    result->profile = policy_profile_name(PROFILE_MODULE);
    result->module_id = arena_strdup(&result->arena, c->id);
    if (c->module.manifest.library != NULL) /* the last word of the runner's command */
        module_in_process(command[3], c->id, c->input, c->input_len, &result->result);
    else
        module_direct(command, env, c->input, c->input_len, false, NULL, &result->result);
    module_answer(&result->result, &result->value);
    result_document(result);
    return result;
}

static int find(struct call *c, struct cordon_error *err)
{
    char *const *env = c->options.env != NULL ? c->options.env : environ;
    int r = check_input(c, err);
    if (r == 0)
        r = module_root_open(&c->root, &c->arena, c->options.extensions, env, err);
    if (r == 0)
        r = module_find(&c->module, &c->root, c->id, &c->arena, err);
    return r;
}

/* What was asked for, in `c`, which end() releases. */
static int begin(struct call *c, const struct cordon_call_options *options, struct cordon_error *err)
{
    *err = (struct cordon_error){0};
    c->arena = ARENA_INIT(POLICY_ARENA_BYTES);
    c->root = MODULE_ROOT_INIT;
    int r = argument_need(c->id, "no module id", err);
    if (r == 0)
        r = argument_options(&c->options, sizeof c->options, options, err);
    if (r == 0)
        r = argument_trace_id(c->options.trace_id, err);
    return r < 0 ? r : find(c, err);
}

static void end(struct call *c)
{
    module_root_close(&c->root);
    arena_free(&c->arena);
}

struct cordon_sandbox *cordon_call_start(const char *module_id, const char *input, size_t input_len,
                                         const struct cordon_call_options *options, struct cordon_error *err)
{
    struct cordon_error ignored;
    struct cordon_sandbox *sandbox = NULL;
    struct call c = {.id = module_id, .input = input, .input_len = input_len};
    err = err == NULL ? &ignored : err;
    if (begin(&c, options, err) == 0 && !c.options.no_sandbox) {
        sandbox = start_in_sandbox(&c, err);
    } else if (err->kind == CORDON_ERROR_NONE) {
        err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_MODULE, EINVAL, "start module", module_id);
        err_why(err, "without a sandbox it can only be waited for");
    }
    end(&c);
    return sandbox;
}

struct cordon_result *cordon_call(const char *module_id, const char *input, size_t input_len,
                                  const struct cordon_call_options *options,
                                  struct cordon_error *err)
{
    struct cordon_error ignored;
    struct cordon_result *result = NULL;
    struct call c = {.id = module_id, .input = input, .input_len = input_len};
    err = err == NULL ? &ignored : err;
    if (begin(&c, options, err) == 0 && c.options.no_sandbox) {
        result = call_unprotected(&c, err);
    } else if (err->kind == CORDON_ERROR_NONE) {
        struct cordon_sandbox *sandbox = start_in_sandbox(&c, err);
        result = sandbox == NULL ? NULL : cordon_sandbox_wait(sandbox);
    }
    if (result != NULL)
        module_failure(&result->result, module_id, err);
    end(&c);
    return result;
}
