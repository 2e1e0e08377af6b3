#include "doctor/host.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/text.h"

#define DELEGATED "systemd-run %s--scope -p Delegate=yes -- cordon run ..."
#define TRY_BYTES (64U * 1024 * 1024)
#define TRY_TASKS 64

/* A group with a limit by one controller, as a run would make it. */
static int make_group(struct layer_cgroup *out, const struct host_cgroup *host, enum cgroup_controller which,
                      struct cordon_error *err)
{
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    switch (which) {
    case CGROUP_MEMORY:
        want.mem_bytes = TRY_BYTES;
        break;
    case CGROUP_PIDS:
        want.pids = TRY_TASKS;
        break;
    case CGROUP_CPU:
        want.cpu_quota_us = PLAN_CGROUP_PERIOD_US;
        break;
    default:
        want.cpu_usage = true;
    }
    return layer_cgroup_prepare(out, host, &want, err);
}

/* The controllers of one version that can be used, by name; and what went wrong with one. */
static unsigned usable(const struct host_cgroup *host, enum cgroup_version version, char *names,
                       size_t size, char *wrong, size_t wrong_size)
{
    unsigned count = 0;
    size_t used = 0;
    names[0] = wrong[0] = '\0';
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const struct host_cgroup_controller *c = &host->controllers[i];
        if (c->version != version)
            continue;
        struct layer_cgroup group = LAYER_CGROUP_INIT;
        struct cordon_error err = {0};
        if (make_group(&group, host, (enum cgroup_controller)i, &err) < 0) {
            cordon_error_format(&err, wrong, wrong_size);
            continue;
        }
        layer_cgroup_release(&group);
        used += (size_t)snprintf(names + used, size - used, "%s%s", count > 0 ? ", " : "",
                                 cgroup_controller_name((enum cgroup_controller)i));
        count++;
    }
    return count;
}

static bool is_mounted(const char *path, unsigned long type)
{
    struct statfs fs;
    return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == type;
}

/* How a group of v2 is had: by a line for systemd where it runs, else by hand. */
static void remedy_v2(struct doctor_cause *out, const struct doctor_setting *s)
{
    const unsigned uid = (unsigned)s->uid;
    if (s->systemd)
        snprintf(out->remedy, sizeof out->remedy, DELEGATED, uid == 0 ? "" : "--user ");
    else
        snprintf(out->remedy, sizeof out->remedy,
                 "sudo sh -c 'cd /sys/fs/cgroup; mkdir -p cordon-%u/shell; "
                 "echo +memory +pids +cpu > cgroup.subtree_control; "
                 "echo +memory +pids +cpu > cordon-%u/cgroup.subtree_control; chown -R %u cordon-%u; "
                 "echo '$$' > cordon-%u/shell/cgroup.procs'",
                 uid, uid, uid, uid, uid);
}

/* Of v1, by hand: systemd delegates none of its groups to ordinary users. Root may write them all. */
static void remedy_v1(struct doctor_cause *out, const struct doctor_setting *s)
{
    const unsigned uid = (unsigned)s->uid;
    if (uid != 0)
        snprintf(out->remedy, sizeof out->remedy,
                 "sudo sh -c 'for c in memory pids cpuacct cpu; do cd /sys/fs/cgroup/$c || continue; "
                 "mkdir -p cordon-%u; chown -R %u cordon-%u; echo '$$' > cordon-%u/cgroup.procs; done'",
                 uid, uid, uid, uid);
}

/* What makes nothing but the mount writable; who may write there comes next. */
static void remedy_read_only(struct doctor_cause *out, const struct doctor_setting *s, enum cgroup_version version)
{
    const char *sudo = s->uid == 0 ? "" : "sudo ";
    if (version == CGROUP_V2)
        snprintf(out->remedy, sizeof out->remedy, "%smount -o remount,bind,rw /sys/fs/cgroup", sudo);
    else
        snprintf(out->remedy, sizeof out->remedy,
                 "for c in memory pids cpuacct; do %smount -o remount,bind,rw /sys/fs/cgroup/$c; done", sudo);
}

static void examine_version(struct doctor *d, enum doctor_id id, enum cgroup_version version)
{
    struct doctor_answer *answer = &d->answers[id];
    struct doctor_cause *cause = &answer->cause;
    char lack[CGROUP_LACK_SIZE] = "";
    char *reason = cause->reason;
    const size_t size = sizeof cause->reason;
    char names[128];
    char wrong[256];
    usable(&d->cgroup, version, names, sizeof names, wrong, sizeof wrong);
    if (d->cgroup.controllers[CGROUP_MEMORY].version == CGROUP_NONE)
        layer_cgroup_lack(lack, &d->cgroup, CGROUP_MEMORY);
    const bool only_v2 = is_mounted("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC);
    const bool some_v1 = is_mounted("/sys/fs/cgroup/memory", CGROUP_SUPER_MAGIC) ||
                         is_mounted("/sys/fs/cgroup/pids", CGROUP_SUPER_MAGIC);
    /* Counting alone is no limit. */
    answer->available = strstr(names, "memory") != NULL || strstr(names, "pids") != NULL;
    if (answer->available) {
        snprintf(reason, size, "made a group, set a limit, read it back: %s", names);
    } else if (version == CGROUP_V2 && some_v1) {
        snprintf(reason, size, "%sthe controllers of this host belong to cgroup v1, which serves as well",
                 names[0] != '\0' ? "it counts processor time; " : "");
        if (d->setting.systemd && d->setting.uid != 0 && !d->answers[DOCTOR_CGROUP1].available)
            snprintf(cause->remedy, sizeof cause->remedy,
                     "add systemd.unified_cgroup_hierarchy=1 to the kernel command line, and reboot; then " DELEGATED,
                     "--user ");
    } else if (version == CGROUP_V1 && only_v2) {
        snprintf(reason, size, "the controllers of this host belong to cgroup v2, which is better");
    } else if (!only_v2 && !some_v1) {
        snprintf(reason, size, "%s", lack);
        if (version == CGROUP_V2 && text_starts_with(reason, "no cgroup"))
            snprintf(cause->remedy, sizeof cause->remedy, "mount -t cgroup2 none /sys/fs/cgroup");
    } else {
        snprintf(reason, size, "%s", wrong[0] != '\0' ? wrong : lack);
        if (strstr(reason, "read-only") != NULL)
            remedy_read_only(cause, &d->setting, version);
        else if (version == CGROUP_V2)
            remedy_v2(cause, &d->setting);
        else
            remedy_v1(cause, &d->setting);
    }
}

/*
 * Where a run would step aside, because it is alone in its group, this process does so now: the trial is a child of
 * it, and neither would be alone. From the leaf it finds what a run would.
 */
static void step_aside(const struct host_cgroup *host, struct layer_cgroup *aside)
{
    static const enum cgroup_controller passed_on[] = {CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU};
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        const struct host_cgroup_controller *c = &host->controllers[passed_on[i]];
        if (c->version == CGROUP_V2 && c->route == CGROUP_ROUTE_LEAF &&
            make_group(aside, host, passed_on[i], NULL) == 0)
            return;
    }
}

void doctor_host_cgroup(struct doctor *d, struct layer_cgroup *aside)
{
    layer_cgroup_probe(&d->cgroup);
    examine_version(d, DOCTOR_CGROUP1, CGROUP_V1);
    examine_version(d, DOCTOR_CGROUP2, CGROUP_V2);
    step_aside(&d->cgroup, aside);
}

/* No program that cordon starts gains rights (no_new_privs); one that needs them cannot be used. */
static const char *about_rights(const char *path)
{
    struct stat st;
    const bool set = stat(path, &st) == 0 && (st.st_mode & S_ISUID) != 0;
    return set ? "; beneath cordon its set-user-ID bit has no effect" : "";
}

void doctor_host_backends(struct doctor *d, const char *path)
{
    struct doctor_answer *answer = &d->answers[DOCTOR_BWRAP];
    struct doctor_cause *cause = &answer->cause;
    struct doctor_answer *posix = &d->answers[DOCTOR_POSIX];
    posix->available = true;
    snprintf(posix->cause.reason, sizeof posix->cause.reason,
             "everywhere: open files and output are limited, nothing is isolated; auto never takes it");
    if (bwrap_find(&d->bwrap, path) < 0) {
        if (d->bwrap.why != NULL)
            snprintf(cause->reason, sizeof cause->reason, "%.200s is not taken: %s",
                     d->bwrap.refused, d->bwrap.why);
        else
            snprintf(cause->reason, sizeof cause->reason, "there is none");
        snprintf(cause->remedy, sizeof cause->remedy, "apt-get install bubblewrap");
        return;
    }
    struct doctor_trial trial;
    doctor_try_backend(&trial, BACKEND_BWRAP);
    answer->available = trial.status == STATUS_OK;
    if (answer->available) {
        snprintf(cause->reason, sizeof cause->reason, "%.160s ran `true` in namespaces of its own%s%s",
                 d->bwrap.path, about_rights(d->bwrap.path),
                 d->bwrap.trusted ? "" : "; it comes from PATH, not from a place that root fills");
        return;
    }
    snprintf(cause->reason, sizeof cause->reason, "%.250s%s", trial.cause.reason, about_rights(d->bwrap.path));
    const char *userns = d->answers[DOCTOR_USERNS].cause.remedy;
    memcpy(cause->remedy, userns[0] != '\0' ? userns : trial.cause.remedy, sizeof cause->remedy);
}
