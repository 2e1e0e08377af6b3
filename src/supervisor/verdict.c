#include "supervisor/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

static void conclude(struct result *result, enum status status, int rc)
{
    result->status = status;
    result->rc = rc;
}

/* Where the command is on the host, for the remedy; it is never in the result document. */
static void suggest(const struct plan *plan, struct cordon_error *err)
{
    for (const char **path = plan->candidates; *path != NULL; path++) {
        const char *slash = strrchr(*path, '/');
        if ((*path)[0] != '/' || slash == *path || access(*path, X_OK) != 0)
            continue;
        char text[sizeof err->remedy];
        int n = snprintf(text, sizeof text, "it exists on the host: --ro %.*s would show it", (int)(slash - *path),
                         *path);
        if (n > 0 && (size_t)n < sizeof text)
            err_remedy(err, text);
        return;
    }
}

static void spawn_failed(const struct supervisor *s, struct result *result)
{
    const int errnum = s->spawn.shared->exec_errno;
    const bool missing = errnum == ENOENT || errnum == ENOTDIR;
    struct cordon_error *err = &result->error;

    err_set(err, missing ? CORDON_ERROR_NOT_FOUND : CORDON_ERROR_NOT_EXECUTABLE, CORDON_LAYER_PROCESS, errnum,
            "run command", s->plan->command);
    if (missing && s->spawn.shared->interpreter)
        err_why(err, "the interpreter or loader that it names does not exist inside the sandbox");
    else if (missing)
        err_why(err, "not found inside the sandbox");
    else if (errnum == ENOEXEC)
        err_why(err, "not a program: neither a binary of this machine nor a script with a #! line");
    if (missing)
        suggest(s->plan, err);
    result_reason(result, "the command %s", missing ? "was not found inside the sandbox" : "cannot be executed");
    conclude(result, STATUS_SPAWN_FAILED, missing ? 127 : 126);
}

void verdict_refused(struct result *result)
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

/* Before anything ran: which of the three processes gave up. */
static bool never_ran(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    if (shared != NULL && shared->failed && shared->error.kind != CORDON_ERROR_NONE)
        result->error = shared->error;
    else if (shared != NULL && shared->payload_failed)
        result->error = shared->payload_error;
    else if (shared != NULL && !shared->executing && s->init_gone && !s->killed && !s->oom &&
             result->error.kind == CORDON_ERROR_NONE)
        err_set(&result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, 0, "set up the sandbox",
                "init was killed from outside");
    return result->error.kind != CORDON_ERROR_NONE;
}

/* By the payload's own end, when no limit explains it. */
static void own_end(const struct supervisor *s, struct result *result)
{
    const struct plan *plan = s->plan;
    if (result->exited && result->exit_code == 0) {
        conclude(result, STATUS_OK, 0);
        return;
    }
    if (result->exited) {
        result_reason(result, "exited with %d", result->exit_code);
        conclude(result, STATUS_NONZERO_EXIT, result->exit_code);
        return;
    }
    if (!s->spawn.shared->ended) {
        result_reason(result, "killed by the caller");
        conclude(result, STATUS_KILLED_KILL, 128 + SIGKILL);
        return;
    }
    const int sig = result->signal;
    const bool filter_kills = plan->seccomp != SECCOMP_OFF && plan->on_forbidden != FORBIDDEN_ERRNO;
    result_reason(result, "ended by %s (signal %d)", text_signal_name(sig), sig);
    if (sig == SIGSYS && filter_kills)
        conclude(result, STATUS_FORBIDDEN_SYSCALL, 128 + SIGSYS);
    else
        conclude(result,
                 sig == SIGTERM   ? STATUS_KILLED_TERM
                 : sig == SIGKILL ? STATUS_KILLED_KILL
                                  : STATUS_SIGNALED,
                 128 + sig);
}

/* Writes were refused: whatever the payload says of itself, that is what is wrong. */
static void violated(const struct supervisor *s, struct result *result)
{
    const uint64_t total = result->violations.total;
    if (total == 0 || s->plan->guard.on_violation != VIOLATIONS_FAIL ||
        result->status == STATUS_FORBIDDEN_SYSCALL || !s->spawn.shared->ended)
        return;
    result_reason(result, "%" PRIu64 " attempt%s to write outside of the writable places", total,
                  total == 1 ? "" : "s");
    conclude(result, STATUS_POLICY_VIOLATION, result->rc != 0 ? result->rc : 1);
}

static bool cpu_limit(const struct supervisor *s, const struct result *result)
{
    const uint64_t most = s->plan->cpu_ms;
    if (most == POLICY_UNLIMITED)
        return false;
    if (s->cpu_hit || s->spawn.shared->hit == HIT_CPU)
        return true;
    /* The backstop of one process: only if the tree really used that much. */
    return (result->signal == SIGXCPU || result->signal == SIGKILL) && s->cpu_us >= most * 1000;
}

static void limits_or_end(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    const struct plan *plan = s->plan;
    if (s->timed_out) {
        result_reason(result, "wall time of %" PRIu64 " ms reached", plan->wall_ms);
        conclude(result, STATUS_TIMEOUT, 124);
    } else if (s->oom || shared->hit == HIT_MEMORY) {
        result_reason(result, "memory limit of %" PRIu64 " bytes reached (%s)", plan->mem_bytes,
                      s->oom ? "oom event of the cgroup" : "seen by the watcher");
        conclude(result, STATUS_MEM_LIMIT, 137);
    } else if (cpu_limit(s, result)) {
        result_reason(result, "cpu time of %" PRIu64 " ms reached", plan->cpu_ms);
        conclude(result, STATUS_CPU_LIMIT, 152);
    } else if (s->overflow != 0) {
        result_reason(result, "more than %" PRIu64 " bytes on %s", plan->output_bytes,
                      s->overflow == 1 ? "standard output" : "standard error");
        conclude(result, STATUS_OUTPUT_LIMIT, 153);
    } else if (result->caller_signal != 0) {
        result_reason(result, "the caller sent %s (signal %d)", text_signal_name(result->caller_signal),
                      result->caller_signal);
        conclude(result, result->caller_signal == SIGTERM ? STATUS_KILLED_TERM : STATUS_SIGNALED,
                 128 + result->caller_signal);
    } else if (s->listener_lost) {
        err_set(&result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, 0, "listen to the sandbox",
                "the listener");
        err_why(&result->error, "it was killed from outside, or hangs on a file system");
        verdict_refused(result);
    } else if (shared->hit == HIT_BLIND) {
        err_set(&result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, EMFILE, "watch memory and cpu time",
                "/proc");
        verdict_refused(result);
    } else if (!shared->ended) { /* by the embedding program, the host's out-of-memory killer, ... */
        result_reason(result, s->killed ? "killed by the caller"
                                        : "ended by SIGKILL (signal 9) to the whole sandbox, from outside");
        conclude(result, STATUS_KILLED_KILL, 137);
    } else {
        own_end(s, result);
        violated(s, result);
    }
}

static void warn_of_listener(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    if (shared != NULL && shared->listen_errno != 0)
        result_warn(result, "refused writes are not named: no listener (%s)", text_errno_name(shared->listen_errno));
    if (result->violations.unseen > 0)
        result_warn(result, "%" PRIu64 " calls of processes that cannot be looked into were not named",
                    result->violations.unseen);
    if (result->violations.count == VIOLATIONS_MAX)
        result_warn(result, "only the first %d distinct violations are listed", VIOLATIONS_MAX);
}

void verdict(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    const struct plan *plan = s->plan;
    uint32_t proof = shared == NULL ? 0 : shared->proof;
    const bool failed = never_ran(s, result);

    if (s->init_gone)
        proof |= plan->pidns ? PROOF_TIMER | PROOF_EMPTY : PROOF_TIMER;
    result->cpu_ms = s->cpu_us / 1000;
    result->max_rss_bytes = s->max_rss_bytes;
    if (shared != NULL) {
        result->processes = shared->processes;
        if (shared->mem_peak > result->max_rss_bytes)
            result->max_rss_bytes = shared->mem_peak;
        if (shared->keys_shared)
            result_warn(result, "the user's key quota is used up: no session keyring of its own, the filter "
                                "refuses keyctl instead");
    }
    if (!failed && plan->host->refused.error.kind != CORDON_ERROR_NONE) {
        const struct cordon_error *met = &plan->host->refused.error;
        result_warn(result, "this host refuses %s (%s '%s': %s): run without",
                    plan->bare ? "user namespaces" : "a new procfs", met->what, met->subject,
                    text_errno_name(met->errnum));
    }
    result->violations.watched = (proof & PROOF_LISTENER) != 0;
    warn_of_listener(s, result);
    if (s->trees.unmapped[0] != '\0')
        result_warn(result, "owners in '%s' cannot be mapped: files of root are not the payload's own there",
                    s->trees.unmapped);
    if (!failed && s->hide.linked > 0)
        result_warn(result, "hidden files with other hard links, which are not hidden: %u", s->hide.linked);
    if (failed) {
        verdict_refused(result);
    } else if (shared->executing && shared->exec_errno != 0) {
        spawn_failed(s, result);
    } else {
        if (shared->ended && WIFEXITED(shared->status)) {
            result->exited = true;
            result->exit_code = WEXITSTATUS(shared->status);
        } else if (shared->ended) {
            result->signal = WTERMSIG(shared->status);
        } else {
            result->signal = SIGKILL; /* with init, by us */
        }
        limits_or_end(s, result);
    }
    const bool ran = shared != NULL && shared->executing;
    if (s->options.ledger)
        ledger_fill(&result->ledger, plan, proof, ran);
    if (s->options.ledger && ran && s->trees.partial)
        snprintf(result->ledger.entries[CAP_PRIVILEGES].details, sizeof result->ledger.entries[0].details,
                 "a host uid that only this run uses, but owners in '%s' cannot be id-mapped: files of root are not "
                 "the command's own there", s->trees.unmapped);
    bool partial = false;
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        const struct plan_claim *c = &plan->claims[i];
        partial = partial || (c->requested && (c->mechanism == NULL || (proof & c->proof) != c->proof));
    }
    if (partial && (result->status == STATUS_OK || result->status == STATUS_NONZERO_EXIT))
        result_reason(result, "PARTIAL_ENFORCEMENT");
}
