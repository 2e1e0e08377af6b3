/*
 * The ledger of the backend bwrap: the claims of the first tier, less what that program cannot do.
 * All proofs of the payload are read back by init at the moment of its exec.
 */
#include <inttypes.h>
#include <stdio.h>

#include "plan/build.h"

void plan_bwrap_claims(struct plan_build *b)
{
    struct plan *plan = b->plan;
    struct plan_claim *c = &plan->claims[CAP_PRIVILEGES];
    if (c->mechanism == NULL)
        return;
    if (plan->seccomp == SECCOMP_OFF)
        claim_cannot(c, "without the filter a user namespace can be made inside, and rights in it");
    else
        claim_holds(c, "user namespace",
                    PROOF_USERNS | PROOF_NO_CAPS | PROOF_NO_NEW_PRIVS | PROOF_IDENTITY | PROOF_SECCOMP);
}

#define SAY(...) (snprintf(out->details, sizeof out->details, __VA_ARGS__), true)

bool plan_bwrap_details(const struct plan *plan, enum capability c, struct plan_words *out)
{
    switch (c) {
    case CAP_FILESYSTEM:
        return SAY("made by bwrap, which finds sources by their names; flags read back from mountinfo; no second "
                   "layer: Landlock would forbid bwrap its mounts; the number of files in a tmpfs is not limited%s",
                   plan->policy->protect.count == 0 ? ""
                                                    : "; protected names that do not exist yet are not covered");
    case CAP_ENVIRONMENT:
        return SAY("bwrap starts with none and sets the listed variables, and PWD; init holds no copy of the "
                   "caller's and is outside");
    case CAP_PROCESSES:
        return SAY("the kernel ends all with bwrap's pid 1, which ends with bwrap; init killed until it had no "
                   "child left");
    case CAP_DEVICES:
        return SAY("null, zero, full, random, urandom, tty and own pseudo-terminals");
    case CAP_PIDS:
        if (plan->cgroup.pids != POLICY_UNLIMITED)
            return false;
        return SAY("tasks of the tree, threads too, counted when a fork would reach the limit; a fork that the "
                   "scheduler holds up for more than %d ms after its grant comes on top", PLAN_GATE_PENDING_MS);
    case CAP_MEMORY:
        if (plan->cgroup.mem_bytes != POLICY_UNLIMITED)
            return false;
        return SAY("sum of the tree's resident anonymous and shared pages, sampled every 2 to 100 ms: some 64 MiB "
                   "over the limit are possible; files in a tmpfs (each of %" PRIu64 " bytes at most), kernel memory "
                   "and dropped shared pages are not seen; memfd_create is refused", plan->policy->tmp_bytes);
    default:
        return false;
    }
}
