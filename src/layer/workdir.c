#include "layer/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "sys/lock.h"

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DEEPEST 32   /* what lies deeper is moved up first: a descriptor a level is held */
#define PASSES 10000 /* over the top directory */
#define SWEEP_MAX 1024
#define TRIES 16 /* against other runs that remove the user's directory as the last one in it */
#define ABOVE_SIZE 256
/* What one is called until it is locked: to sweep it would take it from a run that begins. */
#define BEGUN_PREFIX "new-"
#define BEGUN_SECONDS 60 /* nobody takes longer */

struct removal {
    int top;        /* where deep directories are moved to */
    unsigned moved; /* gives them their names */
};

static void empty(struct removal *r, int dir, unsigned depth);

/* `dir` is somebody's who may have left it unreadable. */
static int open_below(int dir, const char *name)
{
    int fd = openat(dir, name, OPEN_DIR);
    if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(dir, name, OPEN_DIR);
    return fd;
}

static void remove_entry(struct removal *r, int dir, const char *name, unsigned depth)
{
    char moved[32];
    if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return;
    if (depth == DEEPEST) {
        snprintf(moved, sizeof moved, ".cordon-%u", r->moved++);
        renameat(dir, name, r->top, moved);
        return;
    }
    FD_AUTO below = open_below(dir, name);
    if (below < 0)
        return;
    fchmod(below, 0700);
    empty(r, below, depth + 1);
    unlinkat(dir, name, AT_REMOVEDIR);
}

/* The entries of `dir`, from where it was read to; NULL: it cannot be. */
static DIR *list(int dir)
{
    FD_AUTO copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (entries != NULL)
        (void)fd_take(&copy);
    return entries;
}

static void empty(struct removal *r, int dir, unsigned depth)
{
    DIR *entries = list(dir);
    if (entries == NULL)
        return;
    const struct dirent *entry;
    rewinddir(entries);
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(r, dir, entry->d_name, depth);
    }
    closedir(entries);
}

/* Only what `fd` holds, if it is still what `name` says. */
static void remove_tree(int parent, const char *name, int fd)
{
    struct stat held;
    struct stat found;
    struct removal r = {.top = fd};
    unsigned before = 0;
    for (int pass = 0; pass < PASSES; pass++) { /* one for each level that was moved up */
        if (fstat(fd, &held) < 0 || fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) < 0 ||
            held.st_dev != found.st_dev || held.st_ino != found.st_ino)
            return;
        empty(&r, fd, 0);
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || r.moved == before)
            return;
        before = r.moved;
    }
}

/* What root made belongs to the users of its runs, whichever uids those had; nobody else can put a name there. */
static bool is_work(const char *name, const struct stat *st)
{
    const bool ours = st->st_uid == geteuid() || geteuid() == 0;
    return ours && (text_starts_with(name, WORKDIR_PREFIX) ||
                    (text_starts_with(name, BEGUN_PREFIX) && st->st_mtime + BEGUN_SECONDS < time(NULL)));
}

/* What supervisors that were killed left here. */
static void sweep(int parent)
{
    DIR *entries = list(parent);
    if (entries == NULL)
        return;
    const struct dirent *entry;
    for (int seen = 0; seen < SWEEP_MAX && (entry = readdir(entries)) != NULL; seen++) {
        struct stat st;
        if (entry->d_name[0] == '.')
            continue;
        FD_AUTO fd = openat(parent, entry->d_name, OPEN_DIR);
        if (fd >= 0 && fstat(fd, &st) == 0 && is_work(entry->d_name, &st) &&
            sys_flock(fd, SYS_LOCK_EXCLUSIVE | SYS_LOCK_TRY) == 0)
            remove_tree(parent, entry->d_name, fd);
    }
    closedir(entries);
}

static int fail(struct cordon_error *err, int errnum, const char *what, const char *path)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, errnum, what, path);
}

/* Nobody else may rename or replace what stands in it. */
static bool is_ours(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 022) == 0;
}

int layer_workdir_name(char *out, size_t size)
{
    const char *tmp = access("/tmp", W_OK | X_OK) == 0 ? "/tmp" : "/var/tmp";
    struct stat st;
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return -errno;
    const unsigned long long name = random[0];
    snprintf(out, size, "%s/cordon-%u", tmp, (unsigned)geteuid());
    const bool taken = lstat(out, &st) == 0 && !is_ours(&st); /* by somebody who knew the name */
    if (taken)
        snprintf(out, size, "%s/cordon-%u-%08x/" WORKDIR_PREFIX "%016llx", tmp, (unsigned)geteuid(),
                 (unsigned)random[1], name);
    else
        snprintf(out, size, "%s/cordon-%u/" WORKDIR_PREFIX "%016llx", tmp, (unsigned)geteuid(), name);
    return 0;
}

/* The user's directory, and in it a new one. */
static int make_both(const char *above, const char *name, int *parent, struct cordon_error *err)
{
    struct stat st;
    int errnum = 0;
    for (int i = 0; i < TRIES; i++) {
        FD_AUTO dir = -1;
        if (mkdir(above, 0700) < 0 && errno != EEXIST)
            return fail(err, errno, "make a directory for work directories", above);
        dir = open(above, OPEN_DIR);
        if (dir < 0 && errno == ENOENT)
            continue;
        if (dir < 0) {
            int r = fail(err, errno, "open", above);
            rmdir(above); /* unless another run is in it */
            return r;
        }
        if (fstat(dir, &st) < 0 || !is_ours(&st))
            return fail(err, EPERM, "trust the directory for work directories", above);
        sweep(dir);
        /* For root the way in must be open to the run's uid, whatever the caller's umask says. */
        if ((geteuid() != 0 || fchmod(dir, 0711) == 0) && mkdirat(dir, name, 0700) == 0) {
            *parent = fd_take(&dir);
            return 0;
        }
        errnum = errno;
        if (errnum != ENOENT)
            break;
    }
    rmdir(above);
    return fail(err, errnum, "make the work directory", above);
}

/* The user's directory of a path in it, which layer_workdir_name() made; returns the name of the last one. */
static const char *split(const char *path, char above[static ABOVE_SIZE])
{
    const char *name = strrchr(path, '/') + 1;
    snprintf(above, ABOVE_SIZE, "%.*s", (int)(name - path) - 1, path);
    return name;
}

/* The new directory, locked and handed over; its descriptor or -errno. */
static int take(int parent, const char *begun, const char *path, uid_t uid, gid_t gid, struct cordon_error *err)
{
    struct stat st;
    FD_AUTO fd = openat(parent, begun, OPEN_DIR);
    if (fd < 0)
        return fail(err, errno, "open the work directory", path);
    if (sys_flock(fd, SYS_LOCK_EXCLUSIVE | SYS_LOCK_TRY) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0 ||
        st.st_uid != geteuid())
        return fail(err, EBUSY, "keep the work directory", path);
    if ((uid != geteuid() && fchown(fd, uid, gid) < 0) || fchmod(fd, 0700) < 0) {
        int r = fail(err, errno, "hand over the work directory", path);
        err_remedy(err, "this root has no other uid to become: run cordon as an ordinary user");
        return r;
    }
    if (renameat(parent, begun, parent, strrchr(path, '/') + 1) < 0)
        return fail(err, errno, "name the work directory", path);
    return fd_take(&fd);
}

int layer_workdir_make(struct layer_workdir *self, const char *path, uid_t uid, gid_t gid,
                       struct cordon_error *err)
{
    char above[ABOVE_SIZE];
    char begun[64];
    FD_AUTO parent = -1;
    if (strlen(path) >= sizeof above)
        return fail(err, ENAMETOOLONG, "make the work directory", path);
    snprintf(begun, sizeof begun, BEGUN_PREFIX "%s", split(path, above));
    int r = make_both(above, begun, &parent, err);
    if (r < 0)
        return r;
    int fd = take(parent, begun, path, uid, gid, err);
    if (fd < 0) {
        unlinkat(parent, begun, AT_REMOVEDIR);
        rmdir(above); /* unless another run is in it */
        return fd;
    }
    *self = (struct layer_workdir){.parent = fd_take(&parent), .fd = fd, .path = path};
    return 0;
}

void layer_workdir_remove(struct layer_workdir *self)
{
    char above[ABOVE_SIZE];
    if (self->parent < 0)
        return;
    remove_tree(self->parent, split(self->path, above), self->fd);
    fd_close(&self->parent);
    fd_close(&self->fd);
    rmdir(above); /* unless another run is in it */
}
