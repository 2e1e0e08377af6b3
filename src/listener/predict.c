#include "listener/predict.h"

#include <errno.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listener/grant.h"
#include "listener/task.h"
#include "sys/files.h"

#define CALL_faccessat2 439
#define READONLY_FLAG 1 /* ST_RDONLY */
#define NOREPLACE 1u    /* RENAME_NOREPLACE */

/* Positive errno, or 0. Read-only is what this place is; anything else comes before that. */
static int may(int fd, int mode)
{
    long r = sys_call(CALL_faccessat2, fd, "", mode, AT_EMPTY_PATH);
    return r == 0 || r == -EROFS ? 0 : (int)-r;
}

static int look(int fd, struct stat *st)
{
    long r = sys_call(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
    return (int)-r;
}

static uid_t own_uid(void)
{
    return (uid_t)sys_call(SYS_getuid);
}

/* In a sticky directory a name is only its owner's to take away. */
static int sticky(int dir, const struct stat *st)
{
    struct stat parent;
    if (look(dir, &parent) != 0 || (parent.st_mode & S_ISVTX) == 0)
        return 0;
    return st->st_uid == own_uid() || parent.st_uid == own_uid() ? 0 : EPERM;
}

static int make(const struct attempt *a, const struct spot *spot)
{
    const unsigned type = a->mode & S_IFMT;
    if (spot->target >= 0)
        return a->bind ? EADDRINUSE : EEXIST;
    if (a->node && (type == S_IFCHR || type == S_IFBLK))
        return EPERM;
    return may(spot->dir, W_OK | X_OK);
}

static int take_away(const struct spot *spot, struct stat *st)
{
    int error = spot->target < 0 ? ENOENT : spot->dir < 0 ? EBUSY : look(spot->target, st);
    if (error == 0)
        error = may(spot->dir, W_OK | X_OK);
    return error != 0 ? error : sticky(spot->dir, st);
}

/* ENOTEMPTY is how some programs learn that they must go into it first. */
static int empty(int dir)
{
    struct entry {
        uint64_t inode, offset;
        unsigned short size;
        unsigned char type;
        char name[];
    };
    _Alignas(struct entry) char room[1024];
    int fd = sys_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    long n = fd < 0 ? 0 : sys_call(SYS_getdents64, fd, room, sizeof room);
    sys_close(fd);
    for (long at = 0; at < n;) {
        const struct entry *e = (const struct entry *)(const void *)(room + at);
        if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
            return ENOTEMPTY;
        at += e->size;
    }
    return 0;
}

static int remove_name(const struct attempt *a, const struct spot *spot)
{
    struct stat st;
    int error = take_away(spot, &st);
    if (error == 0 && (a->flags & AT_REMOVEDIR) != 0)
        return S_ISDIR(st.st_mode) ? empty(spot->target) : ENOTDIR;
    return error == 0 && S_ISDIR(st.st_mode) ? EISDIR : error;
}

static int rename_name(const struct attempt *a, const struct spot spots[2])
{
    struct stat from;
    struct stat to;
    int error = take_away(&spots[0], &from);
    if (error != 0 || spots[1].target < 0)
        return error != 0 ? error : spots[1].dir < 0 ? ENOENT : may(spots[1].dir, W_OK | X_OK);
    if ((a->flags & NOREPLACE) != 0)
        return EEXIST;
    error = take_away(&spots[1], &to);
    if (error == 0 && S_ISDIR(from.st_mode) != S_ISDIR(to.st_mode))
        return S_ISDIR(to.st_mode) ? EISDIR : ENOTDIR;
    return error;
}

#define IS_OWN (-1) /* not the guard's business at all */

static int open_existing(const struct attempt *a, int target)
{
    struct stat st;
    const unsigned access = a->flags & O_ACCMODE;
    int error = look(target, &st);
    if (error != 0 || (a->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return error != 0 ? error : EEXIST;
    if ((a->flags & O_TMPFILE) == O_TMPFILE)
        return S_ISDIR(st.st_mode) ? may(target, W_OK | X_OK) : ENOTDIR;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (!S_ISREG(st.st_mode)) /* devices and pipes are no places; a link is one that is not followed */
        return IS_OWN;
    if (access == O_RDONLY && (a->flags & O_TRUNC) == 0)
        return IS_OWN;
    return may(target, W_OK | (access == O_WRONLY ? 0 : R_OK));
}

static int open_file(const struct attempt *a, const struct spot *spot)
{
    if (spot->target >= 0)
        return open_existing(a, spot->target);
    if ((a->flags & O_CREAT) == 0)
        return ENOENT;
    return may(spot->dir, W_OK | X_OK);
}

/* User attributes take the right to write; all others a right that nobody has inside. */
static int set_attribute(const struct attempt *a, int target, const struct stat *st)
{
    char name[256];
    if (task_string(a->call->task, a->extra, name, sizeof name) < 0)
        return IS_OWN;
    if (strncmp(name, "system.posix_acl", 16) == 0)
        return st->st_uid == own_uid() ? 0 : EPERM;
    return strncmp(name, "user.", 5) == 0 ? may(target, W_OK) : EPERM;
}

/* To oneself, at most; the payload knows itself by another number. */
static int give_away(const struct attempt *a, const struct stat *st, const struct plan *plan)
{
    const uid_t to = (uid_t)a->extra;
    const bool same = to == (uid_t)-1 || to == plan->uid_inside;
    return st->st_uid == own_uid() && same ? 0 : EPERM;
}

/* Calls that change what stands there, not its name. */
static int change(const struct attempt *a, const struct spot *spot, const struct plan *plan)
{
    struct stat st;
    int error = spot->target < 0 ? ENOENT : look(spot->target, &st);
    if (error != 0)
        return error;
    if (st.st_nlink == 0) /* it has no place any more */
        return IS_OWN;
    const bool owner = st.st_uid == own_uid();
    switch (a->act) {
    case ACT_TRUNCATE:
        return S_ISDIR(st.st_mode) ? EISDIR : !S_ISREG(st.st_mode) ? EINVAL : may(spot->target, W_OK);
    case ACT_MODE:
        return owner ? 0 : EPERM;
    case ACT_OWNER:
        return give_away(a, &st, plan);
    case ACT_TIMES: /* to now may who may write */
        return owner ? 0 : a->extra == 0 ? may(spot->target, W_OK) : EPERM;
    default:
        return set_attribute(a, spot->target, &st);
    }
}

/* Without the guard: 0 if it would have worked, an errno, or IS_OWN. */
static int without(const struct attempt *a, const struct spot spots[2], const struct plan *plan)
{
    switch (a->act) {
    case ACT_OPEN:
        return open_file(a, &spots[0]);
    case ACT_MAKE:
        return make(a, &spots[0]);
    case ACT_REMOVE:
        return remove_name(a, &spots[0]);
    case ACT_RENAME:
        return rename_name(a, spots);
    case ACT_LINK:
        return spots[0].target < 0 ? ENOENT : make(a, &spots[1]);
    default:
        return change(a, &spots[0], plan);
    }
}

/*
 * The place itself, on the host: it may be covered here by something of ours, or be read-only there,
 * too. As root the payload's rights are those of its maps, which are known only here.
 */
static int outside(const struct view *view, const struct spot *spot)
{
    char path[PATH_MAX];
    struct statfs fs = {0};
    int r = task_own_link(spot_place(spot), path);
    int fd = r < 0 ? r : sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return view->plan->switch_user ? 0 : -fd;
    int error = 0;
    if (sys_fstatfs(fd, &fs) == 0 && (fs.f_flags & READONLY_FLAG) != 0)
        error = EROFS;
    else if (!view->plan->switch_user && spot->dir >= 0)
        error = (int)-sys_call(CALL_faccessat2, fd, "", W_OK, AT_EMPTY_PATH);
    sys_close(fd);
    return error;
}

/* Names in /dev stand for devices; that one is ours, and what is missing in it is no file of the host's. */
static bool among_devices(const struct spot *spot)
{
    char dir[PATH_MAX];
    return spot->dir >= 0 && task_own_link(spot->dir, dir) >= 0 &&
           (strcmp(dir, "/dev") == 0 || strcmp(dir, "/dev/pts") == 0);
}

/*
 * What tools keep for themselves wherever they find their things, and go on without where they cannot:
 * Python its bytecode, cargo its locks and the record of what it used. In the project that is a cache, or
 * a violation; elsewhere nobody means it.
 */
static bool is_foreign_cache(const struct plan_guard *guard, const struct spot *spot)
{
    static const char *const directories[] = {"__pycache__", NULL};
    static const char *const files[] = {".package-cache", ".package-cache-mutate", ".global-cache", NULL};
    char path[PATH_MAX];
    if (spot_text(spot, path) < 0 || (guard->root != NULL && policy_path_beneath(path, guard->root)))
        return false;
    return grant_component(directories, path) || grant_component(files, strrchr(path, '/'));
}

struct prediction predict(struct attempt *attempt, const struct spot spots[2], const struct view *view)
{
    struct prediction p = {.outcome = OUTCOME_OWN};
    int error = without(attempt, spots, view->plan);
    if (error == IS_OWN)
        return p;
    if (attempt->act == ACT_LINK || (attempt->act == ACT_RENAME && view_writable(view, spot_place(&spots[0]))))
        p.culprit = 1;
    const struct spot *culprit = &spots[p.culprit];
    if (among_devices(culprit))
        return p;
    if (error == 0)
        error = is_foreign_cache(&view->plan->guard, culprit) ? EROFS : outside(view, culprit);
    p.outcome = error == 0 ? OUTCOME_VIOLATION : OUTCOME_ERROR;
    p.error = error;
    return p;
}
