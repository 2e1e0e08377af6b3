#include "layer/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "sys/files.h"

uint64_t layer_namespaces_of_clone(const struct plan *plan)
{
    return plan_hosted(plan) ? 0 : CLONE_NEWUSER | (plan->pidns ? CLONE_NEWPID : 0);
}

uint64_t layer_namespaces_of_init(const struct plan *plan)
{
    uint64_t flags = CLONE_NEWNS | CLONE_NEWUTS;
    flags |= plan->ipcns ? CLONE_NEWIPC : 0;
    /* The root of this one is taken at the moment it is made: init has entered the cgroup, if any. */
    flags |= plan->cgroupns ? CLONE_NEWCGROUP : 0;
    return flags;
}

static uint64_t inode_of(int dir, enum namespace which)
{
    static const char *const names[] = {[NS_IPC] = "ipc", [NS_NET] = "net"};
    struct stat st;
    return sys_call(SYS_newfstatat, dir, names[which], &st, 0) == 0 ? st.st_ino : 0;
}

void layer_namespaces_note(struct namespace_ids *before)
{
    before->dir = sys_open(AT_FDCWD, "/proc/self/ns", O_PATH | O_DIRECTORY, 0);
    for (int i = 0; i < NAMESPACE_COUNT; i++)
        before->inode[i] = inode_of(before->dir, (enum namespace)i);
}

void layer_namespaces_forget(struct namespace_ids *before)
{
    sys_close(before->dir);
}

bool layer_namespace_changed(const struct namespace_ids *before, enum namespace which)
{
    const uint64_t now = inode_of(before->dir, which);
    return now != 0 && before->inode[which] != 0 && now != before->inode[which];
}
