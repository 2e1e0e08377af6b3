#include "layer/namespaces.h"

#include <sched.h>
#include <sys/stat.h>

#include "sys/files.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

uint64_t layer_namespaces_flags(const struct plan *plan)
{
    if (plan->bare)
        return 0;
    uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS;
    flags |= plan->pidns ? CLONE_NEWPID : 0;
    flags |= plan->ipcns ? CLONE_NEWIPC : 0;
    /* With a cgroup init makes this one itself, after it has entered: the root of the namespace is
     * taken at that moment. */
    flags |= plan->cgroupns && !plan->use_cgroup ? CLONE_NEWCGROUP : 0;
    return flags;
}

void layer_namespaces_read(struct namespace_ids *out, unsigned first, unsigned last)
{
    static const char *const names[] = {
        [NS_USER] = "user", [NS_MOUNT] = "mnt", [NS_PID] = "pid", [NS_IPC] = "ipc", [NS_NET] = "net"};
    int dir = sys_open(AT_FDCWD, "/proc/self/ns", O_PATH | O_DIRECTORY, 0);
    for (unsigned i = first; i <= last; i++) {
        struct stat st;
        out->inode[i] = dir >= 0 && sys_call(SYS_newfstatat, dir, names[i], &st, 0) == 0 ? st.st_ino : 0;
    }
    sys_close(dir);
}

uint32_t layer_namespaces_compare(const struct namespace_ids *outside,
                                  const struct namespace_ids *inside, unsigned first, unsigned last)
{
    static const uint32_t proofs[] = {[NS_USER] = PROOF_USERNS,
                                      [NS_MOUNT] = PROOF_MOUNTNS,
                                      [NS_PID] = PROOF_PIDNS,
                                      [NS_IPC] = PROOF_IPCNS,
                                      [NS_NET] = PROOF_NETNS};
    uint32_t proof = 0;
    for (unsigned i = first; i <= last; i++) {
        if (outside->inode[i] != 0 && inside->inode[i] != 0 && outside->inode[i] != inside->inode[i])
            proof |= proofs[i];
    }
    return proof;
}
