#include "doctor/doctor.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor/acts.h"
#include "doctor/host.h"

enum where { OUTSIDE, INSIDE, SPECIAL };

struct probe {
    const char *key;
    const char *group;
    const char *use;  /* what for */
    const char *done; /* how we know that it works */
    bool needed;
    enum where where;
    uint64_t flags; /* namespaces, for INSIDE */
    attempt_fn *act;
    struct doctor_question question;
};

#define SPACES "namespaces"
#define MOUNTS "mounts"
#define KERNEL "kernel"
#define LIMITS "limits"
#define BACKENDS "other backends"

static const struct probe probes[DOCTOR_COUNT] = {
    [DOCTOR_USERNS] = {"userns", SPACES, "everything else without being root",
                       "made one, mapped a user, used its rights", true, INSIDE, 0, NULL,
                       {ABOUT_USERNS, "user", NULL}},
    [DOCTOR_MOUNTNS] = {"mountns", SPACES, "an own view of the files", "made one", true, INSIDE,
                        CLONE_NEWNS, NULL, {ABOUT_NAMESPACE, "mnt", NULL}},
    [DOCTOR_PIDNS] = {"pidns", SPACES, "nothing survives a run", "made one and was process 1 in it",
                      true, INSIDE, CLONE_NEWPID, act_pidns, {ABOUT_NAMESPACE, "pid", NULL}},
    [DOCTOR_NETNS] = {"netns", SPACES, "no network", "made one", true, INSIDE, CLONE_NEWNET, NULL,
                      {ABOUT_NAMESPACE, "net", NULL}},
    [DOCTOR_IPCNS] = {"ipcns", SPACES, "no shared System V objects and queues", "made one", true,
                      INSIDE, CLONE_NEWIPC, NULL, {ABOUT_NAMESPACE, "ipc", NULL}},
    [DOCTOR_UTSNS] = {"utsns", SPACES, "an own host name", "made one and set its name", true, INSIDE,
                      CLONE_NEWUTS, NULL, {ABOUT_NAMESPACE, "uts", NULL}},
    [DOCTOR_CGROUPNS] = {"cgroupns", SPACES, "hides the host's cgroup paths", "made one", true,
                         INSIDE, CLONE_NEWCGROUP, NULL, {ABOUT_NAMESPACE, "cgroup", NULL}},
    [DOCTOR_TMPFS] = {"tmpfs", MOUNTS, "the root, /tmp, /work and /dev", "mounted two, sized", true,
                      INSIDE, CLONE_NEWNS, act_tmpfs, {ABOUT_MOUNT, "tmpfs", NULL}},
    [DOCTOR_PROCFS] = {"procfs", MOUNTS, "a /proc without the host's processes",
                       "mounted a new one, found process 1 in it", true, INSIDE,
                       CLONE_NEWNS | CLONE_NEWPID, act_procfs, {ABOUT_MOUNT, "proc", NULL}},
    [DOCTOR_DEVPTS] = {"devpts", MOUNTS, "own pseudo-terminals", "mounted a new one", true, INSIDE,
                       CLONE_NEWNS, act_devpts, {ABOUT_MOUNT, "devpts", NULL}},
    [DOCTOR_OVERLAY] = {"overlay", MOUNTS, "--hide in what is read-only",
                        "mounted one, a whiteout hid a name", false, INSIDE, CLONE_NEWNS,
                        act_overlay, {ABOUT_MOUNT, "overlay", NULL}},
    [DOCTOR_PIVOT_ROOT] = {"pivot_root", MOUNTS, "the host's tree is gone, not just out of sight",
                           "left the old root", true, INSIDE, CLONE_NEWNS, act_pivot_root,
                           {ABOUT_MOUNT, "pivot_root", NULL}},
    [DOCTOR_MOUNT_SETATTR] = {"mount_setattr", MOUNTS, "read-only with all that is mounted below",
                              "made a copy of / read-only, with all below", true, INSIDE,
                              CLONE_NEWNS, act_mount_setattr, {ABOUT_CALL, "mount_setattr", "5.12"}},
    [DOCTOR_IDMAP] = {"idmap", MOUNTS, "runs of root: in binds and in guard mode its files are the command's own",
                      "id-mapped the file system of /", false, OUTSIDE, 0, act_idmap,
                      {ABOUT_CALL, "mount_setattr", "5.12"}},
    [DOCTOR_LANDLOCK] = {"landlock", KERNEL, "a second wall around the files; scopes",
                         "entered a domain and was refused by it", false, OUTSIDE, 0, act_landlock,
                         {ABOUT_CALL, "landlock", "5.13"}},
    [DOCTOR_SECCOMP] = {"seccomp", KERNEL, "the filter on system calls",
                        "loaded a filter and was refused by it", true, OUTSIDE, 0, act_seccomp,
                        {ABOUT_CALL, "seccomp", "3.17"}},
    [DOCTOR_SECCOMP_NOTIFY] = {"seccomp_notify", KERNEL, "cordon test names what it refused",
                               "answered the calls of a child", false, OUTSIDE, 0, act_notify,
                               {ABOUT_CALL, "seccomp", "5.0"}},
    [DOCTOR_OPENAT2] = {"openat2", KERNEL, "paths that cannot leave their root",
                        "resolved a path within a root", true, OUTSIDE, 0, act_openat2,
                        {ABOUT_CALL, "openat2", "5.6"}},
    [DOCTOR_CLONE3] = {"clone3", KERNEL, "all namespaces in one step, with a pidfd",
                       "made a child", false, OUTSIDE, 0, act_clone3, {ABOUT_CALL, "clone3", "5.5"}},
    [DOCTOR_CLOSE_RANGE] = {"close_range", KERNEL, "no descriptor of the caller's gets inside",
                            "closed a descriptor", true, OUTSIDE, 0, act_close_range,
                            {ABOUT_CALL, "close_range", "5.9"}},
    [DOCTOR_PIDFD] = {"pidfd", KERNEL, "waits for, and signals, the right process",
                      "signalled and waited by one", true, OUTSIDE, 0, act_pidfd,
                      {ABOUT_CALL, "pidfd_send_signal", "5.4"}},
    [DOCTOR_MEMFD] = {"memfd", KERNEL, "input from memory, in the library", "wrote to one", false,
                      OUTSIDE, 0, act_memfd, {ABOUT_CALL, "memfd_create", "3.17"}},
    [DOCTOR_KEYRING] = {"keyring", KERNEL, "the caller's keys stay outside",
                        "joined a new session keyring", false, OUTSIDE, 0, act_keyring,
                        {ABOUT_CALL, "keyctl", NULL}},
    [DOCTOR_CGROUP2] = {"cgroup2", LIMITS, "memory, pids and cpu of the whole tree", "", false,
                        SPECIAL, 0, NULL, {ABOUT_CALL, "cgroup2", NULL}},
    [DOCTOR_CGROUP1] = {"cgroup1", LIMITS, "the same on older hosts", "", false, SPECIAL, 0, NULL,
                        {ABOUT_CALL, "cgroup1", NULL}},
    [DOCTOR_BWRAP] = {"bwrap", BACKENDS, "--backend bwrap", "", false, SPECIAL, 0, NULL,
                      {ABOUT_CALL, "bwrap", NULL}},
    [DOCTOR_POSIX] = {"posix", BACKENDS, "--backend posix", "", false, SPECIAL, 0, NULL,
                      {ABOUT_CALL, "posix", NULL}},
};

const char *doctor_key(enum doctor_id id)
{
    return probes[id].key;
}

const char *doctor_group(enum doctor_id id)
{
    return probes[id].group;
}

const char *doctor_use(enum doctor_id id)
{
    return probes[id].use;
}

bool doctor_needed(enum doctor_id id)
{
    return probes[id].needed;
}

const char *doctor_landlock_adds(int abi)
{
    static const char *const adds[] = {
        "",
        "reading, writing, executing, making and removing files",
        "moving and linking files between directories",
        "truncating files",
        "TCP: bind and connect",
        "ioctl on devices",
        "scopes: signals and abstract sockets",
        "control over what is logged",
    };
    return abi >= 1 && abi < (int)(sizeof adds / sizeof adds[0]) ? adds[abi] : NULL;
}

const char *doctor_layer_name(enum doctor_layer layer)
{
    static const char *const names[DOCTOR_LAYER_COUNT] = {[LAYER_GUARD] = "runtime_guard",
                                                          [LAYER_WORKSPACE] = "workspace",
                                                          [LAYER_OS] = "os_wrapper",
                                                          [LAYER_AUDIT] = "static_audit"};
    return names[layer];
}

static void examine_one(struct doctor *d, enum doctor_id id)
{
    const struct probe *p = &probes[id];
    struct doctor_answer *answer = &d->answers[id];
    char *reason = answer->cause.reason;
    struct attempt a;
    if (id == DOCTOR_IDMAP && d->setting.uid != 0) {
        snprintf(reason, sizeof answer->cause.reason, "only root can, and only runs of root need it");
        return;
    }
    if (p->where == INSIDE && id != DOCTOR_USERNS && !d->answers[DOCTOR_USERNS].available) {
        snprintf(reason, sizeof answer->cause.reason, "needs a user namespace: see userns");
        return;
    }
    if (p->where == INSIDE)
        attempt_run_inside(&a, p->flags, p->act);
    else
        attempt_run(&a, p->act);
    answer->available = attempt_worked(&a);
    answer->number = a.number;
    if (answer->available)
        snprintf(reason, sizeof answer->cause.reason, "%s", p->done);
    else
        doctor_explain(&answer->cause, &d->setting, &p->question, &a);
}

/* The whole run is the last word; what is known of its parts explains it better. */
static void explain_trial(const struct doctor *d, struct doctor_trial *trial)
{
    for (unsigned i = 0; i < DOCTOR_COUNT && !trial->enforceable; i++) {
        const struct doctor_answer *answer = &d->answers[i];
        if (!probes[i].needed || answer->available)
            continue;
        snprintf(trial->cause.reason, sizeof trial->cause.reason, "%s: %.290s", probes[i].key,
                 answer->cause.reason);
        memcpy(trial->cause.remedy, answer->cause.remedy, sizeof trial->cause.remedy);
        return;
    }
}

__attribute__((format(printf, 4, 5))) static void layer(struct doctor *d, enum doctor_layer which,
                                                        bool on, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    d->layers[which].on = on;
    vsnprintf(d->layers[which].reason, sizeof d->layers[which].reason, fmt, args);
    va_end(args);
}

static void examine_layers(struct doctor *d, const struct doctor_options *options)
{
    static const char missing[] = "this version of cordon does not have it";
    const struct doctor_answer *notify = &d->answers[DOCTOR_SECCOMP_NOTIFY];
    const struct ledger_entry *files = &d->asked.ledger.entries[CAP_FILESYSTEM];
    d->layers_given = true;
    layer(d, LAYER_GUARD, options->has_test && notify->available, "%.250s",
          !options->has_test    ? missing
          : !notify->available ? notify->cause.reason
                               : "a listener names each refused write");
    layer(d, LAYER_WORKSPACE, options->has_test, "%s",
          options->has_test ? "HOME, TMPDIR and caches beneath tests/artifacts" : missing);
    layer(d, LAYER_OS, files->applied, "%s", files->applied ? files->mechanism : files->details);
    layer(d, LAYER_AUDIT, options->has_audit, "%s",
          options->has_audit ? "cordon audit reads the tests before they run" : missing);
}

static void examine_profiles(struct doctor *out, const struct doctor_options *options)
{
    doctor_try_profile(&out->standard, PROFILE_STAGE);
    explain_trial(out, &out->standard);
    if (options->profile < 0)
        return;
    out->asked_given = true;
    if (options->profile == PROFILE_STAGE) {
        out->asked = out->standard;
    } else {
        doctor_try_profile(&out->asked, (enum policy_profile)options->profile);
        explain_trial(out, &out->asked);
    }
    if (options->profile == PROFILE_TEST)
        examine_layers(out, options);
}

void doctor_examine(struct doctor *out, const struct doctor_options *options)
{
    *out = (struct doctor){0};
    doctor_setting_read(&out->setting);
    struct layer_cgroup aside = LAYER_CGROUP_INIT;
    doctor_host_cgroup(out, &aside); /* first: nobody that an act left behind is in the own group yet */
    for (unsigned i = 0; i < DOCTOR_COUNT; i++) {
        if (probes[i].where != SPECIAL)
            examine_one(out, (enum doctor_id)i);
    }
    doctor_host_backends(out, options->path);
    examine_profiles(out, options);
    layer_cgroup_release(&aside);
}
