#include "layer/identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sys/files.h"
#include "sys/process.h"

static int fail(struct cordon_error *err, long r, const char *what, const char *subject)
{
    err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_IDENTITY, (int)-r, what, subject);
    if (r == -EPERM || r == -EACCES)
        err_remedy(err, "something on this host restricts user namespaces (AppArmor on Ubuntu: sysctl "
                        "kernel.apparmor_restrict_unprivileged_userns=0)");
    return (int)r;
}

void layer_identity_prepare(struct layer_identity *self, const struct plan *plan)
{
    snprintf(self->uid_map, sizeof self->uid_map, "%u %u 1\n", plan->uid_inside, plan->uid_host);
    snprintf(self->gid_map, sizeof self->gid_map, "%u %u 1\n", plan->gid_inside, plan->gid_host);
}

static long put(int dir, const char *name, const char *text)
{
    int fd = sys_open(dir, name, O_WRONLY, 0);
    if (fd < 0)
        return fd;
    long r = sys_write(fd, text, strlen(text));
    sys_close(fd);
    return r < 0 ? r : 0;
}

static int map(const struct layer_identity *self, const char *proc_dir, bool deny_setgroups,
               struct cordon_error *err)
{
    int dir = sys_open(AT_FDCWD, proc_dir, O_PATH | O_DIRECTORY, 0);
    if (dir < 0)
        return fail(err, dir, "open", proc_dir);
    const char *name = "setgroups";
    long r = deny_setgroups ? put(dir, name, "deny") : 0;
    if (r == 0)
        r = put(dir, name = "uid_map", self->uid_map);
    if (r == 0)
        r = put(dir, name = "gid_map", self->gid_map);
    sys_close(dir);
    return r < 0 ? fail(err, r, "write the id map", name) : 0;
}

int layer_identity_map_self(const struct layer_identity *self, struct cordon_error *err)
{
    return map(self, "/proc/self", true, err);
}

int layer_identity_map_child(const struct layer_identity *self, int pid, struct cordon_error *err)
{
    char dir[32];
    snprintf(dir, sizeof dir, "/proc/%d", pid);
    return map(self, dir, false, err);
}

int layer_identity_switch(const struct plan *plan, struct cordon_error *err)
{
    /* In a user namespace of our own the map is in force already; bwrap is yet to make its own. */
    const uid_t uid = plan_hosted(plan) ? plan->uid_host : plan->uid_inside;
    const gid_t gid = plan_hosted(plan) ? plan->gid_host : plan->gid_inside;
    long r = sys_call(SYS_setgroups, 0, 0);
    if (r == 0)
        r = sys_call(SYS_setresgid, gid, gid, gid);
    if (r == 0)
        r = sys_call(SYS_setresuid, uid, uid, uid);
    /* The change cleared it, and a process that is not dumpable does not own its /proc files. */
    if (r == 0)
        r = sys_prctl(PR_SET_DUMPABLE, 1, 0);
    return r < 0 ? fail(err, r, "switch to the user of this run", "setresuid") : 0;
}

bool layer_identity_proven(const struct plan *plan)
{
    return sys_call(SYS_getuid) == (long)plan->uid_inside && sys_call(SYS_geteuid) == (long)plan->uid_inside &&
           sys_call(SYS_getgid) == (long)plan->gid_inside && sys_call(SYS_getegid) == (long)plan->gid_inside &&
           plan->uid_host != 0;
}
