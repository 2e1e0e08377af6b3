/* Calls on directory entries that some C library does not wrap; -1 and errno, as it would. */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "sys/call.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif

#ifndef SYS_listxattrat
#define SYS_listxattrat 465 /* Linux 6.13 */
#endif

#define SYS_RENAME_NOREPLACE 1u
#define SYS_RENAME_EXCHANGE 2u
#define SYS_FICLONE _IOW(0x94, 9, int)

struct sys_dirent {
    uint64_t ino;
    int64_t off;
    uint16_t reclen;
    uint8_t type;
    char name[];
};

/* By a raw call: the bytes that were filled, 0 at the end, or -errno. `out` is aligned like a struct sys_dirent. */
static inline long sys_getdents(int fd, char *out, size_t size)
{
    return sys_call(SYS_getdents64, fd, out, size);
}

/* The entry at `at` of such a list, and on to the next one. */
static inline const struct sys_dirent *sys_next_entry(const char *list, long *at)
{
    const struct sys_dirent *entry = (const struct sys_dirent *)(const void *)(list + *at);
    *at += entry->reclen;
    return entry;
}

static inline int sys_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                                unsigned flags)
{
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

/* With AT_EMPTY_PATH and "" it changes what the descriptor, O_PATH or not, stands for. */
static inline int sys_fchmodat2(int dir, const char *name, mode_t mode, int flags)
{
    return (int)syscall(SYS_fchmodat2, dir, name, mode, flags);
}

/* The length of the names of all extended attributes, which fill `out` if it has room. */
static inline ssize_t sys_listxattrat(int dir, const char *name, int flags, char *out, size_t size)
{
    return (ssize_t)syscall(SYS_listxattrat, dir, name, flags, out, size);
}
