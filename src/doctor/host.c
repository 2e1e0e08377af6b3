#include "doctor/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "layer/cgroup.h"

#define SECONDS_MAX 10

/* Makes and removes a group; 0 or -errno. */
static int make_group(const struct host_cgroup_controller *c)
{
    char path[CGROUP_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/cordon-doctor.%d", c->dir, (int)getpid());
    if (mkdir(path, 0700) < 0)
        return -errno;
    return rmdir(path) < 0 ? -errno : 0;
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
        int r = make_group(c);
        if (r < 0) {
            snprintf(wrong, wrong_size, "mkdir in %.160s: %s", c->dir, text_errno_name(-r));
            continue;
        }
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

/* How a group is had: by a line for systemd where it runs, else by hand. */
static void cgroup_remedy(struct doctor_cause *out, const struct doctor_setting *s,
                          enum cgroup_version version)
{
    const unsigned uid = (unsigned)s->uid;
    if (s->systemd)
        snprintf(out->remedy, sizeof out->remedy, "systemd-run %s--scope -p Delegate=yes -- cordon run ...",
                 uid == 0 ? "" : "--user ");
    else if (version == CGROUP_V2)
        snprintf(out->remedy, sizeof out->remedy,
                 "sudo sh -c 'cd /sys/fs/cgroup; mkdir -p cordon-%u/shell; "
                 "echo +memory +pids +cpu > cgroup.subtree_control; "
                 "echo +memory +pids +cpu > cordon-%u/cgroup.subtree_control; chown -R %u cordon-%u; "
                 "echo '$$' > cordon-%u/shell/cgroup.procs'",
                 uid, uid, uid, uid, uid);
    else
        snprintf(out->remedy, sizeof out->remedy,
                 "sudo sh -c 'for c in memory pids cpuacct; do cd /sys/fs/cgroup/$c; "
                 "mkdir -p cordon-%u; chown -R %u cordon-%u; echo '$$' > cordon-%u/cgroup.procs; done'",
                 uid, uid, uid, uid);
}

static void examine_version(struct doctor *d, enum doctor_id id, enum cgroup_version version)
{
    struct doctor_answer *answer = &d->answers[id];
    struct doctor_cause *cause = &answer->cause;
    const struct host_cgroup_controller *memory = &d->cgroup.controllers[CGROUP_MEMORY];
    char *reason = cause->reason;
    const size_t size = sizeof cause->reason;
    char names[128];
    char wrong[256];
    usable(&d->cgroup, version, names, sizeof names, wrong, sizeof wrong);
    const bool only_v2 = is_mounted("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC);
    const bool some_v1 = is_mounted("/sys/fs/cgroup/memory", CGROUP_SUPER_MAGIC) ||
                         is_mounted("/sys/fs/cgroup/pids", CGROUP_SUPER_MAGIC);
    /* Counting alone is no limit. */
    answer->available = strstr(names, "memory") != NULL || strstr(names, "pids") != NULL;
    if (answer->available) {
        snprintf(reason, size, "made and removed a group: %s", names);
    } else if (version == CGROUP_V2 && some_v1) {
        snprintf(reason, size, "%sthe controllers of this host belong to cgroup v1, which serves as well",
                 names[0] != '\0' ? "it counts processor time; " : "");
    } else if (version == CGROUP_V1 && only_v2) {
        snprintf(reason, size, "the controllers of this host belong to cgroup v2, which is better");
    } else if (!only_v2 && !some_v1) {
        snprintf(reason, size, "%s", memory->reason);
        if (version == CGROUP_V2 && text_starts_with(reason, "no cgroup"))
            snprintf(cause->remedy, sizeof cause->remedy, "mount -t cgroup2 none /sys/fs/cgroup");
    } else {
        snprintf(reason, size, "%s", wrong[0] != '\0' ? wrong : memory->reason);
        cgroup_remedy(cause, &d->setting, version);
    }
}

void doctor_host_cgroup(struct doctor *d)
{
    layer_cgroup_probe(&d->cgroup);
    examine_version(d, DOCTOR_CGROUP2, CGROUP_V2);
    examine_version(d, DOCTOR_CGROUP1, CGROUP_V1);
}

/* Runs `true` in it, silently; 0 or the status. */
static int try_bwrap(const char *path)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3 && null >= 0; fd++)
            dup2(null, fd);
        alarm(SECONDS_MAX);
        execl(path, "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--",
              "true", (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
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
    int status = try_bwrap(d->bwrap.path);
    answer->available = status == 0;
    if (status == 0)
        snprintf(cause->reason, sizeof cause->reason, "%.200s ran `true` in namespaces of its own%s",
                 d->bwrap.path,
                 d->bwrap.trusted ? "" : "; it comes from PATH, not from a place that root fills");
    else
        snprintf(cause->reason, sizeof cause->reason,
                 "%.200s cannot make a sandbox here (exit status %d)", d->bwrap.path,
                 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (status != 0)
        memcpy(cause->remedy, d->answers[DOCTOR_USERNS].cause.remedy, sizeof cause->remedy);
}
