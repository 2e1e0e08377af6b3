#include "listener/grant.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "listener/task.h"
#include "sys/entry.h"
#include "sys/files.h"

#define PERMISSIONS 0777u
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

bool grant_matches(const char *pattern, const char *component, size_t len)
{
    if (*pattern == '\0')
        return len == 0;
    if (*pattern != '*')
        return len > 0 && *pattern == *component && grant_matches(pattern + 1, component + 1, len - 1);
    for (size_t i = 0; i <= len; i++) {
        if (grant_matches(pattern + 1, component + i, len - i))
            return true;
    }
    return false;
}

static bool is_among(const char *const *patterns, const char *component, size_t len)
{
    for (const char *const *p = patterns; p != NULL && *p != NULL; p++) {
        if (grant_matches(*p, component, len))
            return true;
    }
    return false;
}

bool grant_component(const char *const *patterns, const char *path)
{
    while (*path == '/') {
        const size_t len = strcspn(++path, "/");
        if (is_among(patterns, path, len))
            return true;
        path += len;
    }
    return false;
}

/* `mark`, of `len` bytes, stands in the directory that the first `above` bytes of the path name. */
static bool is_marked(int root, const char *inside, size_t above, const char *mark, size_t len)
{
    char path[PATH_MAX];
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = BENEATH};
    if (above + 1 + len >= sizeof path)
        return false;
    memcpy(path, inside, above + 1);
    memcpy(path + above + 1, mark, len);
    path[above + 1 + len] = '\0';
    int fd = sys_openat2(root, path + 1, &how);
    sys_close(fd);
    return fd >= 0;
}

/* One of the components is the NAME of a "MARK/NAME", and stands beside a MARK. */
static bool beside_mark(const struct grant *grant, const char *inside)
{
    for (const char *const *p = grant->guard->caches; p != NULL && *p != NULL; p++) {
        const char *name = strchr(*p, '/');
        const size_t len = name == NULL ? 0 : strlen(name);
        for (const char *at = inside; name != NULL && (at = strstr(at, name)) != NULL; at++) {
            if ((at[len] == '/' || at[len] == '\0') &&
                is_marked(grant->root, inside, (size_t)(at - inside), *p, (size_t)(name - *p)))
                return true;
        }
    }
    return false;
}

/* The part beneath the project's root if one of its components is a cache; NULL: not granted. */
static char *beneath(const struct grant *grant, char *path)
{
    const char *root = grant->guard->root;
    if (!policy_path_beneath(path, root))
        return NULL;
    char *inside = path + (root[1] == '\0' ? 0 : strlen(root));
    return grant_component(grant->guard->caches, inside) || beside_mark(grant, inside) ? inside + 1 : NULL;
}

/* A name in its directory, found anew. */
struct cell {
    int dir; /* owned */
    char path[PATH_MAX];
    const char *leaf; /* in path */
};

static bool same_file(int dir, const char *name, int seen)
{
    struct stat here;
    struct stat there;
    return sys_stat(dir, name, &here) == 0 && sys_fstat(seen, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* The payload sees there what is there: not something of the sandbox's that hides it. */
static bool as_seen(const struct cell *cell, const struct spot *spot)
{
    struct stat st;
    if (spot->dir >= 0 && !same_file(cell->dir, "", spot->dir))
        return false;
    return spot->target >= 0 ? same_file(cell->dir, cell->leaf, spot->target)
                             : sys_call(SYS_newfstatat, cell->dir, cell->leaf, &st, AT_SYMLINK_NOFOLLOW) == -ENOENT;
}

/* GRANT_ANSWERED: it may be. */
static enum grant_outcome find(struct cell *cell, const struct grant *grant, const struct spot *spot)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = BENEATH};
    cell->dir = -1;
    char *inside = spot_text(spot, cell->path) < 0 ? NULL : beneath(grant, cell->path);
    if (inside == NULL)
        return GRANT_REFUSED;
    char *slash = strrchr(inside, '/');
    cell->leaf = slash == NULL ? inside : slash + 1;
    if (slash != NULL)
        *slash = '\0';
    cell->dir = sys_openat2(grant->root, slash == NULL ? "." : inside, &how);
    return cell->dir >= 0 && as_seen(cell, spot) ? GRANT_ANSWERED : GRANT_CHANGED;
}

static long type_of(const struct cell *cell, unsigned *type)
{
    struct stat st;
    long r = sys_call(SYS_newfstatat, cell->dir, cell->leaf, &st, AT_SYMLINK_NOFOLLOW);
    *type = r < 0 ? 0 : st.st_mode & S_IFMT;
    return r;
}

/* A regular file of the payload's own, under this name alone: writing to it changes nothing else. */
static bool acceptable(int fd)
{
    struct stat st;
    return sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_nlink == 1 && st.st_uid == (uid_t)sys_call(SYS_getuid);
}

/* The descriptor, or -errno; -EXDEV: not to be granted. */
static int open_cell(const struct cell *cell, const struct attempt *a, unsigned mode)
{
    const unsigned passed = O_ACCMODE | O_CREAT | O_EXCL | O_APPEND | O_SYNC | O_DSYNC;
    if ((a->flags & (O_DIRECTORY | O_PATH)) != 0 || (a->flags & O_ACCMODE) == O_RDONLY)
        return -EXDEV;
    int fd = sys_open(cell->dir, cell->leaf,
                      (int)(a->flags & passed) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode);
    if (fd < 0)
        return fd;
    long r = acceptable(fd) ? 0 : -EXDEV;
    if (r == 0 && (a->flags & O_TRUNC) != 0) /* not before it is known what that would empty */
        r = sys_call(SYS_ftruncate, fd, 0);
    if (r == 0)
        r = sys_call(SYS_fcntl, fd, F_SETFL, a->flags & (O_APPEND | O_NONBLOCK));
    if (r == 0)
        return fd;
    sys_close(fd);
    return (int)r;
}

static long remove_cell(const struct cell *cell, const struct attempt *a)
{
    unsigned type;
    const bool directory = (a->flags & AT_REMOVEDIR) != 0;
    long r = type_of(cell, &type);
    if (r < 0)
        return r;
    if (type != (directory ? (unsigned)S_IFDIR : (unsigned)S_IFREG))
        return -EXDEV;
    return sys_call(SYS_unlinkat, cell->dir, cell->leaf, directory ? AT_REMOVEDIR : 0);
}

static long rename_cell(const struct cell cells[2], const struct attempt *a)
{
    unsigned type;
    long r = type_of(&cells[0], &type);
    if (r < 0)
        return r;
    if ((type != S_IFREG && type != S_IFDIR) || (a->flags & ~SYS_RENAME_NOREPLACE) != 0)
        return -EXDEV;
    return sys_call(SYS_renameat2, cells[0].dir, cells[0].leaf, cells[1].dir, cells[1].leaf, a->flags);
}

/* Mode and times of what is there: by a descriptor, so that what was looked at is what changes. */
static long change_cell(const struct cell *cell, const struct attempt *a)
{
    struct timespec times[2];
    if (a->act == ACT_TIMES && a->call->number != SYS_utimensat)
        return -EXDEV;
    if (a->act == ACT_TIMES && a->extra != 0 && task_bytes(a->call->task, a->extra, times, sizeof times) < 0)
        return -EFAULT;
    int fd = sys_open(cell->dir, cell->leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return fd;
    long r = -EXDEV;
    if (acceptable(fd))
        r = a->act == ACT_MODE ? sys_call(SYS_fchmod, fd, a->mode & PERMISSIONS)
                               : sys_call(SYS_utimensat, fd, 0, a->extra == 0 ? NULL : times, 0);
    sys_close(fd);
    return r;
}

static long act(const struct cell cells[2], const struct attempt *a, unsigned mode)
{
    switch (a->act) {
    case ACT_OPEN:
        return open_cell(&cells[0], a, mode);
    case ACT_MAKE:
        return a->directory ? sys_call(SYS_mkdirat, cells[0].dir, cells[0].leaf, mode) : -EXDEV;
    case ACT_REMOVE:
        return remove_cell(&cells[0], a);
    case ACT_RENAME:
        return rename_cell(cells, a);
    case ACT_MODE:
    case ACT_TIMES:
        return change_cell(&cells[0], a);
    default:
        return -EXDEV;
    }
}

/* Answers with what came of it; false if it was not to be granted after all. */
static bool answer(int listener, const struct attempt *a, long r)
{
    if (r == -EXDEV)
        return false;
    if (r >= 0 && a->act == ACT_OPEN) {
        int given = layer_notify_give(listener, a->call, (int)r, (a->flags & O_CLOEXEC) != 0);
        sys_close((int)r);
        if (given == -EINVAL) /* this kernel cannot: the payload gets what the kernel says */
            return false;
        r = given;
        if (r == 0)
            return true;
    }
    if (r < 0)
        layer_notify_answer(listener, a->call, (int)r);
    else
        layer_notify_done(listener, a->call);
    return true;
}

enum grant_outcome grant_answer(const struct grant *grant, const struct view *view, int listener,
                                const struct attempt *attempt, const struct spot spots[2])
{
    static struct cell cells[2]; /* the listener has one thread */
    struct task_facts facts;
    if (grant->root < 0)
        return GRANT_REFUSED;
    cells[0].dir = cells[1].dir = -1;
    enum grant_outcome outcome = GRANT_ANSWERED;
    /* Nothing is moved from or to a writable place: the payload makes links and what it likes there. */
    for (unsigned i = 0; outcome == GRANT_ANSWERED && i < attempt->count; i++)
        outcome = view_writable(view, spot_place(&spots[i])) ? GRANT_REFUSED : find(&cells[i], grant, &spots[i]);
    /* The last look at the task: what was read of it until now was its own. */
    if (outcome == GRANT_ANSWERED &&
        (task_facts(attempt->call->task, &facts) < 0 || !layer_notify_valid(listener, attempt->call) ||
         !answer(listener, attempt, act(cells, attempt, attempt->mode & ~facts.umask & PERMISSIONS))))
        outcome = GRANT_REFUSED;
    sys_close(cells[0].dir);
    sys_close(cells[1].dir);
    return outcome;
}
