/* What a host refuses is learnt from a run that it refused; this makes the next one. */
#include "layer/refusal.h"
#include "supervisor/supervisor.h"

/* The failure that ended the set-up; NULL: it got further, or there was none. */
static const struct cordon_error *failure_of(const struct supervisor *s)
{
    const struct shared *shared = s->spawn.shared;
    if (s->killed || s->result->caller_signal != 0 || (shared != NULL && shared->executing))
        return NULL;
    if (s->result->error.kind != CORDON_ERROR_NONE)
        return &s->result->error;
    if (shared != NULL && shared->failed && shared->error.kind != CORDON_ERROR_NONE)
        return &shared->error;
    return shared != NULL && shared->payload_failed ? &shared->payload_error : NULL;
}

bool supervisor_fall_back(struct supervisor *s, struct plan *plan, struct host *host)
{
    const struct cordon_error *failure = failure_of(s);
    const enum refusal kind = failure == NULL ? REFUSAL_NONE : layer_refusal_of(failure);
    if (kind == REFUSAL_NONE || plan->bare || (kind == REFUSAL_PROCFS && host->refused.procfs))
        return false;

    struct result *result = s->result;
    const struct cordon_error met = *failure;
    /* The caller's own environment may be gone by now. What the first plan made of it gives the same
     * again: the rules are idempotent. */
    const struct plan_request request = {
        .policy = plan->policy, .host = host, .command = plan->argv, .caller_env = plan->envp, .work = plan->work,
        .guard = plan->guard, .tty = plan->tty};
    struct arena *arena = plan->arena;
    if (s->spawn.shared != NULL)
        s->spawn.shared->failed = s->spawn.shared->payload_failed = false;
    result->error = (struct cordon_error){0};
    host->refused.runtime_dir = plan->runtime_dir;
    int r = layer_refusal_note(host, arena, plan->policy, kind, &met, &result->error);
    if (r == 0)
        r = plan_compile(plan, arena, &request, &result->error);
    return r == 0 && supervisor_again(s) == 0;
}
