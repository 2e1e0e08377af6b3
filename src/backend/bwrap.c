/* bwrap: bubblewrap makes the namespaces and the tree; supervisor, limits, filter and proofs are ours. */
#include <errno.h>
#include <stdatomic.h>

#include "backend/bwrap_find.h"
#include "backend/supervised.h"

static int not_found(const struct bwrap_found *found, struct cordon_error *err)
{
    err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PLAN, 0, "use", found->why == NULL ? "bwrap" : found->refused);
    err_why(err, found->why == NULL ? "it is neither in the trusted places nor in PATH" : found->why);
    err_remedy(err, "install bubblewrap, or use --backend native");
    return -ENOENT;
}

int supervised_find_bwrap(struct backend_run *run, struct cordon_error *err)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT; /* once a process is enough */
    struct bwrap_found found = {.trusted = true};
    if (run->host.bwrap != NULL)
        return 0;
    if (host_off(&run->host, OFF_BWRAP) || bwrap_find(&found, run->path) < 0)
        return not_found(&found, err);
    run->host.bwrap = arena_strdup(run->arena, found.path);
    if (run->host.bwrap == NULL)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PLAN, ENOMEM, "use", "bwrap");
    if (!found.trusted && !atomic_flag_test_and_set(&warned))
        result_warn(run->result, "bwrap is taken from PATH, not from a place of the system's: %.200s", found.path);
    return 0;
}

static int plan(struct backend_run *run)
{
    int r = supervised_probe(run);
    if (r == 0)
        r = supervised_find_bwrap(run, &run->result->error);
    return r < 0 ? r : backend_compile(run, BACKEND_BWRAP);
}

const struct backend backend_bwrap = {
    .kind = "bwrap",
    .effective = true,
    .plan = plan,
    .start = supervised_start,
    .step = supervised_step,
    .kill = supervised_kill,
    .finish = supervised_finish,
    .usage = supervised_usage,
    .descriptor = supervised_descriptor,
};
