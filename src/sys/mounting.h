/* Mounting by raw calls. All return a value or -errno. Not "mount.h": libc has sys/mount.h. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <sys/mount.h>

#include "sys/call.h"

/* glibc 2.36 has these in sys/mount.h, musl has not, and linux/mount.h clashes with both. */
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum {
    TREE_CLONE = 1,             /* OPEN_TREE_CLONE */
    TREE_CLOEXEC = O_CLOEXEC,   /* OPEN_TREE_CLOEXEC */
    TREE_RECURSIVE = 0x8000,    /* AT_RECURSIVE */
    TREE_EMPTY_PATH = 0x1000,   /* AT_EMPTY_PATH */
    MOVE_FROM_EMPTY = 0x04,     /* MOVE_MOUNT_F_EMPTY_PATH */
    MOVE_TO_EMPTY = 0x40,       /* MOVE_MOUNT_T_EMPTY_PATH */
    FSCONFIG_STRING = 1,        /* FSCONFIG_SET_STRING */
    FSCONFIG_CREATE = 6,        /* FSCONFIG_CMD_CREATE */
    ATTR_RDONLY = 0x1,          /* MOUNT_ATTR_RDONLY */
    ATTR_NOSUID = 0x2,
    ATTR_NODEV = 0x4,
    ATTR_IDMAP = 0x100000,
};

struct sys_mount_attr {
    uint64_t set, clear, propagation, userns_fd;
};

/* A detached copy of the mount at `fd`, its sub-mounts too if recursive. */
static inline int sys_open_tree(int fd, const char *path, unsigned flags)
{
    return (int)sys_call(SYS_open_tree, fd, path, flags | (unsigned)TREE_CLOEXEC);
}

static inline long sys_mount_setattr(int fd, const char *path, unsigned flags,
                                     const struct sys_mount_attr *attr)
{
    return sys_call(SYS_mount_setattr, fd, path, flags, attr, sizeof *attr);
}

static inline long sys_move_mount(int from, const char *from_path, int to, const char *to_path,
                                  unsigned flags)
{
    return sys_call(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline long sys_mount(const char *source, const char *target, const char *type,
                             unsigned long flags, const char *data)
{
    return sys_call(SYS_mount, source, target, type, flags, data);
}

static inline long sys_umount(const char *target, int flags)
{
    return sys_call(SYS_umount2, target, flags);
}

static inline long sys_pivot_root(const char *new_root, const char *put_old)
{
    return sys_call(SYS_pivot_root, new_root, put_old);
}
