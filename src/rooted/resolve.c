#include "rooted/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/guard.h"
#include "rooted/path.h"
#include "sys/entry.h"
#include "sys/openat2.h"
#include "sys/statx.h"

#define LINKS_MAX 40    /* as the kernel */
#define RETRIES_MAX 128 /* of a resolution under which the tree keeps changing */
#define REWALKS_MAX 65536 /* steps that links full of ".." may cost in all */

void resolve_place_release(struct resolve_place *place)
{
    if (place->owned)
        fd_close(&place->dir);
    place->dir = -1;
    place->owned = false;
}

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- openat2 ---- */

/* True if the kernel's answer is final; else the walk has to find it. */
static bool answered(int fd)
{
    /* EPERM may come from a filter or be honest: the walk meets an honest one again. EXDEV is a
     * link that leaves, or an absolute one that may map into the base. */
    return fd != -ENOSYS && fd != -EPERM && fd != -EXDEV && fd != -EAGAIN;
}

static bool try_openat2(const struct resolve_base *base, const char *name, int flags, int *out)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = (unsigned)(GUARD(beneath, RESOLVE_BENEATH) | GUARD(no_magiclinks, RESOLVE_NO_MAGICLINKS)),
    };
    if (base->strict)
        how.resolve |= (unsigned)GUARD(no_symlinks, RESOLVE_NO_SYMLINKS);
    if (base->no_xdev)
        how.resolve |= (unsigned)GUARD(no_xdev, RESOLVE_NO_XDEV);

    int fd = -EAGAIN;
    for (int i = 0; i < RETRIES_MAX; i++) {
        fd = sys_openat2(base->fd, *name != '\0' ? name : ".", &how);
        /* EAGAIN: a rename somewhere made the kernel unsure about a "..". */
        if (fd != -EAGAIN && fd != -EINTR)
            break;
        count(&base->counts->retries);
    }
    if (!answered(fd))
        return false;
    *out = fd;
    return true;
}

/* ---- the walk ---- */

struct walk {
    const struct resolve_base *base;
    bool unsafe;
    bool strict;
    int fd;              /* where it stands; base->fd or owned */
    uint64_t mount;      /* of the base, if mounts matter */
    unsigned links;
    unsigned *rewalks;   /* borrowed; steps of ways that were gone again */
    bool weak;           /* went through a reading that needs something to be there */
    size_t done_len;
    char done[PATH_MAX]; /* the components up to fd, without links */
    char todo[PATH_MAX]; /* what is still to be resolved */
};

static void stand_on(struct walk *w, int fd)
{
    if (w->fd != w->base->fd)
        fd_close(&w->fd);
    w->fd = fd;
}

static int mount_of(int fd, uint64_t *out)
{
    struct sys_statx st;
    if (sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, SYS_STATX_MNT_ID, &st) < 0)
        return -errno;
    /* Kernels without openat2 lack the mount's number as well: the device has to do. */
    *out = (st.mask & SYS_STATX_MNT_ID) != 0 ? st.mnt_id
                                             : (uint64_t)st.dev_major << 32 | st.dev_minor;
    return 0;
}

int resolve_same_mount(int dir, int fd)
{
    uint64_t above = 0;
    uint64_t here = 0;
    int rc = mount_of(dir, &above);
    if (rc == 0)
        rc = mount_of(fd, &here);
    return rc < 0 ? rc : here != above ? -EXDEV : 0;
}

/*
 * Whether there is something of that name, and what. A name that cannot be looked at is not one that
 * is missing: who removes what is there would be told that it is gone.
 */
static int look_at_name(const struct resolve_base *base, int dir, struct resolve_place *out)
{
    out->exists = false;
    if (out->name[0] == '\0')
        return 0;
    if (fstatat(dir, out->name, &out->st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    out->exists = true;
    if (!base->no_xdev)
        return 0;
    FD_AUTO fd = openat(dir, out->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : resolve_same_mount(dir, fd);
}

static int start(struct walk *w, const struct resolve_base *base, const char *name)
{
    size_t len = strlen(name);
    if (len >= sizeof w->todo)
        return -ENAMETOOLONG;
    w->base = base;
    w->unsafe = base->unsafe;
    w->strict = base->strict;
    w->fd = base->fd;
    w->mount = 0;
    w->links = 0;
    w->weak = false;
    w->done_len = 0;
    w->done[0] = '\0';
    memcpy(w->todo, name, len + 1);
    return base->no_xdev ? mount_of(base->fd, &w->mount) : 0;
}

/* Takes the next component out of todo; 0 if there is none. */
static size_t next_component(struct walk *w, char *out, bool *last)
{
    const char *p = w->todo + strspn(w->todo, "/");
    size_t len = strcspn(p, "/");
    const char *rest = p + len + strspn(p + len, "/");
    if (len > NAME_MAX)
        return len;
    memcpy(out, p, len);
    out[len] = '\0';
    *last = *rest == '\0';
    memmove(w->todo, rest, strlen(rest) + 1);
    return len;
}

static int step_into(struct walk *w, int fd, const char *name)
{
    size_t len = strlen(name);
    if (w->done_len + 1 + len + 1 > sizeof w->done)
        return -ENAMETOOLONG;
    if (w->base->no_xdev) {
        uint64_t mount = 0;
        int rc = mount_of(fd, &mount);
        if (rc < 0)
            return rc;
        if (GUARD(walk_xdev, mount != w->mount))
            return -EXDEV;
    }
    if (w->done_len > 0)
        w->done[w->done_len++] = '/';
    memcpy(w->done + w->done_len, name, len + 1);
    w->done_len += len;
    return 0;
}

/*
 * Up by one. Asking the kernel for ".." would follow a directory that was moved elsewhere, so the
 * way down to the parent is gone again; every step of it was a directory when it was noted.
 */
static int step_up(struct walk *w)
{
    if (w->done_len == 0)
        return RESOLVE_OUTSIDE;
    while (w->done_len > 0 && w->done[w->done_len - 1] != '/')
        w->done_len--;
    w->done_len -= w->done_len > 0;
    w->done[w->done_len] = '\0';

    stand_on(w, w->base->fd);
    char again[PATH_MAX];
    memcpy(again, w->done, w->done_len + 1);
    for (char *save = NULL, *c = strtok_r(again, "/", &save); c != NULL;
         c = strtok_r(NULL, "/", &save)) {
        if (++*w->rewalks > REWALKS_MAX)
            return -ELOOP; /* the kernel would be through in no time, and a reader of it is not */
        RACE_POINT("rewalk");
        int fd = openat(w->fd, c,
                        O_PATH | O_DIRECTORY | GUARD(rewalk_nofollow, O_NOFOLLOW) | O_CLOEXEC);
        if (fd < 0)
            return -EAGAIN; /* it was a directory a moment ago */
        stand_on(w, fd);
    }
    return 0;
}

/* Puts the text of a link in front of what is left. */
static int follow(struct walk *w, int link_fd)
{
    char text[PATH_MAX];
    ssize_t len = readlinkat(link_fd, "", text, sizeof text - 1);
    if (len < 0)
        return -errno;
    text[len] = '\0';
    if (len == 0)
        return -ENOENT;
    if (++w->links > LINKS_MAX || GUARD(walk_strict, w->strict))
        return -ELOOP;

    const char *start_text = text;
    if (text[0] == '/' && w->unsafe) {
        int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (top < 0)
            return -errno;
        stand_on(w, top);
    } else if (text[0] == '/') {
        const struct resolve_prefix *hit = NULL;
        for (size_t i = 0; hit == NULL && i < w->base->prefix_count; i++) {
            start_text = path_under(text, w->base->prefixes[i].text);
            if (start_text != NULL)
                hit = &w->base->prefixes[i];
        }
        if (hit == NULL || !hit->inside)
            return RESOLVE_OUTSIDE;
        w->weak = w->weak || hit->weak;
        stand_on(w, w->base->fd);
        w->done_len = 0;
        w->done[0] = '\0';
    }
    char joined[2 * PATH_MAX];
    int n = snprintf(joined, sizeof joined, "%s/%s", start_text, w->todo);
    if (n < 0 || (size_t)n >= sizeof w->todo)
        return -ENAMETOOLONG;
    memcpy(w->todo, joined, (size_t)n + 1);
    return 0;
}

/* One component that is not the last, or that may be a link to follow: into it, or -errno. */
static int step(struct walk *w, const char *name, bool last)
{
    RACE_POINT("walk");
    FD_AUTO fd = openat(w->fd, name, O_PATH | GUARD(walk_nofollow, O_NOFOLLOW) | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode)) {
        int rc = follow(w, fd);
        return rc < 0 ? rc : 1;
    }
    if (last)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return RESOLVE_NOTDIR;
    int rc = w->unsafe ? 0 : step_into(w, fd, name);
    if (rc < 0)
        return rc;
    stand_on(w, fd_take(&fd));
    return 1;
}

/*
 * Walks until only the last name is left: w->fd is its directory. With follow_leaf that name is
 * not a link, as far as one can know; it may be missing. An empty name: w->fd is the thing itself.
 */
static int walk_to_leaf(struct walk *w, bool follow_leaf, char *leaf)
{
    for (;;) {
        bool last = false;
        size_t len = next_component(w, leaf, &last);
        if (len > NAME_MAX)
            return -ENAMETOOLONG;
        if (len == 0)
            return 0; /* the text ended in "." or "..", or was empty */
        if (strcmp(leaf, ".") == 0)
            continue;
        if (strcmp(leaf, "..") == 0) {
            int rc = 0;
            if (w->unsafe || !GUARD(walk_dotdot, 1)) {
                int up = openat(w->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
                rc = up < 0 ? -errno : 0;
                if (up >= 0)
                    stand_on(w, up);
            } else {
                rc = step_up(w);
            }
            if (rc < 0)
                return rc;
            continue;
        }
        if (last && !follow_leaf)
            return 0;
        int rc = step(w, leaf, last);
        if (rc == -ENOENT && last)
            return 0;
        if (rc <= 0)
            return rc;
    }
}

/* The directory and the name that the walk ended on; turns "the thing itself" into a name. */
static int leaf_of(struct walk *w, char *leaf)
{
    if (leaf[0] != '\0' || w->done_len == 0)
        return 0;
    size_t parent_len = 0;
    const char *name = path_split(w->done, &parent_len);
    snprintf(leaf, NAME_MAX + 1, "%s", name);
    return w->unsafe ? 0 : step_up(w);
}

static int walk_open(struct walk *w, int flags)
{
    char leaf[NAME_MAX + 1];
    int rc = walk_to_leaf(w, (flags & O_NOFOLLOW) == 0, leaf);
    if (rc < 0)
        return rc;
    RACE_POINT("open leaf");
    int fd = openat(w->fd, leaf[0] != '\0' ? leaf : ".", flags | GUARD(walk_final, O_NOFOLLOW) | O_CLOEXEC);
    if (fd < 0 && errno == EAGAIN)
        return -EBUSY; /* somebody holds a lease on it, and is asked to give it back */
    if (fd < 0 && errno == ELOOP && (flags & O_NOFOLLOW) == 0)
        return -EAGAIN; /* a link took its place after the look */
    if (fd < 0 && errno == ENOTDIR && (flags & O_NOFOLLOW) == 0) {
        /* With O_DIRECTORY a link is reported so as well. */
        struct stat st;
        if (fstatat(w->fd, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
            return -EAGAIN;
        return -ENOTDIR;
    }
    if (fd < 0)
        return -errno;
    struct stat st;
    if ((flags & O_PATH) != 0 && (flags & O_NOFOLLOW) == 0) {
        /* O_PATH with O_NOFOLLOW opens a link instead of failing. */
        if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode) && GUARD(walk_final, 1)) {
            close(fd);
            return -EAGAIN;
        }
    }
    if (w->base->no_xdev && leaf[0] != '\0') {
        uint64_t mount = 0;
        if (mount_of(fd, &mount) == 0 && GUARD(walk_xdev, mount != w->mount)) {
            close(fd);
            return -EXDEV;
        }
    }
    return fd;
}

static int walk_place(struct walk *w, bool follow_leaf, struct resolve_place *out)
{
    int rc = walk_to_leaf(w, follow_leaf, out->name);
    if (rc == 0)
        rc = leaf_of(w, out->name);
    if (rc < 0)
        return rc;
    rc = look_at_name(w->base, w->fd, out);
    if (rc < 0)
        return rc;
    if (follow_leaf && out->exists && S_ISLNK(out->st.st_mode))
        return -EAGAIN;
    if (!out->exists && w->weak)
        return RESOLVE_OUTSIDE;
    out->dir = w->fd;
    out->owned = w->fd != w->base->fd;
    w->fd = w->base->fd;
    return 0;
}

/* Runs one kind of walk until the tree holds still, or for long enough. */
enum walk_kind { WALK_OPEN, WALK_PLACE, WALK_REAL };

struct walk_request {
    enum walk_kind kind;
    int flags;
    bool follow;
    bool safe; /* even on an unsafe base */
    bool lenient; /* even on a strict base */
    struct resolve_place *place;
    char *real;
};

static int walk_real(struct walk *w, char *out)
{
    char leaf[NAME_MAX + 1];
    int rc = walk_to_leaf(w, true, leaf);
    if (rc < 0)
        return rc;
    if (leaf[0] != '\0') {
        struct stat st;
        if (fstatat(w->fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        if (S_ISLNK(st.st_mode))
            return -EAGAIN;
        size_t len = strlen(leaf);
        if (w->done_len + 1 + len + 1 > sizeof w->done)
            return -ENAMETOOLONG;
        if (w->done_len > 0)
            w->done[w->done_len++] = '/';
        memcpy(w->done + w->done_len, leaf, len + 1);
    }
    memcpy(out, w->done, strlen(w->done) + 1);
    return 0;
}

static int walk(const struct resolve_base *base, const char *name, const struct walk_request *req)
{
    count(&base->counts->walks);
    unsigned rewalks = 0;
    int rc = -EAGAIN;
    for (int i = 0; rc == -EAGAIN && i < RETRIES_MAX; i++) {
        struct walk w;
        if (i > 0)
            count(&base->counts->retries);
        rc = start(&w, base, name);
        if (rc < 0)
            return rc;
        w.rewalks = &rewalks;
        w.unsafe = w.unsafe && !req->safe;
        w.strict = w.strict && !req->lenient;
        rc = req->kind == WALK_OPEN    ? walk_open(&w, req->flags)
             : req->kind == WALK_PLACE ? walk_place(&w, req->follow, req->place)
                                       : walk_real(&w, req->real);
        if (rc == -ENOENT && w.weak)
            rc = RESOLVE_OUTSIDE;
        stand_on(&w, base->fd);
    }
    return rc == -EAGAIN ? -ESTALE : rc;
}

/* ---- what callers use ---- */

/* ENOTDIR may speak of the middle or of the end; only the end is the operation's own business. */
static int which_notdir(const struct resolve_base *base, const char *name)
{
    FD_AUTO fd = resolve_open(base, name, O_PATH | O_NOFOLLOW);
    return fd >= 0 ? -ENOTDIR : RESOLVE_NOTDIR;
}

static int open_unsafe(const struct resolve_base *base, const char *name, int flags)
{
    int fd;
    do
        fd = openat(base->fd, *name != '\0' ? name : ".", flags | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd >= 0 ? fd : errno == EAGAIN ? -EBUSY : -errno; /* a lease, as in walk_open() */
}

int resolve_open(const struct resolve_base *base, const char *name, int flags)
{
    int rc = 0;
    if (base->unsafe) {
        rc = open_unsafe(base, name, flags);
    } else if (!try_openat2(base, name, flags, &rc)) {
        struct walk_request req = {.kind = WALK_OPEN, .flags = flags};
        rc = walk(base, name, &req);
    }
    if (rc == -ENOTDIR)
        return (flags & O_DIRECTORY) != 0 ? which_notdir(base, name) : RESOLVE_NOTDIR;
    return rc;
}

/* The directory that holds `name`, by the kernel if it can. */
static bool open_parent(const struct resolve_base *base, const char *name, size_t len, int *out)
{
    char parent[PATH_MAX];
    memcpy(parent, name, len);
    parent[len] = '\0';
    if (base->unsafe) {
        *out = open_unsafe(base, parent, O_PATH | O_DIRECTORY);
        return true;
    }
    return try_openat2(base, parent, O_PATH | O_DIRECTORY, out);
}

int resolve_place(const struct resolve_base *base, const char *name, bool follow_leaf,
                  struct resolve_place *out)
{
    struct walk_request req = {.kind = WALK_PLACE, .follow = follow_leaf, .place = out};
    size_t parent_len = 0;
    const char *leaf = path_split(name, &parent_len);
    size_t leaf_len = strlen(leaf);
    if (leaf_len > NAME_MAX)
        return -ENAMETOOLONG;

    int dir = base->fd;
    if (parent_len > 0 && !open_parent(base, name, parent_len, &dir))
        return walk(base, name, &req);
    if (dir < 0)
        return dir == -ENOTDIR ? RESOLVE_NOTDIR : dir;
    out->dir = dir;
    out->owned = parent_len > 0;
    memcpy(out->name, leaf, leaf_len + 1);
    int rc = look_at_name(base, dir, out);
    if (rc < 0 || !follow_leaf || !out->exists || !S_ISLNK(out->st.st_mode))
        return rc;
    resolve_place_release(out);
    return walk(base, name, &req);
}

int resolve_check(const struct resolve_base *base, const char *name)
{
    if (base->unsafe || !GUARD(leaf_check, 1))
        return 0;
    char real[PATH_MAX];
    struct walk_request req = {.kind = WALK_REAL, .lenient = true, .real = real};
    int rc = walk(base, name, &req);
    return rc == -ENOENT || rc == RESOLVE_NOTDIR || rc == -EXDEV ? 0 : rc;
}

int resolve_real(const struct resolve_base *base, const char *name, char *out)
{
    struct walk_request req = {.kind = WALK_REAL, .safe = true, .real = out};
    return walk(base, name, &req);
}

/* ---- the host side ---- */

static bool join(const char *host, const char *name, char path[PATH_MAX])
{
    size_t host_len = strlen(host);
    size_t name_len = strlen(name);
    if (host[0] != '/' || host_len + name_len + 2 > PATH_MAX)
        return false;
    memcpy(path, host, host_len);
    path[host_len] = '/';
    memcpy(path + host_len + 1, name, name_len + 1);
    return true;
}

int resolve_direct_stat(const char *host, const char *name, unsigned mask, struct sys_statx *out)
{
    char path[PATH_MAX];
    if (name[0] == '\0' || strchr(name, '/') != NULL || !join(host, name, path))
        return -ENOSYS;
    if (sys_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, mask, out) < 0)
        return -errno;
    return GUARD(stat_link, S_ISLNK(out->mode)) ? -ELOOP : 0;
}

int resolve_direct(const char *host, const char *name, int flags)
{
    char path[PATH_MAX];
    if (!join(host, name, path))
        return -ENAMETOOLONG;
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = (uint64_t)(GUARD(direct_symlinks, RESOLVE_NO_SYMLINKS) | RESOLVE_NO_MAGICLINKS),
    };
    return sys_openat2(AT_FDCWD, path, &how);
}

static void identify(const struct sys_statx *st, struct resolve_identity *out)
{
    out->dev = (uint64_t)st->dev_major << 32 | st->dev_minor;
    out->ino = st->ino;
    out->mount = (st->mask & SYS_STATX_MNT_ID) != 0 ? st->mnt_id : 0;
}

static int look(int fd, const char *path, int flags, struct resolve_identity *out)
{
    struct sys_statx st;
    if (sys_statx(fd, path, flags | AT_STATX_DONT_SYNC,
                  SYS_STATX_TYPE | SYS_STATX_INO | SYS_STATX_MNT_ID, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.mode))
        return -ENOTDIR;
    identify(&st, out);
    return 0;
}

int resolve_base_look(const char *host, struct resolve_identity *out)
{
    return look(AT_FDCWD, host, 0, out);
}

int resolve_base_open(const char *host, struct resolve_identity *out, char **canonical)
{
    FD_AUTO fd = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = look(fd, "", AT_EMPTY_PATH, out);
    if (rc < 0)
        return rc;
    *canonical = realpath(host, NULL);
    return fd_take(&fd);
}

/* ---- acting on an O_PATH descriptor ---- */

#define PROC_PATH_MAX 32

static void proc_path(char out[PROC_PATH_MAX], int fd)
{
    snprintf(out, PROC_PATH_MAX, "/proc/self/fd/%d", fd);
}

int resolve_fd_chmod(int fd, mode_t mode)
{
    if (sys_fchmodat2(fd, "", mode, AT_EMPTY_PATH) == 0)
        return 0;
    int first = errno;
    if (first != ENOSYS && first != EPERM)
        return -first;
    char path[PROC_PATH_MAX]; /* before Linux 6.6, or filtered */
    proc_path(path, fd);
    if (chmod(path, mode) == 0)
        return 0;
    return errno != ENOENT ? -errno : first == ENOSYS ? -ENOTSUP : -first;
}

int resolve_fd_utimes(int fd, const struct timespec times[2])
{
    if (utimensat(fd, "", times, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOENT)
        return -errno;
    char path[PROC_PATH_MAX]; /* before Linux 5.8 */
    proc_path(path, fd);
    if (utimensat(AT_FDCWD, path, times, 0) == 0)
        return 0;
    return errno == ENOENT ? -ENOTSUP : -errno;
}

struct watch_request {
    int inotify_fd, dir_fd, result;
    uint32_t mask;
};

static void *watch_from_inside(void *arg)
{
    struct watch_request *w = arg;
    /* A working directory of this thread's own: inotify has no call that takes a descriptor. */
    if (unshare(CLONE_FS) < 0 || fchdir(w->dir_fd) < 0)
        w->result = -errno;
    else
        w->result = inotify_add_watch(w->inotify_fd, ".", w->mask);
    if (w->result == -1)
        w->result = -errno;
    return NULL;
}

int resolve_fd_watch(int inotify_fd, int dir_fd, uint32_t mask)
{
    char path[PROC_PATH_MAX];
    proc_path(path, dir_fd);
    int wd = inotify_add_watch(inotify_fd, path, mask);
    if (wd >= 0 || errno != ENOENT)
        return wd >= 0 ? wd : -errno;
    struct watch_request w = {.inotify_fd = inotify_fd, .dir_fd = dir_fd, .mask = mask};
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, watch_from_inside, &w);
    if (rc != 0)
        return -rc;
    pthread_join(thread, NULL);
    return w.result;
}
