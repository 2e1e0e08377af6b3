/*
 * The ledger's side of the plan: for each capability what was asked for, by what it will hold,
 * which proofs it takes, and how well it holds. Here is decided whether a run is partial.
 */
#include "plan/build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct plan_claim *claim(struct plan_build *b, enum capability c)
{
    return &b->plan->claims[c];
}

static void requested_number(struct plan_claim *c, uint64_t value)
{
    if (value == POLICY_UNLIMITED)
        snprintf(c->requested, sizeof c->requested, "null");
    else
        snprintf(c->requested, sizeof c->requested, "%" PRIu64, value);
}

static void requested_word(struct plan_claim *c, const char *word)
{
    snprintf(c->requested, sizeof c->requested, "\"%s\"", word);
}

static bool is_requested(const struct plan_claim *c)
{
    return strcmp(c->requested, "null") != 0;
}

__attribute__((format(printf, 4, 5))) static void holds(struct plan_claim *c, const char *mechanism,
                                                        uint32_t proof, const char *fmt, ...)
{
    va_list args;
    c->mechanism = mechanism;
    c->proof = proof;
    va_start(args, fmt);
    vsnprintf(c->details, sizeof c->details, fmt, args);
    va_end(args);
}

static void cannot(struct plan_claim *c, const char *why)
{
    holds(c, NULL, 0, "%s", why);
}

static enum cgroup_version version_of(const struct plan_build *b, enum cgroup_controller c)
{
    return b->request->host->cgroup.controllers[c].version;
}

static const char *route_of(const struct plan_build *b, enum cgroup_controller c)
{
    return cgroup_route_note(b->request->host->cgroup.controllers[c].route);
}

static void times(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *wall = claim(b, CAP_WALL_TIME);
    struct plan_claim *cpu = claim(b, CAP_CPU_TIME);

    requested_number(wall, b->policy.limits.wall_ms);
    if (plan->wall_ms != POLICY_UNLIMITED)
        holds(wall, "supervisor timer", PROOF_TIMER | PROOF_PIDNS,
              "SIGTERM at %" PRIu64 " ms, everything inside is killed %" PRIu64 " ms later",
              plan->wall_ms, plan->grace_ms);
    else
        cannot(wall, "no timer");

    requested_number(cpu, b->policy.limits.cpu_ms);
    if (plan->cgroup.cpu_usage)
        holds(cpu, cgroup_version_name(version_of(b, CGROUP_CPUACCT)), PROOF_CGROUP,
              "total of the tree, read at least every 100 ms: it may be exceeded by 100 ms on each core");
    else if (plan->watch_cpu)
        holds(cpu, "sampling", PROOF_WATCHER,
              "total of the tree, sampled at least every 100 ms; children that are reaped by "
              "nobody (SIGCHLD ignored) between two samples are missed; the backstop is wall time "
              "on each core");
    else
        cannot(cpu, "no cgroup and no watcher");
}

static void memory(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *c = claim(b, CAP_MEMORY);
    requested_number(c, b->policy.limits.mem_bytes);
    if (plan->cgroup.mem_bytes != POLICY_UNLIMITED)
        holds(c, cgroup_version_name(version_of(b, CGROUP_MEMORY)), PROOF_CGROUP,
              "sum of the tree, enforced by the kernel%s", route_of(b, CGROUP_MEMORY));
    else if (plan->watch_memory)
        holds(c, "watcher", PROOF_WATCHER | (plan->seccomp != SECCOMP_OFF ? (uint32_t)PROOF_SECCOMP : 0),
              "sum of the tree's anonymous and shared pages and its tmpfs files, sampled every 2 "
              "to 100 ms by headroom: about 64 MiB over the limit are possible; kernel memory is "
              "not counted; memfd_create and shmget are not available");
    else
        cannot(c, "no memory cgroup that this caller may write, and no watcher");
}

static void pids(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *c = claim(b, CAP_PIDS);
    requested_number(c, b->policy.limits.pids);
    if (plan->cgroup.pids != POLICY_UNLIMITED)
        holds(c, cgroup_version_name(version_of(b, CGROUP_PIDS)), PROOF_CGROUP,
              "tasks of the tree, threads too%s", route_of(b, CGROUP_PIDS));
    else if (plan->nproc != 0)
        holds(c, "rlimit", PROOF_NPROC | PROOF_USERNS | PROOF_IDENTITY,
              "RLIMIT_NPROC, counted inside the own user namespace only; threads count");
    else
        cannot(c, "neither a pids cgroup nor a limit for each user");
}

static void files(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *nofile = claim(b, CAP_OPEN_FILES);
    struct plan_claim *output = claim(b, CAP_OUTPUT);
    struct plan_claim *fs = claim(b, CAP_FILESYSTEM);
    struct plan_claim *devices = claim(b, CAP_DEVICES);

    requested_number(nofile, b->policy.limits.nofile);
    if (plan->nofile != 0)
        holds(nofile, "rlimit", PROOF_NOFILE, "for each process");
    else
        cannot(nofile, "no limit for each process");

    requested_number(output, b->policy.limits.output_bytes);
    if (plan->output_bytes != POLICY_UNLIMITED)
        holds(output, "supervisor", 0, "each stream; %s%s",
              plan->on_overflow == OVERFLOW_KILL ? "more ends the run" : "more is counted and dropped",
              plan->output_passing ? "" : "; output that passes through is not cut");
    else
        cannot(output, "no cap");

    const bool mounts = plan->step_count > 0;
    requested_word(fs, policy_fs_mode_name(b->policy.fs_mode));
    if (!mounts)
        cannot(fs, "no mounts of its own");
    else if (plan->landlock_abi > 0)
        holds(fs, "mount namespace, landlock", PROOF_MOUNTNS | PROOF_READONLY | PROOF_LANDLOCK,
              "Landlock ABI %d is the second layer%s", plan->landlock_abi,
              plan->landlock_abi < 3 ? "; it does not check truncate() before ABI 3" : "");
    else
        holds(fs, "mount namespace", PROOF_MOUNTNS | PROOF_READONLY,
              "there is no second layer: Landlock is not available");

    snprintf(devices->requested, sizeof devices->requested, "true");
    if (mounts && !plan_off(b, CAP_DEVICES))
        holds(devices, "minimal /dev", PROOF_DEVICES | PROOF_MOUNTNS,
              "null, zero, full, random, urandom and own pseudo-terminals");
    else
        cannot(devices, "the host's /dev is visible");
}

static void network(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *c = claim(b, CAP_NETWORK);
    if (b->policy.net == NET_HOST)
        snprintf(c->requested, sizeof c->requested, "null");
    else
        requested_word(c, policy_net_name(b->policy.net));

    if (!plan->netns)
        cannot(c, "the network is the host's");
    else if (plan->seccomp == SECCOMP_OFF)
        cannot(c, "without a filter on socket families AF_VSOCK leaves the network namespace");
    else
        holds(c, "network namespace, seccomp", PROOF_NETNS | PROOF_NET_QUIET | PROOF_SECCOMP,
              plan->loopback ? "an own loopback interface and no other"
                             : "no interface is up; other socket families are refused");
}

static void processes(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    const struct host *host = b->request->host;
    struct plan_claim *c = claim(b, CAP_SYSCALLS);
    if (b->policy.seccomp == SECCOMP_OFF)
        snprintf(c->requested, sizeof c->requested, "null");
    else
        requested_word(c, policy_seccomp_name(b->policy.seccomp));
    if (plan->seccomp != SECCOMP_OFF)
        holds(c, "seccomp", PROOF_SECCOMP, "allow list, all architectures; a forbidden call %s",
              plan->on_forbidden == FORBIDDEN_KILL ? "kills" : "fails");
    else
        cannot(c, "no filter");

    c = claim(b, CAP_PRIVILEGES);
    snprintf(c->requested, sizeof c->requested, "true");
    if (!plan->drop_caps)
        cannot(c, "capabilities inside the user namespace are kept");
    else if (plan->switch_user)
        holds(c, "user namespace", PROOF_USERNS | PROOF_NO_CAPS | PROOF_NO_NEW_PRIVS | PROOF_IDENTITY,
              "host uid %u, used by this run only; no supplementary groups", plan->uid_host);
    else
        holds(c, "user namespace", PROOF_USERNS | PROOF_NO_CAPS | PROOF_NO_NEW_PRIVS | PROOF_IDENTITY,
              "the caller's own host uid; %u supplementary groups of the caller stay, an ordinary "
              "user cannot drop them", host->groups);

    c = claim(b, CAP_ENVIRONMENT);
    snprintf(c->requested, sizeof c->requested, "true");
    if (plan->wipe)
        holds(c, "rebuilt", PROOF_INIT_SEALED, "init holds no copy of the caller's and cannot be read");
    else
        cannot(c, "the caller's environment is in the memory of init");

    c = claim(b, CAP_PROCESSES);
    snprintf(c->requested, sizeof c->requested, "true");
    if (plan->pidns)
        holds(c, "pid namespace", PROOF_PIDNS | PROOF_EMPTY,
              "the kernel ends all with init; init was the last one and was reaped");
    else
        cannot(c, "no pid namespace");
}

static void ipc(struct plan_build *b)
{
    const struct plan *plan = b->plan;
    struct plan_claim *c = claim(b, CAP_IPC);
    const bool scoped = plan->landlock_abi >= 6;
    const bool binds = b->policy.rw.count + b->policy.ro.count > 0 || b->policy.rw_cwd ||
                       b->policy.work == WORK_HOST;
    const char *sockets =
        b->policy.fs_mode == FS_GUARD ? "; unix sockets outside /run can still be reached"
        : binds                       ? "; unix sockets inside the listed binds can be reached"
                                      : "";
    /* Abstract sockets belong to the network namespace, which net host shares by choice. */
    if (plan->netns || scoped)
        requested_word(c, "private");
    else
        requested_word(c, "private, but abstract sockets of the host's network");

    if (!plan->ipcns)
        cannot(c, "System V and POSIX queues are the host's");
    else if (!plan->keyring)
        cannot(c, "the session keyring is the caller's");
    else if (plan->netns)
        holds(c, "ipc and network namespace, keyring", PROOF_IPCNS | PROOF_NETNS | PROOF_KEYRING,
              "own System V, queues, abstract sockets and session keyring%s", sockets);
    else if (scoped)
        holds(c, "ipc namespace, landlock scope, keyring", PROOF_IPCNS | PROOF_LANDLOCK | PROOF_KEYRING,
              "own System V, queues and session keyring; abstract sockets outside cannot be "
              "reached%s", sockets);
    else
        holds(c, "ipc namespace, keyring", PROOF_IPCNS | PROOF_KEYRING,
              "own System V, queues and session keyring%s", sockets);
}

/* The policy's "require": a capability, or a rung of its ladder. */
static int requirements(struct plan_build *b)
{
    for (size_t i = 0; i < b->policy.require.count; i++) {
        const char *want = b->policy.require.items[i];
        const char *rung = strchr(want, ':');
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)(rung == NULL ? strlen(want) : (size_t)(rung - want)),
                 want);
        int c = capability_parse(name);
        const struct plan_claim *have = c < 0 ? NULL : claim(b, (enum capability)c);
        if (have != NULL && have->mechanism != NULL && is_requested(have) &&
            (rung == NULL || strstr(have->mechanism, rung + 1) != NULL))
            continue;
        err_set(b->err, CORDON_ERROR_PARTIAL, CORDON_LAYER_PLAN, 0, "satisfy requirement", want);
        err_why(b->err, have == NULL              ? "there is no such capability"
                        : !is_requested(have)     ? "the policy does not ask for this capability"
                        : have->mechanism == NULL ? have->details
                                                  : have->mechanism);
        if (have != NULL && have->mechanism != NULL && is_requested(have))
            err_remedy(b->err, "this host offers the mechanism named above; "
                               "`cordon doctor` says what is missing for another");
        return -EOPNOTSUPP;
    }
    return 0;
}

int plan_build_claims(struct plan_build *b)
{
    struct plan *plan = b->plan;
    times(b);
    memory(b);
    pids(b);
    files(b);
    network(b);
    processes(b);
    ipc(b);

    const struct plan_claim *missing = NULL;
    const char *name = "";
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        struct plan_claim *c = &plan->claims[i];
        if (plan_off(b, (enum capability)i))
            cannot(c, "switched off for a test");
        if (!is_requested(c)) {
            c->mechanism = NULL;
            c->proof = 0;
            snprintf(c->details, sizeof c->details, "not asked for");
        } else if (c->mechanism == NULL) {
            plan->partial = true;
            if (missing == NULL) {
                missing = c;
                name = capability_name((enum capability)i);
            }
        } else if (!b->policy.allow_partial) {
            /* The end of the run proves EMPTY; the supervisor answers for TIMER. */
            plan->must |= c->proof & ~(uint32_t)(PROOF_EMPTY | PROOF_TIMER);
        }
    }
    int r = requirements(b);
    if (r < 0)
        return r;
    if (missing != NULL && !b->policy.allow_partial) {
        err_set(b->err, CORDON_ERROR_PARTIAL, CORDON_LAYER_PLAN, 0, "enforce", name);
        err_why(b->err, missing->details);
        err_remedy(b->err, "--allow-partial runs without it and says so in the result");
        return -EOPNOTSUPP;
    }
    return 0;
}
