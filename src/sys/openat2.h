/* openat2(2): open with a say in how the path is resolved. Linux 5.6. */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437 /* the same on every architecture */
#endif

struct sys_open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

#define SYS_RESOLVE_NO_XDEV UINT64_C(0x01)
#define SYS_RESOLVE_NO_MAGICLINKS UINT64_C(0x02)
#define SYS_RESOLVE_NO_SYMLINKS UINT64_C(0x04)
#define SYS_RESOLVE_BENEATH UINT64_C(0x08)

static inline int sys_openat2(int dir, const char *path, const struct sys_open_how *how)
{
    return (int)syscall(SYS_openat2, dir, path, how, sizeof *how);
}
