#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/handles.h"
#include "base/fd.h"
#include "wire/policy_json.h"
#include "wire/result_json.h"

#define DOCUMENT_MAX (1024u * 1024 * 1024)

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

static int copy_command(struct cordon_result *result, char *const argv[])
{
    while (argv[result->command_count] != NULL)
        result->command_count++;
    result->command = arena_array(&result->arena, result->command_count + 1, sizeof *result->command);
    for (size_t i = 0; result->command != NULL && i < result->command_count; i++) {
        result->command[i] = arena_strdup(&result->arena, argv[i]);
        if (result->command[i] == NULL)
            return -ENOMEM;
    }
    return result->command == NULL ? -ENOMEM : 0;
}

/* Input from memory: a file without a name, so that no thread has to feed a pipe. */
static int open_input(const struct cordon_run_options *options)
{
    if (options == NULL || options->input == NULL)
        return -1;
    FD_AUTO fd = memfd_create("cordon-input", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, options->input, options->input_len);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    return r < 0 ? r : fd_take(&fd);
}

/* Where the kernel keeps the words that this process was started with, environment included: init
 * is a copy of this process and wipes its own. */
static void find_arguments(struct run_wishes *options)
{
    char text[1024];
    FILE *stat = fopen("/proc/self/stat", "re");
    if (stat == NULL)
        return;
    size_t n = fread(text, 1, sizeof text - 1, stat);
    fclose(stat);
    text[n] = '\0';
    const char *p = strrchr(text, ')');
    for (int field = 2; p != NULL && field < 48; field++)
        p = strchr(p + 1, ' ');
    unsigned long start = 0;
    unsigned long end = 0;
    if (p != NULL && sscanf(p, "%lu %*u %*u %lu", &start, &end) == 2 && start != 0 && end > start) {
        options->arguments = (char *)start;
        options->arguments_size = end - start;
    }
}

static int start(struct cordon_sandbox *s, const struct cordon_run_options *options)
{
    struct backend_run *run = &s->run;
    *run = (struct backend_run){
        .policy = &s->policy,
        .arena = &s->arena,
        .command = s->result->command,
        .env = options != NULL && options->env != NULL ? options->env : environ,
        .result = &s->result->result,
        .wishes = {.input = s->input, .output = {-1, -1}, .capture = true, .ledger = true, .signals = -1},
    };
    find_arguments(&run->wishes);
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

struct cordon_sandbox *cordon_start(const struct cordon_policy *policy, char *const argv[],
                                           const struct cordon_run_options *options, struct cordon_error *err)
{
    if (argv == NULL || argv[0] == NULL) {
        err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_PROCESS, EINVAL, "run", "an empty command");
        return NULL;
    }
    struct cordon_sandbox *s = calloc(1, sizeof *s);
    struct cordon_result *result = s == NULL ? NULL : calloc(1, sizeof *result);
    if (result == NULL) {
        no_memory(err);
        free(s);
        return NULL;
    }
    s->arena = ARENA_INIT(POLICY_ARENA_BYTES);
    s->result = result;
    result->arena = ARENA_INIT(POLICY_ARENA_BYTES);
    result->json = BUF_INIT(DOCUMENT_MAX);
    result_init(&result->result);
    result_trace(&result->result, options == NULL ? NULL : options->trace_id);
    s->input = open_input(options);

    int r = s->input < -1 ? no_memory(err) : copy_policy(s, policy, err);
    if (r == 0 && copy_command(result, argv) < 0)
        r = no_memory(err);
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
    return sandbox->started ? backend_descriptor(&sandbox->run) : -1;
}

int cordon_sandbox_step(struct cordon_sandbox *sandbox)
{
    if (!sandbox->over)
        sandbox->over = backend_step(&sandbox->run, false);
    return sandbox->over;
}

void cordon_sandbox_kill(struct cordon_sandbox *sandbox)
{
    if (!sandbox->over)
        backend_kill(&sandbox->run);
}

static void write_document(struct cordon_result *result)
{
    struct utsname host;
    const struct result_context context = {
        .cmd = result->command,
        .cmd_count = result->command_count,
        .profile = result->profile,
        .policy_sha256 = result->policy_sha256[0] == '\0' ? NULL : result->policy_sha256,
        .kernel = uname(&host) == 0 ? host.release : NULL,
        .bwrap_path = result->result.bwrap_path[0] == '\0' ? NULL : result->result.bwrap_path,
    };
    result_write_json(&result->result, &context, &result->json);
    if (buf_string(&result->json) == NULL)
        buf_free(&result->json);
}

struct cordon_result *cordon_sandbox_wait(struct cordon_sandbox *sandbox)
{
    while (!sandbox->over)
        sandbox->over = backend_step(&sandbox->run, true);
    struct cordon_result *result = sandbox->result;
    if (sandbox->started)
        backend_finish(&sandbox->run);
    sandbox->result = NULL;
    discard(sandbox);
    write_document(result);
    return result;
}

struct cordon_result *cordon_run(const struct cordon_policy *policy, char *const argv[],
                                        const struct cordon_run_options *options, struct cordon_error *err)
{
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, options, err);
    return sandbox == NULL ? NULL : cordon_sandbox_wait(sandbox);
}
