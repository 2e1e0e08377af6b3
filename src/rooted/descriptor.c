#include "rooted/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/entry.h"

#define SMALL_BYTES ((size_t)8 * 1024)
#define BUFFER_BYTES ((size_t)256 * 1024)
#define UNSIZED_MAX ((off_t)1 << 30)
#define XATTR_LIST_MAX ((size_t)64 * 1024)  /* the kernel's own limits */
#define XATTR_VALUE_MAX ((size_t)64 * 1024)

int descriptor_regular(int fd, struct stat *st)
{
    if (fstat(fd, st) < 0)
        return -errno;
    return S_ISREG(st->st_mode) ? 0 : S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
}

int descriptor_read_small(int fd, uint64_t max, char **data, size_t *len)
{
    char *buf = malloc(SMALL_BYTES);
    if (buf == NULL)
        return -ENOMEM;
    const ssize_t n = pread(fd, buf, SMALL_BYTES, 0);
    if (n <= 0 || (size_t)n == SMALL_BYTES || (uint64_t)n > max || lseek(fd, 0, SEEK_END) != n) {
        free(buf);
        return 0;
    }
    if ((size_t)n < SMALL_BYTES / 2) { /* to copy most of it costs more than the rest is worth */
        char *fitting = realloc(buf, (size_t)n + 1);
        if (fitting != NULL)
            buf = fitting;
    }
    buf[n] = '\0';
    *data = buf;
    *len = (size_t)n;
    return 1;
}

int descriptor_read(int fd, const struct stat *st, uint64_t max, char **data, size_t *len)
{
    if ((uint64_t)st->st_size > max)
        return -EFBIG;
    size_t cap = (size_t)st->st_size;
    size_t used = 0;
    char *buf = malloc(cap + 1);
    while (buf != NULL) {
        ssize_t n = pread(fd, buf + used, cap + 1 - used, (off_t)used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int rc = -errno;
            free(buf);
            return rc;
        }
        used += (size_t)n;
        /* All that the size promised, and no more although there was room: the end. */
        if (n == 0 || (used == (size_t)st->st_size && used > 0))
            break;
        if (used <= cap)
            continue;
        /* It grew meanwhile, or a size of 0 was not the truth. */
        if (used > max) {
            free(buf);
            return -EFBIG;
        }
        cap = cap * 2 + 4096;
        char *more = realloc(buf, cap + 1);
        if (more == NULL)
            free(buf);
        buf = more;
    }
    if (buf == NULL)
        return -ENOMEM;
    buf[used] = '\0';
    *data = buf;
    *len = used;
    return 0;
}

void copier_free(struct copier *c)
{
    free(c->buf);
    c->buf = NULL;
}

/* Bytes [from_off, end) by read and write. */
static int plain_copy(struct copier *c, int from, int to, off_t off, off_t end)
{
    if (c->buf == NULL)
        c->buf = malloc(BUFFER_BYTES);
    if (c->buf == NULL)
        return -ENOMEM;
    while (off < end) {
        size_t want = (uint64_t)(end - off) < BUFFER_BYTES ? (size_t)(end - off) : BUFFER_BYTES;
        ssize_t n = pread(from, c->buf, want, off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0; /* it shrank meanwhile */
        for (ssize_t done = 0; done < n;) {
            ssize_t w = pwrite(to, c->buf + done, (size_t)(n - done), off + done);
            if (w < 0 && errno != EINTR)
                return -errno;
            done += w > 0 ? w : 0;
        }
        off += n;
    }
    return 0;
}

static int copy_range(struct copier *c, int from, int to, off_t off, off_t end)
{
    while (!c->no_range && off < end) {
        off_t in = off;
        off_t out = off;
        ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - off), 0);
        if (n > 0) {
            off += n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO ||
                             errno == EFBIG)) {
            return -errno;
        } else {
            /* Not between these file systems, or (0) one that makes up its content. */
            c->no_range = n < 0;
            break;
        }
    }
    return plain_copy(c, from, to, off, end);
}

static bool clone_file(struct copier *c, int from, int to)
{
    c->no_clone = c->no_clone || ioctl(to, SYS_FICLONE, from) != 0;
    return !c->no_clone;
}

/*
 * All that there is to read, to an empty file: where content is made up, as in /proc, its size says 0. Not
 * without end: somebody may be adding to it.
 */
static int64_t copy_unsized(struct copier *c, int from, int to)
{
    struct stat copied = {0};
    char first;
    if (pread(from, &first, 1, 0) == 0)
        return 0; /* mostly */
    int rc = plain_copy(c, from, to, 0, UNSIZED_MAX);
    if (rc == 0 && fstat(to, &copied) < 0)
        rc = -errno;
    return rc < 0 ? rc : copied.st_size < UNSIZED_MAX ? copied.st_size : -EFBIG;
}

int64_t copier_copy(struct copier *c, int from, const struct stat *st, int to)
{
    const off_t size = st->st_size;
    if (size == 0)
        return copy_unsized(c, from, to);
    if (clone_file(c, from, to))
        return size;
    int rc = 0;
    if ((uint64_t)size <= BUFFER_BYTES && st->st_blocks * 512 >= size) {
        rc = plain_copy(c, from, to, 0, size); /* cheaper than a range for little */
    } else if (st->st_blocks * 512 >= size) {
        rc = copy_range(c, from, to, 0, size);
    } else {
        for (off_t at = 0; rc == 0 && at < size;) {
            off_t data = lseek(from, at, SEEK_DATA);
            if (data < 0 && errno == ENXIO)
                break; /* a hole to the end */
            off_t hole = data < 0 ? size : lseek(from, data, SEEK_HOLE);
            data = data < 0 ? at : data;
            rc = copy_range(c, from, to, data, hole < 0 || hole > size ? size : hole);
            at = hole < 0 ? size : hole;
        }
        if (rc == 0 && ftruncate(to, size) < 0)
            rc = -errno;
    }
    return rc < 0 ? rc : size;
}

int descriptor_reserve(int fd, off_t len)
{
    int rc = -EINTR;
    while (rc == -EINTR)
        rc = len > 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, len) < 0 ? -errno : 0;
    if (rc != -ENOSPC && rc != -EDQUOT && rc != -EFBIG)
        return 0; /* a file system that cannot reserve decides on each write */
    struct stat st;
    if (fstat(fd, &st) == 0)
        (void)!ftruncate(fd, st.st_size); /* some keep what they could reserve of it */
    return rc;
}

int64_t copier_copy_over(struct copier *c, int from, const struct stat *st, int to)
{
    off_t size = st->st_size;
    if (size == 0)
        return ftruncate(to, 0) < 0 ? -errno : copy_unsized(c, from, to);
    if (!clone_file(c, from, to)) {
        int rc = descriptor_reserve(to, size);
        if (rc == 0)
            rc = copy_range(c, from, to, 0, size);
        if (rc < 0)
            return rc;
    }
    /* Of a source that shrank meanwhile, nothing old may be seen behind it: to clone an empty one changes nothing. */
    struct stat now;
    if (fstat(from, &now) < 0)
        return -errno;
    if (now.st_size < size)
        size = now.st_size;
    return ftruncate(to, size) < 0 ? -errno : size;
}

/* The number of attributes, or -errno. */
static int copy_xattrs(int from, int to)
{
    char probe[1];
    ssize_t need = flistxattr(from, probe, 0);
    if (need <= 0)
        return 0; /* none, or not known to this file system */
    char *list = malloc(XATTR_LIST_MAX + XATTR_VALUE_MAX);
    if (list == NULL)
        return -ENOMEM;
    char *value = list + XATTR_LIST_MAX;
    ssize_t len = flistxattr(from, list, XATTR_LIST_MAX);
    int rc = len < 0 ? -errno : 0;
    int count = 0;
    for (char *name = list; rc == 0 && name < list + len; name += strlen(name) + 1, count++) {
        if (strcmp(name, "security.capability") == 0)
            continue;
        ssize_t n = fgetxattr(from, name, value, XATTR_VALUE_MAX);
        if (n < 0 && errno == ENODATA)
            continue;
        if (n < 0 || fsetxattr(to, name, value, (size_t)n, 0) < 0)
            /* Labels that the kernel gives to the new file itself need not be ours to set. */
            rc = strncmp(name, "security.", 9) == 0 || strncmp(name, "trusted.", 8) == 0 ? 0
                                                                                         : -errno;
    }
    free(list);
    return rc < 0 ? rc : count;
}

int descriptor_drop_acl(int fd)
{
    if (flistxattr(fd, NULL, 0) <= 0 || fremovexattr(fd, "system.posix_acl_access") == 0)
        return 0;
    return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
}

int descriptor_copy_metadata(int from, const struct stat *st, int to)
{
    struct stat now;
    if (fstat(to, &now) < 0)
        return -errno;
    const bool owner = now.st_uid != st->st_uid || now.st_gid != st->st_gid;
    if (owner && fchown(to, st->st_uid, st->st_gid) < 0)
        return -errno;
    int rc = descriptor_drop_acl(to);
    if (rc == 0 && from >= 0)
        rc = copy_xattrs(from, to);
    if (rc < 0)
        return rc;
    /* After the owner and the ACL, both of which change mode bits. */
    if ((owner || rc > 0) && fstat(to, &now) < 0)
        return -errno;
    if ((now.st_mode & 07777) != (st->st_mode & 0777) && fchmod(to, st->st_mode & 0777) < 0)
        return -errno;
    return 0;
}
