#include "result/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

static void conclude(struct result *result, enum status status, int rc)
{
    result->status = status;
    result->rc = rc;
}

/* The first place on the host where the command is, or NULL. */
static const char *on_host(const struct plan *plan)
{
    const char **path = plan->candidates;
    while (*path != NULL && access(*path, X_OK) != 0)
        path++;
    return *path;
}

/* How much of a program's directory to show: of a virtual environment all that is above its bin. */
static int place_of(const char *directory, size_t len)
{
    static const char bin[] = "/bin";
    char mark[512];
    const size_t above = len - (sizeof bin - 1);
    if (len < sizeof bin || strncmp(directory + above, bin, sizeof bin - 1) != 0)
        return (int)len;
    int n = snprintf(mark, sizeof mark, "%.*s/pyvenv.cfg", (int)above, directory);
    return n < (int)sizeof mark && access(mark, F_OK) == 0 ? (int)above : (int)len;
}

#ifndef _GNU_SOURCE /* in the base of POSIX since 2008; glibc declares it with the extensions only */
char *realpath(const char *restrict path, char *restrict resolved);
#endif

/* A link leads to what must be there, too; /usr is, and with the guard nearly all. */
static int name_place(const struct plan *plan, const char *what, const char *path, char *out, size_t size)
{
    char *real = realpath(path, NULL);
    const bool elsewhere = real != NULL && plan->fs_mode == FS_VIEW && strcmp(real, path) != 0 &&
                           !text_starts_with(real, "/usr/");
    int n = snprintf(out, size, "%s exists on the host: --ro %.*s would show it%s%s", what,
                     place_of(path, (size_t)(strrchr(path, '/') - path)), path,
                     elsewhere ? ", together with what it leads to: " : "", elsewhere ? real : "");
    free(real);
    return n;
}

/* What the first line of the script names, if it is on the host. */
static int name_interpreter(const struct plan *plan, const char *script, char *out, size_t size)
{
    char line[256];
    const int fd = script == NULL ? -1 : open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const ssize_t len = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (len < 2 || line[0] != '#' || line[1] != '!')
        return 0;
    line[len] = '\0';
    char *path = line + 2 + strspn(line + 2, " \t");
    path[strcspn(path, " \t\n")] = '\0';
    if (path[0] != '/' || strchr(path + 1, '/') == NULL || access(path, X_OK) != 0)
        return 0;
    return name_place(plan, path, path, out, size);
}

/* Why a command may be missing inside, for the remedy; it is never in the result document. */
static void suggest(const struct plan *plan, bool interpreter, struct cordon_error *err)
{
    char text[sizeof err->remedy];
    const char *path = on_host(plan);
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    int n = 0;

    if (interpreter)
        n = name_interpreter(plan, path, text, sizeof text);
    else if (slash == NULL && strchr(plan->command, ' ') != NULL)
        n = snprintf(text, sizeof text, "give each word by itself; a line for a shell is: sh -c '...'");
    else if (slash != NULL && path[0] != '/')
        n = snprintf(text, sizeof text, "the working directory inside is %s; --ro %s:%s would show the host's at %s",
                     plan->cwd, path, slash, slash);
    else if (slash != NULL && slash != path && plan->policy->hide.count > 0 && text_starts_with(path, "/usr/"))
        n = snprintf(text, sizeof text, "it exists on the host, and something to be hidden (--hide) names it");
    else if (slash != NULL && slash != path)
        n = name_place(plan, "it", path, text, sizeof text);
    if (n > 0 && (size_t)n < sizeof text)
        err_remedy(err, text);
}

static void spawn_failed(const struct ending *e, const struct plan *plan, struct result *result)
{
    const int errnum = e->exec_errno;
    const bool missing = errnum == ENOENT || errnum == ENOTDIR;
    struct cordon_error *err = &result->error;

    err_set(err, missing ? CORDON_ERROR_NOT_FOUND : CORDON_ERROR_NOT_EXECUTABLE, CORDON_LAYER_PROCESS, errnum,
            "run command", plan->command);
    if (missing && e->interpreter)
        err_why(err, "the interpreter or loader that it names does not exist inside the sandbox");
    else if (missing)
        err_why(err, "not found inside the sandbox");
    else if (errnum == ENOEXEC)
        err_why(err, "not a program: neither a binary of this machine nor a script with a #! line");
    if (missing)
        suggest(plan, e->interpreter, err);
    result_reason(result, "the command %s", missing ? "was not found inside the sandbox" : "cannot be executed");
    conclude(result, STATUS_SPAWN_FAILED, missing ? 127 : 126);
}

void ending_refused(struct result *result)
{
    char text[256];
    struct cordon_error told = result->error;
    if (told.layer == CORDON_LAYER_CGROUP)
        told.subject[0] = '\0'; /* a path of the host's: for the error, not for the document */
    cordon_error_format(&told, text, sizeof text);
    char *line = strchr(text, '\n');
    if (line != NULL)
        *line = '\0';
    result_reason(result, "%s: %s", cordon_layer_name(result->error.layer), text);
    conclude(result, STATUS_INTERNAL_ERROR, 1);
}

/*
 * The kernel tells the number of the call to nobody but a tracer and its own log. What is known is
 * who asked for it to kill.
 */
static void forbidden(const struct plan *plan, struct result *result)
{
    result_reason(result, "ended by SIGSYS (signal %d) for a forbidden %s (on_forbidden: %s)", SIGSYS,
                  plan->on_forbidden == FORBIDDEN_KILL_SOCKETS ? "socket" : "system call",
                  policy_forbidden_name(plan->on_forbidden));
    conclude(result, STATUS_FORBIDDEN_SYSCALL, 128 + SIGSYS);
}

/* By the payload's own end, when no limit explains it. */
static void own_end(const struct ending *e, const struct plan *plan, struct result *result)
{
    if (result->exited && result->exit_code == 0) {
        conclude(result, STATUS_OK, 0);
        return;
    }
    if (result->exited) {
        result_reason(result, "exited with %d", result->exit_code);
        conclude(result, STATUS_NONZERO_EXIT, result->exit_code);
        return;
    }
    if (!e->ended) {
        result_reason(result, "killed by the caller");
        conclude(result, STATUS_KILLED_KILL, 128 + SIGKILL);
        return;
    }
    const int sig = result->signal;
    const bool filter_kills = plan->seccomp != SECCOMP_OFF && plan->on_forbidden != FORBIDDEN_ERRNO;
    result_reason(result, "ended by %s (signal %d)", text_signal_name(sig), sig);
    if (sig == SIGSYS && filter_kills)
        forbidden(plan, result);
    else
        conclude(result, status_of_signal(sig), 128 + sig);
}

/* Writes were refused: whatever the payload says of itself, that is what is wrong. */
static void violated(const struct ending *e, const struct plan *plan, struct result *result)
{
    const uint64_t total = result->violations.total;
    if (total == 0 || plan->guard.on_violation != VIOLATIONS_FAIL ||
        result->status == STATUS_FORBIDDEN_SYSCALL || !e->ended)
        return;
    result_reason(result, "%" PRIu64 " attempt%s to write outside of the writable places", total,
                  total == 1 ? "" : "s");
    conclude(result, STATUS_POLICY_VIOLATION, result->rc != 0 ? result->rc : 1);
}

static bool cpu_limit(const struct ending *e, const struct plan *plan, const struct result *result)
{
    const uint64_t most = plan->cpu_ms;
    if (most == POLICY_UNLIMITED)
        return false;
    if (e->cpu_seen)
        return true;
    /* The backstop of one process: only if the tree really used that much. */
    return (result->signal == SIGXCPU || result->signal == SIGKILL) && e->cpu_us >= most * 1000;
}

/* Nobody is left who could tell how the payload ended. */
static void cut_off(const struct ending *e, struct result *result)
{
    if (e->killed)
        result_reason(result, "killed by the caller");
    else if (e->init_signal != 0 && e->init_signal != SIGKILL) /* not from outside: see verdict.c */
        result_reason(result, "init was ended by %s (signal %d), and the whole sandbox with it",
                      text_signal_name(e->init_signal), e->init_signal);
    else
        result_reason(result, "ended by SIGKILL (signal 9) to the whole sandbox, from outside");
    conclude(result, STATUS_KILLED_KILL, 137);
}

static void limits_or_end(const struct ending *e, const struct plan *plan, struct result *result)
{
    if (e->timed_out) {
        result_reason(result, "wall time of %" PRIu64 " ms reached", plan->wall_ms);
        conclude(result, STATUS_TIMEOUT, 124);
    } else if (e->oom || e->memory_seen) {
        result_reason(result, "memory limit of %" PRIu64 " bytes reached (%s)", plan->mem_bytes,
                      e->oom ? "oom event of the cgroup" : "seen by the watcher");
        conclude(result, STATUS_MEM_LIMIT, 137);
    } else if (cpu_limit(e, plan, result)) {
        result_reason(result, "cpu time of %" PRIu64 " ms reached", plan->cpu_ms);
        conclude(result, STATUS_CPU_LIMIT, 152);
    } else if (e->overflow != 0) {
        result_reason(result, "more than %" PRIu64 " bytes on %s", plan->output_bytes,
                      e->overflow == 1 ? "standard output" : "standard error");
        conclude(result, STATUS_OUTPUT_LIMIT, 153);
    } else if (result->caller_signal != 0) {
        result_reason(result, "the caller sent %s (signal %d)", text_signal_name(result->caller_signal),
                      result->caller_signal);
        conclude(result, result->caller_signal == SIGTERM ? STATUS_KILLED_TERM : STATUS_SIGNALED,
                 128 + result->caller_signal);
    } else if (e->listener_lost) {
        err_set(&result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, 0, "listen to the sandbox",
                "the listener");
        err_why(&result->error, "it was killed from outside, or hangs on a file system");
        ending_refused(result);
    } else if (e->blind) {
        err_set(&result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, EMFILE, "watch memory and cpu time",
                "/proc");
        ending_refused(result);
    } else if (!e->ended) { /* by the embedding program, the host's out-of-memory killer, ... */
        cut_off(e, result);
    } else {
        own_end(e, plan, result);
        violated(e, plan, result);
    }
}

void ending_judge(const struct ending *e, const struct plan *plan, struct result *result)
{
    if (e->ran && e->exec_errno != 0) {
        spawn_failed(e, plan, result);
        return;
    }
    if (e->ended && WIFEXITED(e->status)) {
        result->exited = true;
        result->exit_code = WEXITSTATUS(e->status);
    } else if (e->ended) {
        result->signal = WTERMSIG(e->status);
    } else {
        result->signal = SIGKILL; /* by us, or by whoever ended the one who would have seen it */
    }
    limits_or_end(e, plan, result);
}

void ending_tell_partial(const struct plan *plan, uint32_t proof, struct result *result)
{
    char names[200] = ""; /* of all capabilities it would be 150 */
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        const struct plan_claim *c = &plan->claims[i];
        const size_t len = strlen(names);
        if (c->requested && (c->mechanism == NULL || (proof & c->proof) != c->proof))
            snprintf(names + len, sizeof names - len, "%s%s", len > 0 ? ", " : "", capability_name((enum capability)i));
    }
    const bool partial = names[0] != '\0';
    if (partial && plan->policy->allow_partial && result->status != STATUS_INTERNAL_ERROR)
        result_warn(result, "the run went on without %s (policy /allow_partial)", names);
    if (partial && (result->status == STATUS_OK || result->status == STATUS_NONZERO_EXIT))
        result_reason(result, "PARTIAL_ENFORCEMENT");
}
