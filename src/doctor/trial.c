/* Proven, not hoped: a profile is tried by a run of it, and the ledger of that run is the answer. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/handles.h"
#include "doctor/attempt.h"
#include "doctor/doctor.h"

/* What the process that tries writes, and this one reads. */
struct page {
    struct doctor_trial trial;
    bool over; /* it came to its end; its status may be another's by now */
};

static void say(struct doctor_trial *out, const struct cordon_error *err)
{
    struct cordon_error plain = *err;
    plain.remedy[0] = '\0';
    cordon_error_format(&plain, out->cause.reason, sizeof out->cause.reason);
    snprintf(out->cause.remedy, sizeof out->cause.remedy, "%s", err->remedy);
}

/* The first thing that was asked for and does not hold; CAPABILITY_COUNT: all of it does. */
static unsigned first_missing(const struct ledger *ledger)
{
    unsigned i = 0;
    while (i < CAPABILITY_COUNT &&
           (ledger->entries[i].applied || !ledger_asked(&ledger->entries[i])))
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
                 "a run of `true` by the backend %s had all that the profile asks for", result->backend_kind);
    else if (result->error.kind != CORDON_ERROR_NONE)
        say(out, &result->error);
    else if (missing < CAPABILITY_COUNT)
        snprintf(out->cause.reason, sizeof out->cause.reason, "%s: %s",
                 capability_name((enum capability)missing), out->ledger.entries[missing].details);
    else
        snprintf(out->cause.reason, sizeof out->cause.reason, "a run of `true` ended as %s: %s",
                 status_name(result->status), result->reason);
}

static void try(struct doctor_trial *out, enum policy_backend backend)
{
    char name[] = "true";
    char *const argv[] = {name, NULL};
    struct cordon_error err = {0};
    struct cordon_policy *policy = cordon_policy_new(out->profile, &err);
    if (policy != NULL) {
        cordon_policy_allow_partial(policy, 1);
        policy->policy.backend = backend;
    }
    struct cordon_result *result = policy == NULL ? NULL : cordon_run(policy, argv, NULL, &err);
    if (result != NULL)
        judge(out, &result->result);
    else
        say(out, &err);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

static void not_ended(struct doctor_trial *out, const char *why)
{
    snprintf(out->cause.reason, sizeof out->cause.reason, "a run of `true` %s", why);
}

/* In a process of its own: on a host that refuses the right call a run may never end. */
static void try_alone(struct doctor_trial *out, enum policy_profile profile, enum policy_backend backend)
{
    *out = (struct doctor_trial){.profile = policy_profile_name(profile),
                                 .status = STATUS_INTERNAL_ERROR};
    out->ledger = (struct ledger){0};
    for (unsigned i = 0; i < CAPABILITY_COUNT; i++)
        snprintf(out->ledger.entries[i].details, sizeof out->ledger.entries[i].details, "nothing ran");
    struct page *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        not_ended(out, "was never started: no memory");
        return;
    }
    shared->trial = *out;
    pid_t pid = fork();
    if (pid == 0) {
        attempt_alone();
        try(&shared->trial, backend);
        shared->over = true;
        _exit(0);
    }
    if (pid > 0)
        attempt_wait(pid);
    if (shared->over)
        *out = shared->trial; /* what it points to is static, and stands at the same place here */
    else
        not_ended(out, pid < 0 ? "was never started: fork failed" : "did not come to an end");
    munmap(shared, sizeof *shared);
}

void doctor_try_profile(struct doctor_trial *out, enum policy_profile profile)
{
    try_alone(out, profile, BACKEND_AUTO);
}

void doctor_try_backend(struct doctor_trial *out, enum policy_backend backend)
{
    try_alone(out, PROFILE_STAGE, backend);
}
