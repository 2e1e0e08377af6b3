#include "backend/supervised.h"

#include <errno.h>

#include "layer/probe.h"
#include "layer/refusal.h"
#include "result/ending.h"
#include "supervisor/supervisor.h"

int supervised_probe(struct backend_run *run)
{
    struct cordon_error *err = &run->result->error;
    int r = layer_probe(&run->host, run->arena, run->policy, run->env, err);
    return r == 0 && run->tune != NULL ? run->tune(&run->host, err) : r;
}

/* Auto only, and only once: a plan by bwrap that the policy accepts. Where refused writes are to be named the
 * second tier is the better one: bwrap cannot. */
static bool try_bwrap(struct backend_run *run)
{
    struct cordon_error *err = &run->result->error;
    if (run->policy->backend != BACKEND_AUTO || run->host.bwrap != NULL || run->policy->fs_mode == FS_GUARD)
        return false;
    if (supervised_find_bwrap(run, err) == 0 && backend_compile(run, BACKEND_BWRAP) == 0)
        return true;
    *err = (struct cordon_error){0}; /* the reason is what refused the first plan */
    return false;
}

/* Whether another plan can follow this failure. */
static bool has_next(const struct backend_run *run, const struct cordon_error *failure)
{
    if (run->plan.bwrap != NULL)
        return run->policy->backend == BACKEND_AUTO;
    const enum refusal kind = layer_refusal_of(failure);
    return kind != REFUSAL_NONE && !run->plan.bare && !(kind == REFUSAL_PROCFS && run->host.refused.procfs);
}

int supervised_next_plan(struct backend_run *run, const struct cordon_error *failure)
{
    struct host *host = &run->host;
    struct cordon_error *err = &run->result->error;
    if (run->plan.bwrap == NULL) {
        const enum refusal kind = layer_refusal_of(failure);
        host->refused.runtime_dir = run->plan.runtime_dir;
        int r = layer_refusal_note(host, run->arena, run->policy, kind, failure, err);
        if (r < 0)
            return r;
        if (kind == REFUSAL_USERNS && try_bwrap(run))
            return 0;
    }
    if (host_off(host, OFF_NATIVE)) {
        err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PLAN, 0, "find a backend for", policy_backend_name(run->policy->backend));
        err_why(err, "native is switched off, and bwrap is not there or not accepted");
        return -ENOENT;
    }
    return backend_compile(run, BACKEND_NATIVE);
}

/* After an end before anything ran: true if another plan is under way. */
static bool go_on(struct backend_run *run)
{
    struct supervisor *s = run->state;
    const struct cordon_error *failure;
    while ((failure = supervisor_failure(s)) != NULL && has_next(run, failure)) {
        const struct cordon_error met = *failure;
        const bool rehearsal = run->plan.rehearsal;
        supervisor_forget(s);
        /* The caller's own environment may be gone by now. What the plan made of it gives the same
         * again: the rules are idempotent. */
        run->env = run->plan.envp;
        if (supervised_next_plan(run, &met) < 0)
            return false;
        run->plan.rehearsal = rehearsal;
        if (supervisor_again(s) == 0)
            return true;
    }
    return false;
}

int supervised_start(struct backend_run *run)
{
    struct supervisor *s = arena_alloc(run->arena, sizeof *s);
    if (s == NULL)
        return err_set(&run->result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, ENOMEM, "start", "");
    run->state = s;
    int r = supervisor_start(s, &run->plan, &run->wishes, run->result);
    return r < 0 && go_on(run) ? 0 : r;
}

bool supervised_step(struct backend_run *run, bool wait)
{
    return supervisor_step(run->state, wait) && !go_on(run);
}

void supervised_kill(struct backend_run *run)
{
    supervisor_kill(run->state);
}

void supervised_finish(struct backend_run *run)
{
    struct supervisor *s = run->state;
    if (s == NULL) {
        ending_refused(run->result);
        return;
    }
    if (run->wishes.last)
        supervisor_conclude(s);
    else
        supervisor_finish(s);
    run->lost_output = supervisor_lost_output(s);
    run->state = NULL;
}

int supervised_descriptor(const struct backend_run *run)
{
    const struct supervisor *s = run->state;
    return s == NULL ? -1 : s->epoll;
}

void supervised_usage(const struct backend_run *run, struct run_usage *out)
{
    supervisor_usage(run->state, out);
}

void supervised_resize(struct backend_run *run, unsigned rows, unsigned columns)
{
    supervisor_resize(run->state, rows, columns);
}

/* The whole of it, but for the last step. What it leads to is in the plan; how it ended is nobody's. */
void supervised_rehearse(struct backend_run *run)
{
    struct result *result = run->result;
    const struct run_wishes wishes = run->wishes;
    struct result scratch;
    result_init(&scratch);
    run->result = &scratch; // cppcheck-suppress autoVariables ; put back below
    run->wishes = (struct run_wishes){.input = -1, .output = {-1, -1}, .signals = -1};
    run->plan.rehearsal = true;
    bool over = supervised_start(run) < 0;
    while (!over)
        over = supervised_step(run, true);
    supervised_finish(run);
    result->backend_kind = scratch.backend_kind;
    const struct cordon_error none = {0};
    result->error = run->plan.rehearsal ? none : scratch.error;
    run->plan.rehearsal = false;
    run->result = result;
    run->wishes = wishes;
    result_release(&scratch);
}
