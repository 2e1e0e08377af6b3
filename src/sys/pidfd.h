/* What a descriptor of a process tells about it, also of one that is not a child. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "sys/call.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

#define SYS_PIDFD_INFO_EXIT (UINT64_C(1) << 3)

struct sys_pidfd_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11]; /* pid, tgid, ppid, and four of user and group each */
    int32_t exit_code; /* as of waitpid() */
};

#define SYS_PIDFD_GET_INFO _IOWR(0xFF, 11, struct sys_pidfd_info)

/* Numbers of ioctls that give a descriptor of one of its namespaces. 6.11. */
#define SYS_PIDFD_IPC_NS _IO(0xFF, 2)
#define SYS_PIDFD_MNT_NS _IO(0xFF, 3)
#define SYS_PIDFD_NET_NS _IO(0xFF, 4)
#define SYS_PIDFD_PID_NS _IO(0xFF, 5)
#define SYS_PIDFD_USER_NS _IO(0xFF, 9)

static inline int sys_pidfd_namespace(int pidfd, unsigned number)
{
    return (int)sys_call(SYS_ioctl, pidfd, number, 0);
}

/* 6.15. How it ended, once it was reaped; -errno where the kernel does not tell. */
static inline long sys_pidfd_status(int pidfd, int *status)
{
    struct sys_pidfd_info info = {.mask = SYS_PIDFD_INFO_EXIT};
    long r = sys_call(SYS_ioctl, pidfd, SYS_PIDFD_GET_INFO, &info);
    if (r < 0)
        return r;
    if ((info.mask & SYS_PIDFD_INFO_EXIT) == 0)
        return -ENODATA;
    *status = info.exit_code;
    return 0;
}
