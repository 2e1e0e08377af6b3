#include "layer/namespaces.h"

#include <sched.h>
#include <sys/stat.h>

#include "sys/files.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

uint64_t layer_namespaces_flags(const struct plan *plan)
{
    if (plan_hosted(plan))
        return 0;
    uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS;
    flags |= plan->pidns ? CLONE_NEWPID : 0;
    flags |= plan->ipcns ? CLONE_NEWIPC : 0;
    /* With a cgroup init makes this one itself, after it has entered: the root of the namespace is
     * taken at that moment. */
    flags |= plan->cgroupns && !plan->use_cgroup ? CLONE_NEWCGROUP : 0;
    return flags;
}

uint64_t layer_namespace_inode(enum namespace which)
{
    static const char *const paths[] = {[NS_IPC] = "/proc/self/ns/ipc", [NS_NET] = "/proc/self/ns/net"};
    struct stat st;
    return sys_call(SYS_newfstatat, AT_FDCWD, paths[which], &st, 0) == 0 ? st.st_ino : 0;
}
