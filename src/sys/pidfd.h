/* What a descriptor of a process tells about it after its end, also of one that is not a child. 6.15. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "sys/call.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
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

/* How it ended, once it was reaped; -errno where the kernel does not tell. */
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
