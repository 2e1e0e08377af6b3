/*
 * The ledger's side of the plan: for each capability whether it was asked for, by what it will
 * hold, and which proofs that takes. Here is decided whether a run is partial. The words for
 * people are made later, and only if somebody wants them (describe.c).
 */
#include "plan/build.h"

#include <errno.h>
#include <string.h>

static const char *cgroup_name(const struct plan_build *b, enum cgroup_controller c)
{
    return cgroup_version_name(b->request->host->cgroup.controllers[c].version);
}

static void pids(struct plan_build *b)
{
    struct plan *plan = b->plan;
    struct plan_claim *c = &plan->claims[CAP_PIDS];
    c->requested = b->policy.limits.pids != POLICY_UNLIMITED;
    if (plan->cgroup.pids != POLICY_UNLIMITED)
        claim_holds(c, cgroup_name(b, CGROUP_PIDS), PROOF_CGROUP);
    else if (plan->bare && plan->gate)
        claim_holds(c, "fork gate", PROOF_GATE | PROOF_SIGHT);
    else if (plan->nproc != 0)
        claim_holds(c, "rlimit", PROOF_NPROC | PROOF_USERNS | PROOF_IDENTITY);
    else
        claim_cannot(c, "neither a pids cgroup nor a limit for each user");
}

static void cpu_time(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *c = &b->plan->claims[CAP_CPU_TIME];
    c->requested = b->policy.limits.cpu_ms != POLICY_UNLIMITED;
    if (plan->cgroup.cpu_usage)
        claim_holds(c, cgroup_name(b, CGROUP_CPUACCT), PROOF_CGROUP);
    else if (plan->watch_cpu && plan->seccomp == SECCOMP_OFF)
        claim_cannot(c, "without a cgroup and without a filter the payload could starve the watcher");
    else if (plan->watch_cpu)
        claim_holds(c, "sampling", PROOF_WATCHER | PROOF_SECCOMP);
    else
        claim_cannot(c, "no cgroup and no watcher");
}

static void memory(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *c = &b->plan->claims[CAP_MEMORY];
    c->requested = b->policy.limits.mem_bytes != POLICY_UNLIMITED;
    if (plan->cgroup.mem_bytes != POLICY_UNLIMITED && plan->seccomp == SECCOMP_OFF && b->request->host->huge_pages)
        claim_partly(c, cgroup_name(b, CGROUP_MEMORY), PROOF_CGROUP,
                     "without a filter huge pages can be had, which the cgroup does not count");
    else if (plan->cgroup.mem_bytes != POLICY_UNLIMITED)
        claim_holds(c, cgroup_name(b, CGROUP_MEMORY), PROOF_CGROUP);
    else if (plan->watch_memory && plan->seccomp == SECCOMP_OFF)
        claim_cannot(c, "without a cgroup and without a filter a memfd is memory that nobody counts");
    else if (plan->watch_memory)
        claim_holds(c, "watcher", PROOF_WATCHER | PROOF_SECCOMP | PROOF_SMALL_PAGES);
    else
        claim_cannot(c, "no memory cgroup that this caller may write, and no watcher");
}

static void limits(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const struct policy_limits *asked = &b->policy.limits;
    struct plan_claim *c = &plan->claims[CAP_WALL_TIME];

    c->requested = asked->wall_ms != POLICY_UNLIMITED;
    claim_holds(c, "supervisor timer", PROOF_TIMER | PROOF_PIDNS);
    cpu_time(b);

    c = &plan->claims[CAP_CPU_RATE];
    c->requested = asked->cpus > 0;
    if (plan->cgroup.cpu_quota_us != 0)
        claim_holds(c, cgroup_name(b, CGROUP_CPU), PROOF_CGROUP);
    else
        claim_cannot(c, "no cpu cgroup that this caller may write");
    memory(b);
    pids(b);

    c = &plan->claims[CAP_OPEN_FILES];
    c->requested = asked->nofile != POLICY_UNLIMITED;
    if (plan->nofile != 0)
        claim_holds(c, "rlimit", PROOF_NOFILE);
    else
        claim_cannot(c, "no limit for each process");

    c = &plan->claims[CAP_OUTPUT];
    c->requested = asked->output_bytes != POLICY_UNLIMITED;
    claim_holds(c, "supervisor", 0);
}

/* Something mounted on a name hides it here, and not in a snapshot that its file system makes. */
static bool covers_names(const struct plan *plan)
{
    for (size_t i = 0; i < plan->hide_count; i++) {
        if (!plan->hides[i].overlay)
            return true;
    }
    return false;
}

static void files(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const bool mounts = plan->own_tree;
    const bool covers = covers_names(plan);
    struct plan_claim *c = &plan->claims[CAP_FILESYSTEM];

    c->requested = true;
    const uint32_t proof = PROOF_MOUNTNS | PROOF_READONLY |
                           (plan->landlock_abi > 0 ? (unsigned)PROOF_LANDLOCK : 0) |
                           (plan->hide_count > 0 ? (unsigned)PROOF_HIDDEN : 0) |
                           (covers && plan->seccomp != SECCOMP_OFF ? (unsigned)PROOF_SECCOMP : 0);
    const char *mechanism = plan->landlock_abi > 0 ? "mount namespace, landlock" : "mount namespace";
    if (!mounts)
        claim_cannot(c, "no mounts of its own");
    else if (plan->hide_gap != NULL)
        claim_partly(c, mechanism, proof, plan->hide_gap);
    else if (covers && plan->seccomp == SECCOMP_OFF)
        claim_partly(c, mechanism, proof,
                     "without the filter a snapshot (btrfs) shows names that are hidden in a writable tree or the host's own");
    else
        claim_holds(c, mechanism, proof);

    c = &plan->claims[CAP_DEVICES];
    c->requested = true;
    if (mounts)
        claim_holds(c, "minimal /dev", PROOF_DEVICES | PROOF_MOUNTNS);
    else
        claim_cannot(c, "the host's /dev is visible");
}

static void network(struct plan_build *b)
{
    struct plan *plan = b->plan;
    struct plan_claim *c = &plan->claims[CAP_NETWORK];

    c->requested = b->policy.net != NET_HOST;
    if (!plan->netns)
        claim_cannot(c, "the network is the host's");
    else if (plan->seccomp == SECCOMP_OFF)
        claim_cannot(c, "without a filter on socket families AF_VSOCK leaves the network namespace");
    else
        claim_holds(c, "network namespace, seccomp", PROOF_NETNS | PROOF_NET_QUIET | PROOF_SECCOMP);

    c = &plan->claims[CAP_IPC];
    c->requested = true;
    if (!plan->ipcns)
        claim_cannot(c, "System V and POSIX queues are the host's");
    else if (!plan->keyring)
        claim_cannot(c, "the session keyring is the caller's");
    else if (!plan->switch_user && plan->seccomp == SECCOMP_OFF)
        claim_cannot(c, "without the filter keyctl() reaches the keyrings of the caller's user");
    else if (plan->netns)
        claim_holds(c, "ipc and network namespace, keyring", PROOF_IPCNS | PROOF_NETNS | PROOF_KEYRING);
    else if (plan_scopes_sockets(plan))
        claim_holds(c, "ipc namespace, landlock scope, keyring", PROOF_IPCNS | PROOF_LANDLOCK | PROOF_KEYRING);
    else /* abstract sockets belong to the network, which net host shares by choice */
        claim_holds(c, "ipc namespace, keyring", PROOF_IPCNS | PROOF_KEYRING);
}

static void privileges(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *c = &b->plan->claims[CAP_PRIVILEGES];
    const bool writes = b->policy.rw.count > 0 || b->policy.rw_cwd || b->policy.work == WORK_HOST;
    /* The limit on namespaces inside is set in a procfs of its own; else the filter refuses them. */
    const bool filtered = (plan->host_proc || !plan->pidns) && plan->seccomp != SECCOMP_OFF;

    c->requested = true;
    if (!plan->drop_caps)
        claim_cannot(c, "capabilities inside the user namespace are kept");
    else if (plan->seccomp == SECCOMP_OFF && writes)
        claim_cannot(c, "without the filter a set-user-ID file can be left in a writable bind");
    else
        claim_holds(c, "user namespace",
                    PROOF_USERNS | PROOF_NO_CAPS | PROOF_BOUNDING | PROOF_NO_NEW_PRIVS | PROOF_IDENTITY |
                        (filtered ? PROOF_SECCOMP : PROOF_NO_NESTING));
    if (c->mechanism != NULL && plan->switch_user && plan->own_tree && plan->fs_mode == FS_GUARD)
        c->proof |= PROOF_MAPPED;
}

static void processes(struct plan_build *b)
{
    struct plan *plan = b->plan;
    struct plan_claim *c = &plan->claims[CAP_SYSCALLS];

    c->requested = b->policy.seccomp != SECCOMP_OFF;
    if (plan->seccomp != SECCOMP_OFF)
        claim_holds(c, "seccomp", PROOF_SECCOMP);
    else
        claim_cannot(c, "no filter");
    privileges(b);

    c = &plan->claims[CAP_ENVIRONMENT];
    c->requested = true;
    if (plan->wipe && plan->host_proc && plan->landlock_abi == 0)
        claim_cannot(c, "processes of the caller's outside are in /proc, and Landlock is not there to close them");
    else if (plan->wipe)
        claim_holds(c, "rebuilt", PROOF_INIT_SEALED | (plan->host_proc ? (unsigned)PROOF_LANDLOCK : 0));
    else
        claim_cannot(c, "the caller's environment is in the memory of init");

    c = &plan->claims[CAP_PROCESSES];
    c->requested = true;
    if (plan->pidns)
        claim_holds(c, "pid namespace", PROOF_PIDNS | PROOF_EMPTY);
    else
        claim_cannot(c, "no pid namespace");
}

static int unmet(struct plan_build *b, const char *want, const struct plan_claim *have)
{
    err_set(b->err, CORDON_ERROR_PARTIAL, CORDON_LAYER_PLAN, 0, "satisfy requirement", want);
    if (have == NULL) {
        err_why(b->err, "there is no such capability");
    } else if (!have->requested) {
        err_why(b->err, "the policy does not ask for this capability");
        err_remedy(b->err, "give it a limit, or take a profile that asks for it: cordon policy show prints what one asks for");
    } else if (have->mechanism == NULL) {
        err_why(b->err, have->why);
    } else {
        char why[128] = "this host would use ";
        strncat(why, have->mechanism, sizeof why - strlen(why) - 1);
        err_why(b->err, why);
    }
    return -EOPNOTSUPP;
}

/* Before exec, that is: the end of the run proves EMPTY; the supervisor answers for TIMER. */
static void must_be_seen(struct plan *plan, const struct plan_claim *claim)
{
    plan->must |= claim->proof & ~(uint32_t)(PROOF_EMPTY | PROOF_TIMER);
}

/* The policy's "require": a capability, or a rung of its ladder, named by a word of its mechanism. */
static int requirements(struct plan_build *b)
{
    for (size_t i = 0; i < b->policy.require.count; i++) {
        const char *want = b->policy.require.items[i];
        const char *rung = NULL;
        const int c = capability_of(want, &rung);
        const struct plan_claim *have = c < 0 ? NULL : &b->plan->claims[c];
        if (have == NULL || !have->requested || have->mechanism == NULL ||
            (rung != NULL && !capability_names_word(have->mechanism, rung)))
            return unmet(b, want, have);
        must_be_seen(b->plan, have); /* whatever else may be partial */
    }
    return 0;
}

int plan_build_claims(struct plan_build *b)
{
    struct plan *plan = b->plan;
    limits(b);
    files(b);
    network(b);
    processes(b);
    if (plan->bare)
        plan_bare_claims(b);
    else if (plan->bwrap != NULL)
        plan_bwrap_claims(b);
    else if (plan_portable(plan))
        plan_portable_claims(b);
    /* Whoever chose no isolation by its name has been told, and is told again by the ledger. */
    const bool accepted = b->policy.allow_partial || plan->backend == BACKEND_NONE;

    int missing = -1;
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        struct plan_claim *c = &plan->claims[i];
        if (plan_off(b, (enum capability)i))
            claim_cannot(c, "switched off for a test");
        if (!c->requested) {
            claim_cannot(c, "not asked for");
        } else if (c->mechanism == NULL) {
            missing = missing < 0 ? i : missing;
        } else if (!accepted) {
            must_be_seen(plan, c);
        }
    }
    int r = requirements(b);
    if (r == 0 && missing >= 0 && !accepted) {
        if (plan->bare)
            return plan_bare_refusal(b, (enum capability)missing);
        r = -EOPNOTSUPP;
        err_set(b->err, CORDON_ERROR_PARTIAL, CORDON_LAYER_PLAN, 0, "enforce",
                capability_name((enum capability)missing));
        err_why(b->err, plan->claims[missing].why);
        err_remedy(b->err, "--allow-partial runs without it and says so in the result");
    }
    return r;
}
