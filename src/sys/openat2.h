/* openat2(2): open with a say in how the path is resolved; a descriptor or -errno. Linux 5.6. */
#pragma once

#include <linux/openat2.h>

#include "sys/call.h"

#ifndef SYS_openat2
#define SYS_openat2 437 /* the same on every architecture */
#endif

static inline int sys_openat2(int dir, const char *path, const struct open_how *how)
{
    return (int)sys_call(SYS_openat2, dir, path, how, sizeof *how);
}
