/* statx(2), which musl does not wrap; -1 and errno, as it would. Linux 4.11; the mount's number came with 5.8. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sys_statx_time {
    int64_t sec;
    uint32_t nsec;
    int32_t reserved;
};

struct sys_statx {
    uint32_t mask;
    uint32_t blksize;
    uint64_t attributes;
    uint32_t nlink;
    uint32_t uid;
    uint32_t gid;
    uint16_t mode;
    uint16_t spare0;
    uint64_t ino;
    uint64_t size;
    uint64_t blocks;
    uint64_t attributes_mask;
    struct sys_statx_time atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor;
    uint32_t dev_major, dev_minor;
    uint64_t mnt_id;
    uint64_t spare[13];
};

#define SYS_STATX_TYPE 0x0001u
#define SYS_STATX_SIZE 0x0200u
#define SYS_STATX_MTIME 0x0040u
#define SYS_STATX_INO 0x0100u
#define SYS_STATX_BASIC 0x07ffu
#define SYS_STATX_BTIME 0x0800u
#define SYS_STATX_MNT_ID 0x1000u

#define SYS_STATX_ATTR_MOUNT_ROOT 0x2000u /* 5.8 */

#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000
#endif

static inline int sys_statx(int dir, const char *path, int flags, unsigned mask,
                            struct sys_statx *out)
{
    return (int)syscall(SYS_statx, dir, path, flags, mask, out);
}
