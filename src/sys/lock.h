/* flock() by a raw call: the file name of its libc header is taken by one of ours. */
#pragma once

#include "sys/call.h"

#define SYS_LOCK_SHARED 1
#define SYS_LOCK_EXCLUSIVE 2
#define SYS_LOCK_TRY 4

/* 0 or -errno; the lock belongs to the open file, so it ends with its last descriptor. */
static inline int sys_flock(int fd, int operation)
{
    return (int)sys_call(SYS_flock, fd, operation);
}
