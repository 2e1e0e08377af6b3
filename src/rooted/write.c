#include "rooted/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/descriptor.h"
#include "rooted/guard.h"
#include "rooted/sync.h"
#include "rooted/temporary.h"
#include "sys/entry.h"

#define ATTEMPTS_MAX 128 /* against a tree that changes under the call */

int write_sync(const struct cordon_root *root, int fd)
{
    return root->sync != CORDON_ROOT_SYNC_NONE && fsync(fd) < 0 ? -errno : 0;
}

int write_sync_names(const struct cordon_root *root, int dir)
{
    if (root->sync != CORDON_ROOT_SYNC_FULL || fsync(dir) == 0)
        return 0;
    if (errno != EBADF) /* which is O_PATH */
        return -errno;
    FD_AUTO fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int write_close(int *fd)
{
    return close(fd_take(fd)) < 0 && errno != EINTR ? -errno : 0;
}

int write_commit(struct cordon_root *root, int dir, int *fd, const char *temporary,
                 const char *name)
{
    int rc = write_sync(root, *fd);
    const int closed = write_close(fd);
    RACE_POINT("commit");
    if (rc == 0)
        rc = closed;
    if (rc == 0 && renameat(dir, temporary, dir, name) < 0)
        rc = -errno;
    if (rc < 0)
        unlinkat(dir, temporary, 0);
    return rc;
}

/*
 * Can this be replaced without being opened? Only if the open would succeed, which the owner's bits
 * prove to the owner (nobody executes it, so it is not busy), and if there is nothing to copy that
 * needs a descriptor. Two looks are cheaper than open and close. Any doubt is a no: then the kernel
 * judges, and says why. Whether there is anything is known afterwards as well.
 */
static bool look_plain(struct cordon_root *root, struct resolve_place *place)
{
    struct stat *st = &place->st;
    const mode_t exec = S_IXUSR | S_IXGRP | S_IXOTH;
    place->exists = true;
    if (atomic_load_explicit(&root->opens_always, memory_order_relaxed))
        return false;
    if (fstatat(place->dir, place->name, st, AT_SYMLINK_NOFOLLOW) < 0) {
        place->exists = errno != ENOENT;
        return false;
    }
    if ((st->st_mode & (S_IFMT | S_IWUSR | exec)) != (S_IFREG | S_IWUSR) ||
        st->st_nlink != 1 || st->st_uid != geteuid())
        return false;
    ssize_t len = sys_listxattrat(place->dir, place->name, AT_SYMLINK_NOFOLLOW, NULL, 0);
    if (len < 0 && (errno == ENOSYS || errno == EPERM))
        atomic_store_explicit(&root->opens_always, true, memory_order_relaxed);
    return len == 0;
}

int write_open_name(int dir, const char *name, int flags)
{
    int fd = openat(dir, name,
                    flags | GUARD(open_leaf, O_NOFOLLOW) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    return fd >= 0 ? fd : errno == ENXIO ? -EINVAL : -errno;
}

/* The file itself; -ELOOP if a link has the name. */
static int open_leaf(struct cordon_root *root, int flags, struct writing *w)
{
    w->held = writer_lock(root, w->place.name);
    RACE_POINT("write open");
    w->plain = w->whole && look_plain(root, &w->place);
    if (w->plain || (w->whole && !w->place.exists))
        return 0;
    int fd = write_open_name(w->place.dir, w->place.name, flags);
    if (fd >= 0 || (fd == -ENOENT && (flags & O_CREAT) == 0)) {
        w->fd = fd >= 0 ? fd : -1;
        return 0;
    }
    writer_unlock(&w->held);
    return fd;
}

/* The common case: no link on the way, and none at the end. Other answers are not final. */
static int open_direct(struct cordon_root *root, const struct target *t, int flags,
                       struct writing *w)
{
    struct resolve_place *place = &w->place;
    char parent[PATH_MAX];
    size_t len = 0;
    const char *leaf = path_split(t->mapped.name, &len);
    const size_t leaf_len = strlen(leaf);
    if (leaf_len == 0 || leaf_len > NAME_MAX)
        return -EINVAL;
    memcpy(parent, t->mapped.name, len);
    parent[len] = '\0';
    place->dir = target_direct(root, t, parent, O_PATH | O_DIRECTORY);
    if (place->dir < 0)
        return -EINVAL;
    place->owned = true;
    memcpy(place->name, leaf, leaf_len + 1);
    int rc = open_leaf(root, flags, w);
    if (rc < 0)
        resolve_place_release(place);
    return rc;
}

int write_open(struct cordon_root *root, struct target *t, int flags, struct writing *w)
{
    if (open_direct(root, t, flags, w) == 0)
        return 0;
    int rc = target_acquire(root, t);
    if (rc < 0)
        return rc;
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        rc = resolve_place(&t->base, t->mapped.name, true, &w->place);
        if (rc < 0)
            return rc;
        if (w->place.name[0] == '\0')
            return -EISDIR;
        rc = open_leaf(root, flags, w);
        if (rc != -ELOOP)
            return rc;
        resolve_place_release(&w->place); /* a link took the name after the look: look again */
    }
    return -ESTALE;
}

void writing_release(struct writing *w)
{
    fd_close(&w->fd);
    writer_unlock(&w->held);
    resolve_place_release(&w->place);
}

/* Cut last: a file with less in it than before would be lost if there is no room for the rest. */
static int write_in_place(struct cordon_root *root, int *fd, const void *data, size_t len)
{
    pthread_mutex_lock(&root->in_place);
    int rc = descriptor_reserve(*fd, (off_t)len);
    if (rc == 0)
        rc = fd_write_all(*fd, data, len);
    RACE_POINT("cut");
    if (rc == 0 && ftruncate(*fd, (off_t)len) < 0)
        rc = -errno;
    pthread_mutex_unlock(&root->in_place);
    if (rc == 0)
        rc = write_sync(root, *fd);
    return rc < 0 ? rc : write_close(fd);
}

/*
 * What a file allows that will replace one of this mode: whoever opens it before it is complete
 * keeps it open. It begins with a group that need not be the right one, and with the ACL that its
 * directory may give it, of which the group's bits are the mask: so group and others get what
 * the old file gives to both. Where that one has an ACL, which may say less, they get nothing.
 */
static mode_t first_mode(mode_t mode, bool attributes)
{
    const mode_t both = attributes ? 0 : mode >> 3 & mode & 7;
    return (mode & 0700) | both << 3 | both;
}

static int replace_by_rename(struct cordon_root *root, const struct writing *w, const void *data,
                             size_t len)
{
    const struct resolve_place *place = &w->place;
    const bool exists = w->fd >= 0 || w->plain;
    const bool attributes = w->fd >= 0 && flistxattr(w->fd, NULL, 0) != 0; /* or not known */
    char temporary[TEMPORARY_NAME_MAX];
    FD_AUTO fd =
        temporary_create(root, place->dir,
                         exists ? first_mode(place->st.st_mode, attributes) : 0666, temporary);
    if (fd < 0)
        return fd;
    int rc = fd_write_all(fd, data, len);
    if (rc == 0 && exists) {
        rc = descriptor_copy_metadata(attributes ? w->fd : -1, &place->st, fd);
        if (rc < 0 && rc != -ENOSPC && rc != -EDQUOT)
            rc = -EPERM; /* what it has cannot be given to another file */
    }
    if (rc < 0) {
        unlinkat(place->dir, temporary, 0);
        return rc;
    }
    return write_commit(root, place->dir, &fd, temporary, place->name);
}

bool write_denied(int rc)
{
    return rc == -EACCES || rc == -EPERM || rc == -EROFS || rc == -EBUSY;
}

int write_replace(struct cordon_root *root, struct writing *w, const void *data, size_t len)
{
    if (w->fd >= 0) {
        int rc = descriptor_regular(w->fd, &w->place.st);
        if (rc < 0)
            return rc;
        /* Names that were linked on purpose stay linked. In safe mode with the gate closed the
         * other name may be anybody's, so the link is broken. */
        if (w->place.st.st_nlink > 1 &&
            (root->flags & (CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_UNSAFE)) != 0)
            return write_in_place(root, &w->fd, data, len);
    }
    int rc = replace_by_rename(root, w, data, len);
    if (rc == 0)
        return write_sync_names(root, w->place.dir);
    if (!write_denied(rc) || (w->fd < 0 && !w->plain))
        return rc;
    if (w->plain) {
        rc = write_open_name(w->place.dir, w->place.name, O_WRONLY);
        if (rc < 0)
            return rc;
        w->fd = rc;
    }
    return write_in_place(root, &w->fd, data, len);
}

void write_saved(struct cordon_root *root, const struct target *t, const char *data, size_t len)
{
    uint64_t now = lock_now_ms();
    pthread_mutex_lock(&root->lock);
    remember_put(&root->remembered, &t->mapped, data, len, now);
    sync_saved(root->sync_state, &t->mapped, data, len, now);
    pthread_mutex_unlock(&root->lock);
}

/* write_open() for a request; 0, or an error that has been reported. */
static int begin(const struct call *c, const char *path, int flags, struct target *t,
                 struct writing *w)
{
    int rc = call_writable(c, path);
    if (rc == 0)
        rc = target_map(c, path, "open", t);
    if (rc < 0)
        return rc;
    rc = write_open(c->root, t, flags, w);
    return rc < 0 ? call_fail(c, t, "open", rc) : 0;
}

int cordon_root_write_file(struct cordon_root *root, const char *path, const void *data,
                           size_t len, bool save_last, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "writeFile", err);
    TARGET_AUTO(t);
    WRITING_AUTO w = WRITING_INIT;
    w.whole = true;
    int rc = begin(&c, path, O_WRONLY, &t, &w);
    if (rc < 0)
        return rc;
    rc = write_replace(root, &w, data, len);
    if (rc < 0)
        return call_fail(&c, &t, "open", rc);
    if (save_last)
        write_saved(root, &t, data, len);
    return 0;
}

int cordon_root_append_file(struct cordon_root *root, const char *path, const void *data,
                            size_t len, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "appendFile", err);
    TARGET_AUTO(t);
    WRITING_AUTO w = WRITING_INIT;
    int rc = begin(&c, path, O_WRONLY | O_APPEND | O_CREAT, &t, &w);
    if (rc < 0)
        return rc;
    struct stat st;
    rc = descriptor_regular(w.fd, &st);
    if (rc == 0)
        rc = fd_write_all(w.fd, data, len);
    if (rc == 0)
        rc = write_sync(root, w.fd);
    if (rc == 0)
        rc = write_sync_names(root, w.place.dir); /* it may be new */
    if (rc == 0)
        rc = write_close(&w.fd);
    return rc < 0 ? call_fail(&c, &t, "open", rc) : 0;
}

int cordon_root_truncate(struct cordon_root *root, const char *path, int64_t len,
                         struct cordon_root_error *err)
{
    struct call c = call_begin(root, "truncate", err);
    TARGET_AUTO(t);
    WRITING_AUTO w = WRITING_INIT;
    int rc = begin(&c, path, O_WRONLY, &t, &w);
    if (rc < 0)
        return rc;
    struct stat st;
    rc = w.fd < 0 ? -ENOENT : descriptor_regular(w.fd, &st);
    pthread_mutex_lock(&root->in_place);
    if (rc == 0 && ftruncate(w.fd, len < 0 ? 0 : (off_t)len) < 0)
        rc = -errno;
    pthread_mutex_unlock(&root->in_place);
    if (rc == 0)
        rc = write_sync(root, w.fd);
    return rc < 0 ? call_fail(&c, &t, "open", rc) : 0;
}
