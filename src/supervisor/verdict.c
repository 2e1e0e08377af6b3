#include "supervisor/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "result/ending.h"
#include "supervisor/writable.h"

#define LATE_US 5000000 /* what a busy host may take to end what was killed */

/* Links of the host's are not there inside: a shell that went through one has another name for the place. */
static void suggest_directory(struct cordon_error *err)
{
    char remedy[sizeof err->remedy];
    char *straight = realpath(err->subject, NULL);
    if (straight != NULL && strcmp(straight, err->subject) != 0 &&
        (size_t)snprintf(remedy, sizeof remedy, "a symbolic link is on the way on the host; without links it is --cwd %s "
                         "(a shell says it by pwd -P)", straight) < sizeof remedy)
        err_remedy(err, remedy);
    free(straight);
}

/* Nobody outside can send a pid 1 anything but SIGKILL: with another signal it is a fault of our own. */
static void init_is_gone(const struct supervisor *s, struct cordon_error *err)
{
    char how[sizeof err->subject] = "init was killed from outside";
    if (s->init_signal != 0 && s->init_signal != SIGKILL)
        snprintf(how, sizeof how, "init was ended by %s (signal %d)", text_signal_name(s->init_signal), s->init_signal);
    err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, 0, "set up the sandbox", how);
}

/*
 * Before anything ran: which of the three processes gave up. Who is told to end while it begins fails in
 * one way or another; that is not the reason.
 */
static bool never_ran(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    const bool told = s->killed || result->caller_signal != 0;
    if (shared == NULL || told)
        return result->error.kind != CORDON_ERROR_NONE;
    if (shared->failed && shared->error.kind != CORDON_ERROR_NONE)
        result->error = shared->error;
    else if (shared->payload_failed && shared->payload_error.kind != CORDON_ERROR_NONE)
        result->error = shared->payload_error;
    else if (!shared->executing && s->init_gone && !s->oom && result->error.kind == CORDON_ERROR_NONE)
        init_is_gone(s, &result->error);
    if (result->error.errnum == ENOENT && strcmp(result->error.subject, s->plan->cwd) == 0)
        suggest_directory(&result->error);
    return result->error.kind != CORDON_ERROR_NONE;
}

static void warn_of_listener(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    if (shared != NULL && s->plan->fs_mode == FS_GUARD && !s->plan->listen)
        result_warn(result, "refused writes are not named, and no cache is granted: no listener%s",
                    s->plan->backend == BACKEND_BWRAP ? " beneath bwrap" : "");
    if (shared != NULL && shared->listen_errno != 0)
        result_warn(result, "refused writes are not named: no listener (%s)", text_errno_name(shared->listen_errno));
    if (result->violations.unseen > 0)
        result_warn(result, "%" PRIu64 " calls of processes or at places that cannot be looked into were not named",
                    result->violations.unseen);
    if (result->violations.count == VIOLATIONS_MAX)
        result_warn(result, "only the first %d distinct violations are listed", VIOLATIONS_MAX);
}

/* Killed is not dead: who waits for a slow disk, or for a file system that does not answer, dies after that. */
static bool ended_in_time(const struct supervisor *s)
{
    const struct plan *plan = s->plan;
    return plan->wall_ms == POLICY_UNLIMITED ||
           s->ended_us <= s->started_us + (plan->wall_ms + plan->grace_ms) * 1000 + LATE_US;
}

/* A pid namespace ends with init. Elsewhere it must have said that it left nobody: who is left is watched by nobody, either. */
static uint32_t proof_at_end(const struct supervisor *s, uint32_t proof)
{
    const struct plan *plan = s->plan;
    const uint32_t timer = ended_in_time(s) ? PROOF_TIMER : 0;
    if (plan->pidns && !plan_hosted(plan))
        return proof | timer | PROOF_EMPTY;
    return (proof & PROOF_EMPTY) != 0 || !plan_hosted(plan) ? proof | timer : proof & ~(uint32_t)PROOF_WATCHER;
}

static void note_usage(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    result->cpu_ms = s->cpu_us / 1000;
    result->max_rss_bytes = s->max_rss_bytes;
    if (shared == NULL)
        return;
    result->processes = shared->processes;
    if (shared->mem_peak > result->max_rss_bytes)
        result->max_rss_bytes = shared->mem_peak;
    result->violations.unseen += shared->unnamed;
}

/* What was met on the way to the plan that ran. */
static void warn_of_refusal(const struct plan *plan, struct result *result)
{
    const struct cordon_error *met = &plan->host->refused.error;
    if (met->kind != CORDON_ERROR_NONE)
        result_warn(result, "this host refuses %s (%s '%s': %s): run %s",
                    plan_hosted(plan) ? "user namespaces" : "a new procfs", met->what, met->subject,
                    text_errno_name(met->errnum), plan->bwrap != NULL ? "by bwrap" : "without");
}

static void warn(const struct supervisor *s, bool failed, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    const struct plan *plan = s->plan;
    if (shared != NULL && shared->keys_shared)
        result_warn(result, "the user's key quota is used up: no session keyring of its own, the filter "
                            "refuses keyctl instead");
    if (!failed)
        warn_of_refusal(plan, result);
    warn_of_listener(s, result);
    if (s->trees.unmapped[0] != '\0')
        result_warn(result, "owners in '%s' cannot be mapped: files of root are not the payload's own there",
                    s->trees.unmapped);
    if (!failed && s->hide.linked > 0)
        result_warn(result, "hidden files with other hard links, which are not hidden: %u", s->hide.linked);
    if (!failed)
        writable_warn(plan, s->trees.unmapped, result);
    planted_warn(&s->planted, plan, result);
}

static void judge(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    const struct ending ending = {
        .ran = shared->executing,
        .exec_errno = shared->exec_errno,
        .interpreter = shared->interpreter,
        .ended = shared->executing && shared->ended, /* what never began has not ended well */
        .init_signal = s->init_signal,
        .status = shared->status,
        .timed_out = s->timed_out,
        .oom = s->oom,
        .memory_seen = shared->hit == HIT_MEMORY,
        .cpu_seen = s->cpu_hit || shared->hit == HIT_CPU,
        .blind = shared->hit == HIT_BLIND,
        .listener_lost = s->listener_lost,
        .killed = s->killed,
        .overflow = s->overflow,
        .cpu_us = s->cpu_us,
    };
    ending_judge(&ending, s->plan, result);
}

static void fill_ledger(const struct supervisor *s, uint32_t proof, struct result *result)
{
    ledger_fill(&result->ledger, s->plan, proof, result->ran);
    if (result->ran && s->trees.partial)
        snprintf(result->ledger.entries[CAP_PRIVILEGES].details, sizeof result->ledger.entries[0].details,
                 "a host uid that only this run uses, but owners in '%s' cannot be id-mapped: files of root are not "
                 "the command's own there", s->trees.unmapped);
}

void verdict(const struct supervisor *s, struct result *result)
{
    const struct shared *shared = s->spawn.shared;
    const bool failed = never_ran(s, result);
    uint32_t proof = shared == NULL ? 0 : shared->proof;
    if (s->init_gone)
        proof = proof_at_end(s, proof);
    result->violations.watched = (proof & PROOF_LISTENER) != 0;
    note_usage(s, result);
    warn(s, failed, result);
    if (failed)
        ending_refused(result);
    else
        judge(s, result);
    result->ran = shared != NULL && shared->executing;
    if (s->wishes.ledger)
        fill_ledger(s, proof, result);
    ending_tell_partial(s->plan, proof, result);
}
