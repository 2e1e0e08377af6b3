/* stat, lstat, exists, chmod, utimes, constants. */
#include "rooted/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "rooted/root.h"
#include "sys/statx.h"

char meta_type(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return 'f';
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'l';
    case S_IFBLK:
        return 'b';
    case S_IFCHR:
        return 'c';
    case S_IFSOCK:
        return 's';
    case S_IFIFO:
        return 'p';
    default:
        return '?';
    }
}

double meta_ms(const struct sys_statx_time *t)
{
    return (double)t->sec * 1000.0 + (double)t->nsec / 1e6;
}

static void convert(const struct sys_statx *st, struct cordon_root_stat *out)
{
    *out = (struct cordon_root_stat){
        .dev = makedev(st->dev_major, st->dev_minor),
        .ino = st->ino,
        .nlink = st->nlink,
        .rdev = makedev(st->rdev_major, st->rdev_minor),
        .size = st->size,
        .blksize = st->blksize,
        .blocks = st->blocks,
        .mode = st->mode,
        .uid = st->uid,
        .gid = st->gid,
        .type = meta_type(st->mode),
        .atime_ms = meta_ms(&st->atime),
        .mtime_ms = meta_ms(&st->mtime),
        .ctime_ms = meta_ms(&st->ctime),
        /* As Node: where the file system does not know, the oldest time it has. */
        .birthtime_ms = (st->mask & SYS_STATX_BTIME) != 0 ? meta_ms(&st->btime)
                                                          : meta_ms(&st->ctime),
    };
}

int meta_stat_at(int dir, const char *name, struct cordon_root_stat *out)
{
    struct sys_statx st;
    if (sys_statx(dir, name, *name != '\0' ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH,
                  SYS_STATX_BASIC | SYS_STATX_BTIME, &st) < 0)
        return -errno;
    convert(&st, out);
    return 0;
}

int cordon_root_stat(struct cordon_root *root, const char *path, struct cordon_root_stat *out,
                     struct cordon_root_error *err)
{
    struct call c = call_begin(root, "stat", err);
    TARGET_AUTO(t);
    FD_AUTO fd = -1;
    struct sys_statx st;
    int rc = target_map(&c, path, "stat", &t);
    if (rc == 0 && target_direct_stat(root, &t, SYS_STATX_BASIC | SYS_STATX_BTIME, &st) == 0) {
        convert(&st, out);
        return 0;
    }
    if (rc == 0)
        rc = target_open_fd(&c, path, "stat", O_PATH, &t, &fd);
    if (rc < 0)
        return rc;
    rc = fd < 0 ? fd : meta_stat_at(fd, "", out);
    return rc < 0 ? call_fail(&c, &t, "stat", rc) : 0;
}

int cordon_root_lstat(struct cordon_root *root, const char *path, struct cordon_root_stat *out,
                      struct cordon_root_error *err)
{
    struct call c = call_begin(root, "lstat", err);
    TARGET_AUTO(t);
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = target_leaf(&c, path, "lstat", &t, &place);
    if (rc < 0)
        return rc;
    rc = meta_stat_at(place.dir, place.name, out);
    return rc < 0 ? call_fail(&c, &t, "lstat", rc) : 0;
}

int cordon_root_exists(struct cordon_root *root, const char *path, bool *out,
                       struct cordon_root_error *err)
{
    struct call c = call_begin(root, "exists", err);
    TARGET_AUTO(t);
    FD_AUTO fd = -1;
    int rc = target_open_fd(&c, path, "access", O_PATH, &t, &fd);
    if (rc < 0)
        return rc;
    if (fd < 0 && fd != -ENOENT && fd != RESOLVE_NOTDIR)
        return call_fail(&c, &t, "access", fd);
    *out = fd >= 0;
    return 0;
}

/* ---- changing what a name leads to, without the right to read it ---- */

#define CHANGE_SETS_ID (-4099) /* a bit that would give a program the identity of its owner or group */

/* The two ways to change something: by an O_PATH descriptor, which older kernels cannot, or not. */
struct change {
    int (*by_path)(int fd, const void *to);
    int (*by_file)(int fd, const void *to);
};

/* Where neither the kernel nor /proc can act on an O_PATH descriptor: one that may be written. */
static int open_to_change(const struct target *t)
{
    int fd = resolve_open(&t->base, t->mapped.name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd == -EACCES)
        fd = resolve_open(&t->base, t->mapped.name, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    return fd;
}

static int change(const struct call *c, const char *path, const struct change *how, const void *to)
{
    TARGET_AUTO(t);
    int rc = call_writable(c, path);
    if (rc == 0)
        rc = target_open(c, path, "open", &t);
    if (rc != 0)
        return rc;
    FD_AUTO fd = resolve_open(&t.base, t.mapped.name, O_PATH);
    rc = fd < 0 ? fd : how->by_path(fd, to);
    if (rc == -ENOTSUP) {
        FD_AUTO other = open_to_change(&t);
        rc = other < 0 ? other : how->by_file(other, to);
    }
    if (rc == CHANGE_SETS_ID)
        return call_fail_code(c, &t, "EPERM", EPERM, "open",
                              "EPERM: operation not permitted in safe mode (set-user-ID or set-group-ID bit), open '%s'",
                              t.request);
    return rc < 0 ? call_fail(c, &t, "open", rc) : 0;
}

struct new_mode {
    mode_t bits;
    bool any; /* also those that run a program as its owner or group */
};

/* Whoever may ask for a mode wrote the program as well, and its owner may be the service's. */
static bool mode_allowed(int fd, const struct new_mode *to)
{
    struct stat st;
    return to->any || (to->bits & (S_ISUID | S_ISGID)) == 0 ||
           (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode));
}

static int chmod_path(int fd, const void *to)
{
    const struct new_mode *mode = to;
    return mode_allowed(fd, mode) ? resolve_fd_chmod(fd, mode->bits) : CHANGE_SETS_ID;
}

static int chmod_file(int fd, const void *to)
{
    const struct new_mode *mode = to;
    return !mode_allowed(fd, mode) ? CHANGE_SETS_ID : fchmod(fd, mode->bits) < 0 ? -errno : 0;
}

int cordon_root_chmod(struct cordon_root *root, const char *path, uint32_t mode,
                      struct cordon_root_error *err)
{
    static const struct change how = {chmod_path, chmod_file};
    struct call c = call_begin(root, "chmod", err);
    const struct new_mode to = {mode & 07777, root != NULL && (root->flags & CORDON_ROOT_UNSAFE) != 0};
    return change(&c, path, &how, &to);
}

static int utimes_path(int fd, const void *times)
{
    return resolve_fd_utimes(fd, times);
}

static int utimes_file(int fd, const void *times)
{
    return futimens(fd, times) < 0 ? -errno : 0;
}

static struct timespec to_timespec(double seconds)
{
    time_t whole = (time_t)seconds;
    whole -= (double)whole > seconds; /* rounded down, also before 1970 */
    long nsec = (long)((seconds - (double)whole) * 1e9);
    return (struct timespec){.tv_sec = whole, .tv_nsec = nsec > 999999999 ? 999999999 : nsec};
}

static bool is_time(double seconds)
{
    return seconds > -1e15 && seconds < 1e15; /* nor NaN, nor infinity */
}

int cordon_root_utimes(struct cordon_root *root, const char *path, double atime_s, double mtime_s,
                       struct cordon_root_error *err)
{
    static const struct change how = {utimes_path, utimes_file};
    struct call c = call_begin(root, "utimes", err);
    if (!is_time(atime_s) || !is_time(mtime_s))
        return call_fail_code(&c, NULL, "ERR_INVALID_ARG_TYPE", EINVAL, "",
                              "the times of a file must be finite numbers of seconds");
    const struct timespec times[2] = {to_timespec(atime_s), to_timespec(mtime_s)};
    return change(&c, path, &how, times);
}

const struct cordon_root_constant *cordon_root_constants(size_t *count)
{
    static const struct cordon_root_constant all[] = {
        {"UV_FS_SYMLINK_DIR", 1}, {"UV_FS_SYMLINK_JUNCTION", 2},
        {"O_RDONLY", 0}, {"O_WRONLY", 1}, {"O_RDWR", 2},
        {"UV_DIRENT_UNKNOWN", 0}, {"UV_DIRENT_FILE", 1}, {"UV_DIRENT_DIR", 2},
        {"UV_DIRENT_LINK", 3}, {"UV_DIRENT_FIFO", 4}, {"UV_DIRENT_SOCKET", 5},
        {"UV_DIRENT_CHAR", 6}, {"UV_DIRENT_BLOCK", 7},
        {"S_IFMT", S_IFMT}, {"S_IFREG", S_IFREG}, {"S_IFDIR", S_IFDIR}, {"S_IFCHR", S_IFCHR},
        {"S_IFBLK", S_IFBLK}, {"S_IFIFO", S_IFIFO}, {"S_IFLNK", S_IFLNK}, {"S_IFSOCK", S_IFSOCK},
        {"O_CREAT", O_CREAT}, {"O_EXCL", O_EXCL}, {"UV_FS_O_FILEMAP", 0}, {"O_NOCTTY", O_NOCTTY},
        {"O_TRUNC", O_TRUNC}, {"O_APPEND", O_APPEND}, {"O_DIRECTORY", O_DIRECTORY},
        {"O_NOATIME", O_NOATIME}, {"O_NOFOLLOW", O_NOFOLLOW}, {"O_SYNC", O_SYNC},
        {"O_DSYNC", O_DSYNC}, {"O_DIRECT", O_DIRECT}, {"O_NONBLOCK", O_NONBLOCK},
        {"S_IRWXU", S_IRWXU}, {"S_IRUSR", S_IRUSR}, {"S_IWUSR", S_IWUSR}, {"S_IXUSR", S_IXUSR},
        {"S_IRWXG", S_IRWXG}, {"S_IRGRP", S_IRGRP}, {"S_IWGRP", S_IWGRP}, {"S_IXGRP", S_IXGRP},
        {"S_IRWXO", S_IRWXO}, {"S_IROTH", S_IROTH}, {"S_IWOTH", S_IWOTH}, {"S_IXOTH", S_IXOTH},
        {"F_OK", 0}, {"R_OK", 4}, {"W_OK", 2}, {"X_OK", 1},
        {"UV_FS_COPYFILE_EXCL", 1}, {"COPYFILE_EXCL", 1}, {"UV_FS_COPYFILE_FICLONE", 2},
        {"COPYFILE_FICLONE", 2}, {"UV_FS_COPYFILE_FICLONE_FORCE", 4},
        {"COPYFILE_FICLONE_FORCE", 4},
    };
    *count = sizeof all / sizeof all[0];
    return all;
}
