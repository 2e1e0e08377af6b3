/* The order of the compiler: identity and namespaces, files, payload, limits, claims. */
#include "plan/build.h"

#include <errno.h>

int plan_no_memory(struct plan_build *b)
{
    return err_set(b->err, CORDON_ERROR_SETUP, CORDON_LAYER_PLAN, ENOMEM, "make the plan", "");
}

static void identity(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const struct host *host = b->request->host;
    const bool nobody = b->policy.uid == UID_NOBODY;

    plan->switch_user = host->uid == 0 && !plan_portable(plan);
    plan->uid_host = plan->switch_user ? host->spare_uid : host->uid;
    plan->gid_host = plan->switch_user ? (gid_t)host->spare_uid : host->gid;
    if (plan_on_host_paths(plan)) { /* there is no other number than the host's */
        plan->uid_inside = plan->uid_host;
        plan->gid_inside = plan->gid_host;
    } else {
        plan->uid_inside = nobody ? PLAN_NOBODY : host->uid;
        plan->gid_inside = nobody ? PLAN_NOBODY : host->gid;
    }
    plan->drop_caps = !host_off(host, OFF_CAPABILITIES) && !plan_off(b, CAP_PRIVILEGES);
}

static void namespaces(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const struct host *host = b->request->host;

    plan->keyring = !host_off(host, OFF_KEYRING) && !plan_off(b, CAP_IPC);
    plan->wipe = !host_off(host, OFF_WIPE) && !plan_off(b, CAP_ENVIRONMENT);
    if (plan_portable(plan)) {
        plan->keyring = plan->wipe = plan->drop_caps = false;
        plan->host_proc = true;
        return;
    }
    if (plan->bare) {
        plan->host_proc = true;
        plan->gate = !host_off(host, OFF_GATE) && !plan_off(b, CAP_PROCESSES);
        return;
    }
    plan->pidns = !plan_off(b, CAP_PROCESSES);
    plan->host_proc = !plan->pidns || host->refused.procfs;
    plan->netns = b->policy.net != NET_HOST && !host_off(host, OFF_NETNS) && !plan_off(b, CAP_NETWORK);
    plan->loopback = plan->netns && b->policy.net == NET_LOOPBACK;
    plan->ipcns = !host_off(host, OFF_IPCNS) && !plan_off(b, CAP_IPC);
    plan->cgroupns = true;
    if (plan->bwrap != NULL) {
        plan->gate = true; /* by it bwrap's own exec is seen */
        plan->loopback = plan->netns; /* bwrap brings it up in any case */
        plan->host_proc = false;
    }
}

/* What was asked for and this backend does not have is refused by name, never ignored. */
static int refuse_unbuilt(struct plan_build *b)
{
    const bool foreign = b->plan->backend != BACKEND_NATIVE;
    const char *what = b->plan->tty && foreign ? "--tty" : b->policy.hide.count > 0 && foreign ? "hide" : NULL;
    if (b->plan->bare && b->plan->tty) {
        err_set(b->err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0, "make a terminal for", b->request->command[0]);
        err_why(b->err, "this host refuses user namespaces, and a terminal of the host's is not given away");
        return -EINVAL;
    }
    if (what == NULL)
        return 0;
    err_set(b->err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0, "use", what);
    err_why(b->err, "only the native backend has it");
    return -EINVAL;
}

/* Where a cgroup holds the limits, the command, which is the caller's user, could lift them. */
static int keep_cgroups(struct plan_build *b)
{
    if (!b->plan->use_cgroup || b->plan->switch_user)
        return 0;
    for (size_t i = 0; i < plan_writable_trees(b); i++) {
        const char *tree = plan_writable_tree(b, i);
        if (tree == NULL ||
            (!policy_path_beneath(tree, HOST_CGROUP_ROOT) && !policy_path_beneath(HOST_CGROUP_ROOT, tree)))
            continue;
        err_set(b->err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0, "make writable", tree);
        err_why(b->err, "the cgroup of this run is in it, and with it the limits that are set there");
        err_remedy(b->err, "show it read-only (--ro), or name what is to be written beside it");
        return -EINVAL;
    }
    return 0;
}

int plan_compile(struct plan *plan, struct arena *arena, const struct plan_request *request,
                 struct cordon_error *err)
{
    struct plan_build b = {
        .plan = plan, .arena = arena, .request = request, .policy = *request->policy, .err = err};
    *plan = (struct plan){.arena = arena, .policy = request->policy, .host = request->host,
                           .work = request->work, .guard = request->guard, .tty = request->tty};
    plan->backend = request->backend == BACKEND_AUTO ? BACKEND_NATIVE : request->backend;
    plan->bare = plan->backend == BACKEND_NATIVE && request->host->refused.userns;
    plan->bwrap = plan->backend == BACKEND_BWRAP ? request->host->bwrap : NULL;
    identity(&b);
    namespaces(&b);
    plan_build_limits(&b);
    int r = refuse_unbuilt(&b);
    if (r == 0)
        r = keep_cgroups(&b);
    if (r == 0)
        r = plan->bare             ? plan_build_bare_files(&b)
            : plan_portable(plan) ? plan_build_portable_files(&b)
                                  : plan_build_files(&b);
    if (r == 0 && plan->own_tree)
        r = plan_build_hide(&b);
    /* bwrap has a listener already, and a task can have one. */
    plan->listen = plan->fs_mode == FS_GUARD && !host_off(request->host, OFF_LISTENER) && plan->backend == BACKEND_NATIVE;
    if (r == 0)
        r = plan_build_payload(&b);
    if (r < 0)
        b.err = NULL; /* the first failure is the reason; what follows from it is not */
    int claims = plan_build_claims(&b); /* also after a failure: the ledger is in every result */
    return r < 0 ? r : claims;
}
