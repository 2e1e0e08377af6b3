#include "backend/backend.h"

#include <stdio.h>

#include "base/variable.h"
#include "result/ending.h"

static const struct backend *of(enum policy_backend which)
{
    switch (which) {
    case BACKEND_BWRAP:
        return &backend_bwrap;
    case BACKEND_POSIX:
        return &backend_posix;
    case BACKEND_NONE:
        return &backend_none;
    default:
        return &backend_native; /* auto begins with it */
    }
}

int backend_compile(struct backend_run *run, enum policy_backend by)
{
    const struct plan_request request = {.policy = run->policy,
                                         .host = &run->host,
                                         .backend = by,
                                         .command = run->command,
                                         .caller_env = run->env,
                                         .work = run->work,
                                         .guard = run->guard,
                                         .tty = run->tty};
    struct result *result = run->result;
    int r = plan_compile(&run->plan, run->arena, &request, &result->error);
    result->backend_kind = of(by)->kind;
    result->backend_effective = of(by)->effective;
    snprintf(result->bwrap_path, sizeof result->bwrap_path, "%s",
             by == BACKEND_BWRAP && run->host.bwrap != NULL ? run->host.bwrap : "");
    return r;
}

int backend_plan(struct backend_run *run)
{
    run->backend = of(run->policy->backend);
    run->result->backend_kind = run->backend->kind;
    run->result->backend_effective = run->backend->effective;
    const char *path = variable_of(run->env, "PATH");
    run->path = path == NULL ? NULL : arena_strdup(run->arena, path);
    int r = run->backend->plan(run);
    if (r == 0)
        return 0;
    ending_refused(run->result);
    if (run->plan.policy != NULL)
        ledger_fill(&run->result->ledger, &run->plan, 0, false);
    return r;
}

void backend_rehearse(struct backend_run *run)
{
    if (run->backend->rehearse != NULL)
        run->backend->rehearse(run);
}

int backend_start(struct backend_run *run)
{
    return run->backend->start(run);
}

bool backend_step(struct backend_run *run, bool wait)
{
    return run->backend->step(run, wait);
}

void backend_kill(struct backend_run *run)
{
    run->backend->kill(run);
}

/* A limit that somebody named is not what holds for the document; one that nobody did, if it matters. */
static void tell_capture(const struct backend_run *run)
{
    struct result *result = run->result;
    const bool cut = result->out.bytes > PLAN_CAPTURE_MAX || result->err.bytes > PLAN_CAPTURE_MAX;
    const bool named = run->policy->limits.output_given || run->plan.output_bytes != POLICY_UNLIMITED;
    if (result->ran && run->wishes.capture && run->plan.output_bytes > PLAN_CAPTURE_MAX && (named || cut))
        result_warn(result, "the result keeps the first 64 MiB of each stream, which is less than the output limit "
                            "allows%s", cut ? "; what came after them is not in it" : "");
}

void backend_finish(struct backend_run *run)
{
    run->backend->finish(run);
    tell_capture(run);
}

int backend_descriptor(const struct backend_run *run)
{
    return run->backend->descriptor(run);
}

bool backend_usage(const struct backend_run *run, struct run_usage *out)
{
    if (run->backend->usage == NULL || run->state == NULL)
        return false;
    run->backend->usage(run, out);
    return true;
}

void backend_resize(struct backend_run *run, unsigned rows, unsigned columns)
{
    if (run->backend->resize != NULL && run->state != NULL)
        run->backend->resize(run, rows, columns);
}
