/*
 * The plan of the backends that know only POSIX: the host's files with the caller's rights, limits
 * for one process, and a ledger that says so.
 */
#include "plan/build.h"

#include <string.h>

#define OWN_PATH "without mounts a directory can only be had at its own path"

int plan_build_portable_files(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const struct policy *policy = &b->policy;
    const struct policy_binds *lists[2] = {&policy->rw, &policy->ro};

    plan->fs_mode = policy->fs_mode;
    if (b->request->work.given)
        return plan_refuse_elsewhere(b, "/work", OWN_PATH);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            const struct policy_bind *bind = &lists[k]->items[i];
            if (strcmp(bind->host, bind->sandbox) != 0)
                return plan_refuse_elsewhere(b, bind->sandbox, OWN_PATH);
        }
    }
    if (policy->work == WORK_PRIVATE || policy->private_tmp)
        plan->work_dir = b->request->host->work_dir;
    return 0;
}

static void limits(struct plan_build *b)
{
    struct plan *plan = b->plan;
    claim_partly(&plan->claims[CAP_WALL_TIME], "supervisor timer, process group", PROOF_TIMER,
                 "a process that starts a session of its own is not ended with the others");
    claim_cannot(&plan->claims[CAP_CPU_TIME],
                 plan->backend == BACKEND_NONE ? "no limits without isolation"
                                               : "a limit for each process alone, not for the tree");
    claim_cannot(&plan->claims[CAP_CPU_RATE], "no cgroup");
    claim_cannot(&plan->claims[CAP_MEMORY], "no limit on the memory of a tree");
    claim_cannot(&plan->claims[CAP_PIDS], "no limit on the number of processes of a tree");
    if (plan->nofile != 0 && plan->host->raises_limits)
        claim_partly(&plan->claims[CAP_OPEN_FILES], "rlimit", PROOF_NOFILE,
                     "the caller's privileges are kept, and with them a process lifts its own limits");
}

void plan_portable_claims(struct plan_build *b)
{
    struct plan *plan = b->plan;
    limits(b);
    claim_cannot(&plan->claims[CAP_FILESYSTEM], "the host's files, with the caller's rights");
    claim_cannot(&plan->claims[CAP_DEVICES], "the host's /dev, with the caller's rights");
    claim_cannot(&plan->claims[CAP_NETWORK], "the network is the host's");
    claim_cannot(&plan->claims[CAP_IPC], "sockets, queues, shared memory and keyrings are the host's");
    claim_cannot(&plan->claims[CAP_SYSCALLS], "no filter");
    claim_cannot(&plan->claims[CAP_PRIVILEGES], "the caller's own user, with its rights");
    claim_partly(&plan->claims[CAP_ENVIRONMENT], "rebuilt", 0,
                 "the command gets the listed variables alone, but can read those of the caller's other processes");
    claim_partly(&plan->claims[CAP_PROCESSES], "process group", PROOF_TIMER,
                 "a process that starts a session of its own survives");
}
