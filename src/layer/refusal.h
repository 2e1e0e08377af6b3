/*
 * What a host refuses: seen by an attempt, never guessed from versions. A run that met a refusal
 * before anything of the payload's ran is planned again with what was learnt.
 */
#pragma once

#include "plan/host.h"
#include "policy/policy.h"

#define REFUSAL_NESTED "sandboxes do not nest: if this is inside of another run of cordon, start it outside"

enum refusal {
    REFUSAL_NONE,
    REFUSAL_PROCFS, /* a procfs of its own: the rest of the namespaces works */
    REFUSAL_USERNS, /* user namespaces, or what they are for */
};

/* By its name this host is a sandbox of cordon's own: a filter around this process is its. */
bool layer_refusal_in_a_run(void);

/* Pure: what kind of refusal this failure of a set-up is. */
enum refusal layer_refusal_of(const struct cordon_error *met);

/*
 * Notes it in `host`, with the sysctl, module or container that is behind it as far as it shows, and
 * finds out what a plan without namespaces needs. Strings live in `arena`.
 */
int layer_refusal_note(struct host *host, struct arena *arena, const struct policy *policy, enum refusal kind,
                       const struct cordon_error *met, struct cordon_error *err);
