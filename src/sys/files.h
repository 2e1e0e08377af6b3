/* Files and descriptors by raw calls. All return a value or -errno. */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h> /* ST_*: the bits of f_flags */

#include "sys/call.h"
#include "sys/openat2.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static inline int sys_open(int dir, const char *path, int flags, unsigned mode)
{
    return (int)sys_call(SYS_openat, dir, path, flags | O_CLOEXEC, mode);
}

/* Resolves strictly beneath `root`, absolute paths too; follows no link at all. */
static inline int sys_open_in_root(int root, const char *path, uint64_t flags)
{
    struct open_how how = {.flags = flags | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return sys_openat2(root, path, &how);
}

/* An absolute path, strictly: a link anywhere on the way is ELOOP. */
static inline int sys_open_without_links(const char *path, uint64_t flags)
{
    struct open_how how = {.flags = flags | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return sys_openat2(AT_FDCWD, path, &how);
}

/* The digits of a number, without an end; what follows them. */
#define SYS_NUMBER_SIZE 10
static inline char *sys_put_number(char *p, unsigned number)
{
    unsigned scale = 1;
    while (number / scale >= 10)
        scale *= 10;
    for (; scale > 0; scale /= 10)
        *p++ = (char)('0' + number / scale % 10);
    return p;
}

/* For calls that want a name: this one leads to exactly the descriptor. Returns its length. */
#define SYS_FD_PATH_SIZE 32
static inline size_t sys_fd_path(char out[SYS_FD_PATH_SIZE], int fd)
{
    static const char prefix[] = "/proc/self/fd/";
    memcpy(out, prefix, sizeof prefix - 1);
    char *end = sys_put_number(out + sizeof prefix - 1, (unsigned)fd);
    *end = '\0';
    return (size_t)(end - out);
}

/* "123/name" beneath /proc. */
#define SYS_PID_PATH_SIZE 64
static inline void sys_pid_path(char out[SYS_PID_PATH_SIZE], int pid, const char *name)
{
    char *p = sys_put_number(out, (unsigned)pid);
    *p++ = '/';
    memcpy(p, name, strlen(name) + 1);
}

static inline void sys_close(int fd)
{
    if (fd >= 0)
        sys_call(SYS_close, fd);
}

static inline long sys_write(int fd, const void *data, size_t len)
{
    return sys_call(SYS_write, fd, data, len);
}

static inline long sys_read(int fd, void *data, size_t len)
{
    return sys_call(SYS_read, fd, data, len);
}

/* Closes first to last; with CLOSE_RANGE_CLOEXEC in flags only marks them. */
static inline long sys_close_range(unsigned first, unsigned last, unsigned flags)
{
    return sys_call(SYS_close_range, first, last, flags);
}

static inline long sys_fstatfs(int fd, struct statfs *out)
{
    return sys_call(SYS_fstatfs, fd, out);
}

static inline long sys_mkdir(const char *path, unsigned mode)
{
    return sys_call(SYS_mkdirat, AT_FDCWD, path, mode);
}

static inline long sys_fstat(int fd, struct stat *out)
{
    return sys_call(SYS_newfstatat, fd, "", out, AT_EMPTY_PATH);
}

/* Follows no link in the last place; "" is `dir` itself. */
static inline long sys_stat(int dir, const char *path, struct stat *out)
{
    return sys_call(SYS_newfstatat, dir, path, out, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static inline long sys_symlink(const char *text, const char *path)
{
    return sys_call(SYS_symlinkat, text, AT_FDCWD, path);
}
