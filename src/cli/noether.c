#include "cli/noether.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/session.h"

#define EXIT_REFUSED 2
#define EXIT_SPAWN 127
#define PRIVATE_BYTES (UINT64_C(1) << 30) /* that tool has no limit for /work and /tmp */

extern char **environ;

enum isolate { ISOLATE_AUTO, ISOLATE_BWRAP, ISOLATE_NONE };
static const char *const isolate_names[] = {"auto", "bwrap", "none"};
static const struct policy_words isolate_words = {isolate_names, 3};

struct noether {
    enum isolate isolate;
    bool require, unsafe_known;
    const char *policy_file; /* NULL: standard input */
    char **command;
    int command_count;
};

static int say(const char *what, const char *subject)
{
    char escaped[512];
    text_escape(escaped, sizeof escaped, subject, strlen(subject));
    fprintf(stderr, "noether-sandbox: %s%s\n", what, escaped);
    return EXIT_REFUSED;
}

static int usage(const char *what, const char *subject)
{
    say(what, subject);
    fprintf(stderr, "usage: noether-sandbox [--isolate=auto|bwrap|none] [--policy-file PATH] "
                    "[--require-isolation] [--unsafe-no-isolation] -- COMMAND [ARG...]\n");
    return EXIT_REFUSED;
}

/* The value of `--name=value` or `--name value`; NULL if argv[*i] is another word. */
static const char *value_of(const char *name, int argc, char **argv, int *i, bool *missing)
{
    const size_t len = strlen(name);
    const char *word = argv[*i];
    if (strncmp(word, name, len) != 0 || (word[len] != '\0' && word[len] != '='))
        return NULL;
    if (word[len] == '=')
        return word + len + 1;
    const char *next = *i + 1 < argc ? argv[++*i] : NULL;
    *missing = next == NULL;
    return next == NULL ? "" : next;
}

static int set_isolate(struct noether *n, const char *value)
{
    int found = policy_words_parse(&isolate_words, value);
    if (found < 0) {
        say("isolation backend is not recognised; expected one of auto, bwrap, none: ", value);
        return EXIT_REFUSED;
    }
    n->isolate = (enum isolate)found;
    return 0;
}

/* 0, or the exit status. */
static int parse(struct noether *n, int argc, char **argv)
{
    const char *isolate = getenv("NOETHER_ISOLATION");
    const char *require = getenv("NOETHER_REQUIRE_ISOLATION");
    n->require = backend_isolation_required(environ) ||
                 (require != NULL && require[0] != '\0' && strcmp(require, "0") != 0);
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        bool missing = false;
        const char *value = value_of("--isolate", argc, argv, &i, &missing);
        if (value != NULL) {
            isolate = value;
        } else if ((value = value_of("--policy-file", argc, argv, &i, &missing)) != NULL) {
            n->policy_file = value;
        } else if (strcmp(word, "--require-isolation") == 0) {
            n->require = true;
        } else if (strcmp(word, "--unsafe-no-isolation") == 0) {
            n->unsafe_known = true;
        } else {
            return usage("unknown argument before --: ", word);
        }
        if (missing)
            return usage("missing value for ", word);
    }
    if (i >= argc)
        return usage("missing -- before the command", "");
    if (i + 1 >= argc)
        return usage("empty command after --", "");
    n->command = argv + i + 1;
    n->command_count = argc - i - 1;
    return isolate == NULL ? 0 : set_isolate(n, isolate);
}

/* That tool isolates and does not limit: what it runs may take its time, unless the document says otherwise. */
static void lift_limits(struct policy *policy)
{
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        if (limit->unlimited)
            policy_limit_set(policy, limit, POLICY_UNLIMITED);
    }
    policy->tmp_bytes = PRIVATE_BYTES;
}

static bool is_blank(const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        if (strchr(" \t\r\n", text->data[i]) == NULL || text->data[i] == '\0')
            return false;
    }
    return true;
}

static int read_policy(struct session *s, const struct noether *n)
{
    struct cordon_error *err = &s->result.error;
    BUF_AUTO text = BUF_INIT(0);
    int r = input_read(n->policy_file != NULL ? n->policy_file : "-", &text, POLICY_MAX_BYTES,
                       "read policy", err);
    if (r == -EFBIG && n->policy_file == NULL)
        err_remedy(err, "a policy is small: give it with --policy-file if it comes from elsewhere");
    s->options.source = (struct policy_source){.profile = -1, .fallback = PROFILE_STAGE, .refine = lift_limits};
    policy_source_base(&s->options.source, &s->options.policy);
    if (r == 0 && !is_blank(&text))
        r = policy_read(&s->options.policy, &s->arena, text.data, text.len, &s->options.source, err);
    return r < 0 ? r : policy_validate(&s->options.policy, err);
}

/* Whether to isolate is the caller's to say, by --isolate: no document takes it back. */
static int demand_isolation(struct policy *policy, const struct noether *n, struct cordon_error *err)
{
    if (policy->backend >= BACKEND_POSIX) {
        err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, EPERM, "keep the policy's word", "/backend");
        err_why(err, "that backend does not isolate");
        err_remedy(err, "--isolate=none runs the command without isolation");
        return -EPERM;
    }
    if (n->require || n->isolate == ISOLATE_BWRAP)
        policy->allow_partial = false;
    return 0;
}

/* As the caller itself would run it; its environment is given, for ours may be wiped by now. */
static int run_unprotected(char **command, char **env)
{
    sigset_t none;
    pid_t pid;
    int status;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    int r = posix_spawnp(&pid, command[0], NULL, NULL, command, env);
    if (r != 0) {
        fprintf(stderr, "noether-sandbox: failed to start the command: %s\n", text_errno(r));
        return EXIT_SPAWN;
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return EXIT_SPAWN;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int exit_status(const struct result *result)
{
    if (result->status == STATUS_INTERNAL_ERROR)
        return EXIT_REFUSED;
    return result->status == STATUS_SPAWN_FAILED ? EXIT_SPAWN : result_exit_child(result);
}

/*
 * This host refuses what every sandbox needs: seen with a policy that asks for nothing, so that neither
 * a request of the caller's nor a want of descriptors or memory counts as the host's word.
 */
static bool host_refuses(const struct session *s, char *const *env)
{
    static struct backend_run trial;
    static struct result result;
    static struct policy plain;
    struct arena arena = ARENA_INIT(POLICY_ARENA_BYTES);
    result_init_zeroed(&result);
    policy_init(&plain, PROFILE_STAGE);
    lift_limits(&plain);
    trial.policy = &plain;
    trial.arena = &arena;
    trial.command = s->options.command;
    trial.env = env;
    trial.result = &result;
    trial.host.off = s->run.host.off; /* of test programs */
    if (backend_plan(&trial) == 0)
        backend_rehearse(&trial);
    const bool refused = trial.host.refused.userns && result.error.kind != CORDON_ERROR_NONE;
    result_release(&result);
    arena_free(&arena);
    return refused;
}

static bool unavailable(const struct session *s, char *const *env)
{
    const struct result *result = &s->result;
    return result->status == STATUS_INTERNAL_ERROR && !result->ran &&
           (result->error.kind == CORDON_ERROR_SETUP || result->error.kind == CORDON_ERROR_PARTIAL) &&
           host_refuses(s, env);
}

static int run_isolated(struct session *s, const struct noether *n, int argc, char **argv)
{
    const bool lenient = n->isolate == ISOLATE_AUTO && !n->require;
    char **env = lenient ? arena_strings(&s->arena, environ) : NULL;
    s->options.command = n->command;
    s->options.command_count = n->command_count;
    s->options.quiet = true;
    s->pass[0] = s->pass[1] = true;
    s->input = n->policy_file != NULL ? STDIN_FILENO : -1; /* else the policy was all of it */
    int r = session_open(s, argc, argv);
    if (r == 0)
        r = session_plan(s);
    session_run(s, r);
    if (lenient && env != NULL && unavailable(s, env)) {
        if (!n->unsafe_known)
            fprintf(stderr, "noether-sandbox: warning: no isolation: %s; install bubblewrap or see "
                            "`cordon doctor`, or silence this with --unsafe-no-isolation\n", s->result.reason);
        return run_unprotected(s->options.command, env);
    }
    return session_conclude(s, exit_status(&s->result));
}

int cli_noether(int argc, char **argv)
{
    struct noether n = {.isolate = ISOLATE_AUTO};
    static struct session s;
    int status = parse(&n, argc, argv);
    if (status != 0)
        return status;
    session_init(&s);
    struct policy *policy = &s.options.policy;
    if (read_policy(&s, &n) < 0 ||
        (n.isolate != ISOLATE_NONE && demand_isolation(policy, &n, &s.result.error) < 0)) {
        char text[1024];
        cordon_error_format(&s.result.error, text, sizeof text);
        fprintf(stderr, "noether-sandbox: %s\n", text);
        status = EXIT_REFUSED;
    } else if (n.isolate == ISOLATE_NONE && n.require) {
        status = say("refusing to run without isolation: --isolate=none while isolation is required", "");
    } else if (n.isolate == ISOLATE_NONE) {
        if (!n.unsafe_known)
            say("warning: no isolation: the command has all of the caller's rights; silence this with ",
                "--unsafe-no-isolation");
        status = run_unprotected(n.command, environ);
    } else {
        status = run_isolated(&s, &n, argc, argv);
    }
    session_release(&s);
    return status;
}
