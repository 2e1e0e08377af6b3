#include "module/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "base/fd.h"
#include "base/text.h"
#include "supervisor/stream.h"
#include "sys/pidfd.h"
#include "sys/process.h"

#define OUTPUT_MAX (64u * 1024 * 1024) /* of each stream, as in the profile "module" */

struct direct {
    pid_t pid;
    int pidfd;  /* owned; -1: this kernel has none */
    int theirs[2]; /* owned; the child's ends */
    struct stream streams[2]; /* owned */
    int over;   /* 1 + the stream that ran over; 0: none */
    const struct module_caller *caller; /* NULL: nobody watches for signals */
    int asked;  /* the first signal that the caller sent; 0: none */
};

int module_direct_check(const char *id, const struct module_terms *terms, char *const *env,
                        struct cordon_error *err)
{
    static const char what[] = "call without a sandbox";
    if (backend_isolation_required(env)) {
        err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, EPERM, what, id);
        err_why(err, "CORDON_REQUIRE_ISOLATION is set");
        return -EPERM;
    }
    const uint64_t *timeout = terms->timeout_ms;
    const char *why = terms->ceiling != NULL ? "a ceiling is kept by a sandbox alone"
                      : timeout != NULL && *timeout != POLICY_UNLIMITED
                          ? "a time limit is kept by a sandbox alone"
                      : terms->policy != NULL && terms->policy->require.count > 0
                          ? "what is required is kept by a sandbox alone"
                          : NULL;
    if (why == NULL)
        return 0;
    err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_MODULE, EINVAL, what, id);
    err_why(err, why);
    return -EINVAL;
}

void module_unprotected(struct result *result)
{
    result->backend_kind = "none";
    result->backend_effective = false;
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        struct ledger_entry *entry = &result->ledger.entries[i];
        *entry = (struct ledger_entry){0};
        snprintf(entry->details, sizeof entry->details, "called without a sandbox");
    }
}

static void not_started(struct result *result, int errnum, const char *command)
{
    const bool missing = errnum == ENOENT || errnum == ENOTDIR;
    result->status = STATUS_SPAWN_FAILED;
    result->rc = missing ? 127 : 126;
    result_reason(result, "the command %s", missing ? "was not found" : "cannot be executed");
    err_set(&result->error, missing ? CORDON_ERROR_NOT_FOUND : CORDON_ERROR_NOT_EXECUTABLE,
            CORDON_LAYER_PROCESS, errnum, "run command", command);
}

/* Files may not grow, or memory is short: before anything of the module's has run. */
static void not_kept(struct result *result, int errnum)
{
    result->status = STATUS_SPAWN_FAILED;
    result->rc = 126;
    result_reason(result, "its input cannot be kept: %s", text_errno(errnum));
    err_set(&result->error, CORDON_ERROR_NOT_EXECUTABLE, CORDON_LAYER_MODULE, errnum, "keep the input of", "the module");
}

static int open_stream(struct direct *d, int i, struct result_stream *record)
{
    int fds[2];
    record->captured = BUF_INIT(OUTPUT_MAX);
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    d->theirs[i] = fds[1];
    stream_open(&d->streams[i], fds[0], -1, record);
    d->streams[i].cap = OUTPUT_MAX;
    d->streams[i].capture = true;
    return 0;
}

/* What the command ignores or blocks for itself is not the module's. */
static int set_signals(posix_spawnattr_t *attributes, bool watched)
{
    sigset_t ignored;
    sigset_t none;
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    sigaddset(&ignored, SIGXFSZ);
    int r = posix_spawnattr_setsigdefault(attributes, &ignored);
    if (r == 0 && watched)
        r = posix_spawnattr_setsigmask(attributes, &none);
    return r != 0 ? r : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | (watched ? POSIX_SPAWN_SETSIGMASK : 0));
}

static int spawn(struct direct *d, char *const argv[], char *const *env, int input)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawnattr_init(&attributes);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_init(&actions);
    if (r != 0) {
        posix_spawnattr_destroy(&attributes);
        return -r;
    }
    r = set_signals(&attributes, d->caller != NULL);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    for (int i = 0; r == 0 && i < 2; i++) {
        if (d->theirs[i] >= 0)
            r = posix_spawn_file_actions_adddup2(&actions, d->theirs[i], STDOUT_FILENO + i);
    }
    if (r == 0)
        r = posix_spawnp(&d->pid, argv[0], &actions, &attributes, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

/* The first signal is passed on; who sends a second one does not want to wait. */
static void pass_on(struct direct *d)
{
    const int sig = d->caller->next(d->caller->events);
    if (sig == 0)
        return;
    kill(d->pid, d->asked == 0 ? sig : SIGKILL);
    if (d->asked == 0)
        d->asked = sig;
}

/*
 * Until the child is gone: a daemon that it left keeps the pipes, and does not keep us. Without a descriptor of the
 * child - the kernel has none to give, or somebody has reaped it - until both pipes are at their end.
 */
static void follow(struct direct *d)
{
    bool gone = false;
    while (!gone && (d->pidfd >= 0 || d->streams[0].from >= 0 || d->streams[1].from >= 0)) {
        struct pollfd fds[4] = {{.fd = d->streams[0].from, .events = POLLIN},
                                {.fd = d->streams[1].from, .events = POLLIN},
                                {.fd = d->pidfd, .events = POLLIN},
                                {.fd = d->caller != NULL ? d->caller->events : -1, .events = POLLIN}};
        if (poll(fds, 4, -1) < 0 && errno != EINTR)
            return;
        gone = fds[2].revents != 0;
        if (!gone && d->caller != NULL && fds[3].revents != 0)
            pass_on(d);
        for (int i = 0; i < 2; i++) {
            struct stream *stream = &d->streams[i];
            if (stream->from < 0)
                continue;
            stream_read(stream);
            if (gone)
                stream_drain(stream);
            if (stream->record->bytes > OUTPUT_MAX && d->over == 0) {
                d->over = 1 + i;
                kill(d->pid, SIGKILL);
            }
        }
    }
}

static void conclude(const struct direct *d, struct result *result)
{
    int status = 0;
    pid_t pid;
    do {
        pid = waitpid(d->pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    if (pid < 0) { /* the embedding program waits for every child, and took this one's status */
        result_reason(result, "the end of the module was seen by somebody else");
        err_set(&result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, errno, "wait for", "the module");
        return;
    }
    result->exited = WIFEXITED(status);
    result->exit_code = result->exited ? WEXITSTATUS(status) : 0;
    result->signal = result->exited ? 0 : WTERMSIG(status);
    if (d->over != 0) {
        result->status = STATUS_OUTPUT_LIMIT;
        result->rc = 153;
        result_reason(result, "more than %u bytes on %s", OUTPUT_MAX,
                      d->over == 1 ? "standard output" : "standard error");
    } else if (d->asked != 0) {
        result->caller_signal = d->asked;
        result->status = d->asked == SIGTERM ? STATUS_KILLED_TERM : STATUS_SIGNALED;
        result->rc = 128 + d->asked;
        result_reason(result, "the caller sent %s (signal %d)", text_signal_name(d->asked), d->asked);
    } else if (result->exited) {
        result->status = result->exit_code == 0 ? STATUS_OK : STATUS_NONZERO_EXIT;
        result->rc = result->exit_code;
        if (result->exit_code != 0)
            result_reason(result, "exited with %d", result->exit_code);
    } else {
        result->status = status_of_signal(result->signal);
        result->rc = 128 + result->signal;
        result_reason(result, "ended by %s (signal %d)", text_signal_name(result->signal), result->signal);
    }
}

void module_direct(char *const argv[], char *const *env, const char *input, size_t input_len,
                   bool pass_errors, const struct module_caller *caller, struct result *result)
{
    struct direct d = {.pidfd = -1, .theirs = {-1, -1}, .caller = caller};
    struct result_stream *records[2] = {&result->out, &result->err};
    const uint64_t start = sys_now_us();
    FD_AUTO in = fd_from_memory(input, input_len);
    int r = 0;
    module_unprotected(result);
    if (in < 0) {
        not_kept(result, -in);
        return;
    }
    for (int i = 0; i < 2; i++) {
        d.streams[i] = (struct stream){.from = -1, .to = -1, .out = -1};
        if (r == 0 && (i == 0 || !pass_errors))
            r = open_stream(&d, i, records[i]);
    }
    if (r == 0)
        r = spawn(&d, argv, env, in);
    fd_close(&d.theirs[0]);
    fd_close(&d.theirs[1]);
    if (r == 0) {
        d.pidfd = (int)sys_call(SYS_pidfd_open, d.pid, 0);
        follow(&d);
        conclude(&d, result);
    } else {
        not_started(result, -r, argv[0]);
    }
    fd_close(&d.pidfd);
    stream_close(&d.streams[0]);
    stream_close(&d.streams[1]);
    result->duration_ms = (sys_now_us() - start) / 1000;
}
