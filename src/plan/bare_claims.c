/*
 * The ledger of the tier without namespaces: what the common claims say of namespaces is replaced by
 * what Landlock, the filter and the fork gate hold, and by what they do not.
 */
#include "plan/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool lists_places(const struct policy *policy)
{
    return policy->rw.count + policy->ro.count > 0 || policy->rw_cwd || policy->work == WORK_HOST;
}

static void files(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const bool filter = plan->seccomp != SECCOMP_OFF;
    const uint32_t proof = PROOF_LANDLOCK | PROOF_SECCOMP;
    struct plan_claim *c = &plan->claims[CAP_FILESYSTEM];

    if (plan->landlock_abi == 0)
        claim_cannot(c, "neither user namespaces nor Landlock");
    else if (!filter)
        claim_partly(c, "landlock", PROOF_LANDLOCK,
                     "without a filter modes, owners, times and attributes of all the caller's files can be changed");
    else if (plan->gap != NULL)
        claim_partly(c, "landlock, seccomp", proof, plan->gap);
    else if (plan->fs_mode == FS_VIEW)
        claim_partly(c, "landlock, seccomp", proof,
                     "names and metadata of hidden files can be seen by stat(); their content cannot be "
                     "read, listed or changed; modes, owners and times cannot be set anywhere, inotify is "
                     "refused; no size limit on the work directory; of /proc only what tells of the machine");
    else
        claim_holds(c, "landlock, seccomp", proof);

    c = &plan->claims[CAP_DEVICES];
    if (plan->landlock_abi == 0 || plan_off(b, CAP_FILESYSTEM))
        claim_cannot(c, "the host's /dev, and no Landlock to close it");
    else if (plan->fs_mode == FS_VIEW && lists_places(&b->policy)) /* a rule opens all kinds of files alike */
        claim_partly(c, "landlock", PROOF_LANDLOCK,
                     "device nodes in what is listed can be opened as their modes say: no mount there is nodev");
    else
        claim_holds(c, "landlock", PROOF_LANDLOCK);
}

static void network(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const bool filter = plan->seccomp != SECCOMP_OFF;
    struct plan_claim *c = &plan->claims[CAP_NETWORK];

    if (filter && b->policy.net != NET_HOST && !host_off(b->request->host, OFF_NETNS))
        claim_holds(c, "seccomp", PROOF_SECCOMP);
    else
        claim_cannot(c, "the network is the host's");

    c = &plan->claims[CAP_IPC];
    if (!filter)
        claim_cannot(c, "unix sockets, System V and POSIX queues are the host's");
    else if (!plan->keyring)
        claim_cannot(c, "the session keyring is the caller's");
    else if (plan->landlock_abi == 0)
        claim_partly(c, "seccomp, keyring", PROOF_SECCOMP | PROOF_KEYRING,
                     "without Landlock shared memory by name (/dev/shm) and fifos are the host's");
    else
        claim_holds(c, "seccomp, keyring", PROOF_SECCOMP | PROOF_KEYRING);
}

/* Limits that a process holds do not outlive it; those that the kernel holds in a cgroup do. */
static void unwatched(struct plan *plan, const char *why)
{
    struct plan_claim *cpu = &plan->claims[CAP_CPU_TIME];
    struct plan_claim *memory = &plan->claims[CAP_MEMORY];

    if (cpu->mechanism != NULL)
        claim_partly(cpu, cpu->mechanism, cpu->proof, why);
    if (memory->mechanism != NULL && plan->watch_memory)
        claim_partly(memory, memory->mechanism, memory->proof, why);
}

/* What the end of everything rests on: forks can be stopped, and nobody inside can stop init. */
static void processes(struct plan_build *b)
{
    struct plan *plan = b->plan;
    struct plan_claim *wall = &plan->claims[CAP_WALL_TIME];
    struct plan_claim *c = &plan->claims[CAP_PROCESSES];
    const uint32_t proof = PROOF_GATE | PROOF_LANDLOCK | PROOF_SECCOMP;
    const char *why = NULL;

    if (plan->seccomp == SECCOMP_OFF)
        why = "without a filter the payload can set limits on every process of the caller's, and so end what ends it";
    else if (!plan_scopes_signals(plan))
        why = "below Landlock ABI 6 the payload can signal every process of the caller's, and so end what ends it";
    if (why != NULL)
        unwatched(plan, why);
    else if (!plan->gate)
        why = "without the fork gate a process that keeps forking could outrun the end";
    if (why == NULL) {
        claim_holds(c, "subreaper, fork gate, landlock scope", proof | PROOF_EMPTY);
        claim_holds(wall, "supervisor timer", proof | PROOF_TIMER);
    } else {
        claim_partly(c, "subreaper", PROOF_EMPTY, why);
        claim_partly(wall, "supervisor timer", PROOF_TIMER, why);
    }

    c = &plan->claims[CAP_PRIVILEGES];
    if (plan->seccomp == SECCOMP_OFF)
        claim_cannot(c, "without the filter every file of the caller's can be made set-user-ID, which Landlock lets pass");
    else if (c->mechanism != NULL)
        claim_holds(c, "no_new_privs", PROOF_NO_CAPS | PROOF_NO_NEW_PRIVS | PROOF_IDENTITY);
}

/* The files of a cgroup belong to who made it, and an ordinary caller is who the payload is. */
static void groups(struct plan *plan)
{
    static const enum capability held[] = {CAP_MEMORY, CAP_PIDS, CAP_CPU_RATE};
    if (plan->landlock_abi > 0 || plan->switch_user)
        return;
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        struct plan_claim *c = &plan->claims[held[i]];
        if (c->mechanism != NULL && (c->proof & PROOF_CGROUP) != 0)
            claim_partly(c, c->mechanism, c->proof,
                         "without Landlock the payload can lift the limit: the files of the cgroup are the caller's");
    }
}

/*
 * A process of the caller's that the payload traces does for it what it must not do itself. Landlock keeps it from
 * those outside of its domain, the strict filter from all, and root's payload is another user.
 */
static void others(struct plan *plan)
{
    static const enum capability held[] = {CAP_NETWORK, CAP_SYSCALLS, CAP_PRIVILEGES};
    if (plan->landlock_abi > 0 || plan->seccomp == SECCOMP_STRICT || plan->switch_user)
        return;
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        struct plan_claim *c = &plan->claims[held[i]];
        if (c->mechanism != NULL)
            claim_partly(c, c->mechanism, c->proof,
                         "without Landlock the payload can trace other processes of the caller's, for which this does "
                         "not hold; the strict filter keeps it from that");
    }
}

void plan_bare_claims(struct plan_build *b)
{
    files(b);
    network(b);
    processes(b);
    groups(b->plan);
    others(b->plan);
}

int plan_bare_refusal(struct plan_build *b, enum capability missing)
{
    const struct cordon_error *met = &b->request->host->refused.error;
    char why[sizeof met->why] = "";
    const char *const words[] = {met->errnum == 0 ? "refused" : text_errno(met->errnum),
                                 ", and without user namespaces '", capability_name(missing),
                                 "' cannot be enforced: ", b->plan->claims[missing].why};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        strncat(why, words[i], sizeof why - strlen(why) - 1);
    err_set(b->err, CORDON_ERROR_PARTIAL, CORDON_LAYER_NAMESPACES, met->errnum, met->what, met->subject);
    err_why(b->err, why);
    char remedy[sizeof met->remedy];
    snprintf(remedy, sizeof remedy, "%.220s; --allow-partial runs without", met->remedy);
    err_remedy(b->err, remedy);
    return -EOPNOTSUPP;
}
