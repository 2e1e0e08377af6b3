/* The words of the ledger for the tier without namespaces, where they differ. */
#include <inttypes.h>
#include <stdio.h>

#include "plan/build.h"

#define SAY(...) (snprintf(out->details, sizeof out->details, __VA_ARGS__), true)

static bool privileges(const struct plan *plan, struct plan_words *out)
{
    static const char bounding[] = "no_new_privs makes the bounding set idle, it cannot be emptied";
    if (plan->switch_user)
        return SAY("a host uid that only this run uses, and no supplementary groups: files of root "
                   "are not the payload's own; %s", bounding);
    return SAY("the caller's own uid, inside too; its %u supplementary groups stay; %s",
               plan->host->groups, bounding);
}

bool plan_bare_details(const struct plan *plan, enum capability c, struct plan_words *out)
{
    switch (c) {
    case CAP_FILESYSTEM:
        return SAY("Landlock ABI %d and the filter are the only layers; modes, owners, times and "
                   "attributes cannot be set anywhere, inotify is refused; no size limit on the "
                   "directory for temporary files", plan->landlock_abi);
    case CAP_NETWORK:
        return SAY("no socket of any family can be made; a pair of connected unix sockets can");
    case CAP_PRIVILEGES:
        return privileges(plan, out);
    case CAP_ENVIRONMENT:
        return SAY("init holds no copy of the caller's and cannot be read; Landlock keeps processes "
                   "outside closed%s", plan_inherited(plan->policy));
    case CAP_PROCESSES:
        return SAY("init killed until it had no child left, while forks were refused, as they always are beyond %d "
                   "tasks at once; numbers of the host's processes can be asked for, but not signalled%s",
                   PLAN_GATE_TASKS_MAX, plan->fs_mode == FS_VIEW ? "" : "; their command lines are seen");
    case CAP_IPC:
        return SAY("no unix socket but connected pairs, no System V, no queues, no shared memory by "
                   "name; an own session keyring");
    case CAP_DEVICES:
        return SAY("of /dev null, zero, full, random and urandom can be opened; no pseudo-terminals; names of "
                   "others are seen%s",
                   plan->fs_mode == FS_VIEW ? ""
                                            : "; nodes outside of /dev can be opened as their modes say, for writing "
                                              "only in writable places");
    case CAP_PIDS:
        if (plan->cgroup.pids != POLICY_UNLIMITED)
            return false;
        if (plan->gate_tasks > PLAN_GATE_TASKS_MAX)
            return SAY("tasks of the tree, threads too; the fork gate counts no further than %d and refuses "
                       "the next fork, whatever was asked for", PLAN_GATE_TASKS_MAX);
        return SAY("tasks of the tree, threads too, counted when a fork would reach the limit; a fork that "
                   "takes more than %d ms from its grant comes on top", PLAN_GATE_PENDING_MS);
    case CAP_MEMORY:
        if (plan->cgroup.mem_bytes != POLICY_UNLIMITED)
            return false;
        return SAY("sum of the tree's resident anonymous and shared pages and page tables, sampled every 2 to 100 ms: some "
                   "64 MiB over the limit are possible; files in the work directory, other kernel memory and dropped shared "
                   "pages are not seen; memfd_create, vmsplice, splice and sendfile are refused");
    default:
        return false;
    }
}
