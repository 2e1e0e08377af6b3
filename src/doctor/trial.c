/* Proven, not hoped: a profile is tried by a run of it, and the ledger of that run is the answer. */
#include <stdio.h>
#include <string.h>

#include "api/handles.h"
#include "doctor/doctor.h"

static void say(struct doctor_trial *out, const struct cordon_error *err)
{
    const struct cordon_error alone = {.kind = err->kind, .layer = err->layer, .errnum = err->errnum};
    struct cordon_error plain = alone;
    memcpy(plain.what, err->what, sizeof plain.what);
    memcpy(plain.subject, err->subject, sizeof plain.subject);
    memcpy(plain.why, err->why, sizeof plain.why);
    cordon_error_format(&plain, out->cause.reason, sizeof out->cause.reason);
    snprintf(out->cause.remedy, sizeof out->cause.remedy, "%s", err->remedy);
}

/* The first thing that was asked for and does not hold; CAPABILITY_COUNT: all of it does. */
static unsigned first_missing(const struct ledger *ledger)
{
    unsigned i = 0;
    while (i < CAPABILITY_COUNT &&
           (ledger->entries[i].applied || strcmp(ledger->entries[i].requested, "null") == 0))
        i++;
    return i;
}

static void judge(struct doctor_trial *out, const struct result *result)
{
    out->status = result->status;
    out->ledger = result->ledger;
    unsigned missing = first_missing(&out->ledger);
    out->enforceable = result->status == STATUS_OK && missing == CAPABILITY_COUNT;
    if (out->enforceable)
        snprintf(out->cause.reason, sizeof out->cause.reason,
                 "a run of `true` had all that the profile asks for");
    else if (result->error.kind != CORDON_ERROR_NONE)
        say(out, &result->error);
    else if (missing < CAPABILITY_COUNT)
        snprintf(out->cause.reason, sizeof out->cause.reason, "%s: %s",
                 capability_name((enum capability)missing), out->ledger.entries[missing].details);
    else
        snprintf(out->cause.reason, sizeof out->cause.reason, "a run of `true` ended as %s: %s",
                 status_name(result->status), result->reason);
}

void doctor_try_profile(struct doctor_trial *out, enum policy_profile profile)
{
    char name[] = "true";
    char *const argv[] = {name, NULL};
    struct cordon_error err = {0};
    *out = (struct doctor_trial){.profile = policy_profile_name(profile),
                                 .status = STATUS_INTERNAL_ERROR};
    for (unsigned i = 0; i < CAPABILITY_COUNT; i++) {
        out->ledger.entries[i] = (struct ledger_entry){.requested = "null", .mechanism = "none"};
        snprintf(out->ledger.entries[i].details, sizeof out->ledger.entries[i].details, "nothing ran");
    }
    struct cordon_policy *policy = cordon_policy_new(out->profile, &err);
    if (policy != NULL)
        cordon_policy_allow_partial(policy, 1);
    struct cordon_result *result = policy == NULL ? NULL : cordon_run(policy, argv, NULL, &err);
    if (result != NULL)
        judge(out, &result->result);
    else
        say(out, &err);
    cordon_result_free(result);
    cordon_policy_free(policy);
}
