/*
 * The ledger of the backend bwrap: the claims of the first tier, less what that program cannot do.
 * All proofs of the payload are read back by init at the moment of its exec.
 */
#include <stdio.h>

#include "plan/build.h"

void plan_bwrap_claims(struct plan_build *b)
{
    struct plan *plan = b->plan;
    /* What rests on the filter rests on nobody inside being without it. */
    static const enum capability filtered[] = {CAP_SYSCALLS, CAP_NETWORK, CAP_PRIVILEGES, CAP_MEMORY, CAP_CPU_TIME};
    for (size_t i = 0; i < sizeof filtered / sizeof filtered[0]; i++) {
        struct plan_claim *f = &plan->claims[filtered[i]];
        if ((f->proof & PROOF_SECCOMP) != 0)
            f->proof |= PROOF_INNER_SEALED;
    }
    struct plan_claim *c = &plan->claims[CAP_PRIVILEGES];
    if (c->mechanism == NULL)
        return;
    if (plan->switch_user && plan->fs_mode == FS_GUARD)
        claim_cannot(c, "bwrap maps no owners: files of root are not the command's own where it works");
    else if (plan->seccomp == SECCOMP_OFF)
        claim_cannot(c, "without the filter a user namespace can be made inside, and rights in it");
    else
        claim_holds(c, "user namespace",
                    PROOF_USERNS | PROOF_NO_CAPS | PROOF_NO_NEW_PRIVS | PROOF_IDENTITY | PROOF_SECCOMP |
                        PROOF_INNER_SEALED);
}

#define SAY(...) (snprintf(out->details, sizeof out->details, __VA_ARGS__), true)

bool plan_bwrap_details(const struct plan *plan, enum capability c, struct plan_words *out)
{
    switch (c) {
    case CAP_FILESYSTEM:
        return SAY("made by bwrap, which finds sources by their names: listed ones compared with what was named; flags "
                   "read back from mountinfo; no second layer: Landlock would forbid bwrap its mounts; the number of "
                   "files in a tmpfs is not limited%s",
                   plan->policy->protect.count == 0 ? ""
                                                    : "; protected names that do not exist yet are not covered");
    case CAP_ENVIRONMENT:
        return SAY("bwrap starts with none and sets the listed variables, and PWD; init holds no copy of the "
                   "caller's and is outside%s", plan_inherited(plan->policy));
    case CAP_SYSCALLS:
        return SAY("allow list, all architectures; a forbidden call %s; ptrace and its like are refused: bwrap's "
                   "pid 1 has no filter", plan_forbidden(plan));
    case CAP_PRIVILEGES:
        if (!plan->switch_user)
            return false;
        return SAY("a host uid that only this run uses, and no supplementary groups; owners are not mapped: files "
                   "of root are not the payload's own");
    case CAP_PROCESSES:
        return SAY("the kernel ends all with bwrap's pid 1, which ends with bwrap; init killed until it had no "
                   "child left");
    case CAP_IPC:
        return SAY("own System V, queues%s and session keyring; names of the caller's keys are seen in /proc/keys%s",
                   plan->netns ? ", abstract sockets" : "", plan_named_sockets(plan->policy));
    case CAP_DEVICES:
        return SAY("null, zero, full, random, urandom, tty and own pseudo-terminals");
    case CAP_MEMORY:
        if (plan->cgroup.mem_bytes != POLICY_UNLIMITED)
            return false;
        return SAY("sum of the tree's resident anonymous and shared pages, page tables and tmpfs files, sampled every 2 to 100 ms: "
                   "some 64 MiB over the limit are possible; other kernel memory, inodes and dropped pages of a shared "
                   "/dev/zero are not seen; "
                   "memfd_create, vmsplice, splice and sendfile are refused");
    default:
        return false;
    }
}
