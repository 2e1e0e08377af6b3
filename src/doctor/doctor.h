/*
 * What this host can enforce, why not, and how to get it. Every answer is found by doing the thing
 * in a short-lived process; settings and files only explain a refusal.
 */
#pragma once

#include <stdbool.h>

#include "backend/bwrap_find.h"
#include "base/buf.h"
#include "doctor/setting.h"
#include "plan/host_cgroup.h"
#include "policy/policy.h"
#include "result/result.h"

enum doctor_id {
    DOCTOR_USERNS,
    DOCTOR_MOUNTNS,
    DOCTOR_PIDNS,
    DOCTOR_NETNS,
    DOCTOR_IPCNS,
    DOCTOR_UTSNS,
    DOCTOR_CGROUPNS,
    DOCTOR_TMPFS,
    DOCTOR_PROCFS,
    DOCTOR_DEVPTS,
    DOCTOR_OVERLAY,
    DOCTOR_PIVOT_ROOT,
    DOCTOR_MOUNT_SETATTR,
    DOCTOR_IDMAP,
    DOCTOR_LANDLOCK,
    DOCTOR_SECCOMP,
    DOCTOR_SECCOMP_NOTIFY,
    DOCTOR_OPENAT2,
    DOCTOR_CLONE3,
    DOCTOR_CLOSE_RANGE,
    DOCTOR_PIDFD,
    DOCTOR_MEMFD,
    DOCTOR_KEYRING,
    DOCTOR_CGROUP2,
    DOCTOR_CGROUP1,
    DOCTOR_BWRAP,
    DOCTOR_POSIX,
    DOCTOR_COUNT,
};

struct doctor_answer {
    bool available;
    uint64_t number; /* Landlock: the ABI; notification: its flags (doctor/acts.h) */
    struct doctor_cause cause; /* the reason says how it is known, also where it works */
};

/* A real run of `true`, with everything asked for that the profile asks for. */
struct doctor_trial {
    const char *profile; /* static */
    bool enforceable;    /* each thing that was asked for was proven */
    enum status status;
    struct ledger ledger;
    struct doctor_cause cause;
};

/* The layers of `cordon test`. */
enum doctor_layer { LAYER_GUARD, LAYER_WORKSPACE, LAYER_OS, LAYER_AUDIT, DOCTOR_LAYER_COUNT };

struct doctor {
    struct doctor_setting setting;
    struct doctor_answer answers[DOCTOR_COUNT];
    struct host_cgroup cgroup;
    struct bwrap_found bwrap;
    struct doctor_trial standard; /* the default profile */
    bool asked_given;
    struct doctor_trial asked;    /* the one of --profile */
    bool layers_given;
    struct {
        bool on;
        char reason[256];
    } layers[DOCTOR_LAYER_COUNT];
};

struct doctor_options {
    int profile;      /* enum policy_profile; -1: only the default one */
    const char *path; /* the caller's PATH */
    bool has_test, has_audit; /* these commands are in this program */
};

void doctor_examine(struct doctor *out, const struct doctor_options *options);

const char *doctor_key(enum doctor_id id);      /* "userns" */
const char *doctor_group(enum doctor_id id);    /* "namespaces" */
const char *doctor_use(enum doctor_id id);      /* what cordon does with it */
bool doctor_needed(enum doctor_id id);          /* the default profile cannot do without it */
const char *doctor_layer_name(enum doctor_layer layer); /* "runtime_guard" */

/* What each ABI of Landlock brought; NULL behind the last one that is known. */
const char *doctor_landlock_adds(int abi);

void doctor_try_profile(struct doctor_trial *out, enum policy_profile profile);
/* The default one. */
void doctor_try_backend(struct doctor_trial *out, enum policy_backend backend);

void doctor_write_json(const struct doctor *d, struct buf *out);
/* For people. */
void doctor_write_text(const struct doctor *d, bool colour, struct buf *out);
