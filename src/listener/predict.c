#include "listener/predict.h"

#include <errno.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listener/change.h"
#include "listener/grant.h"
#include "listener/rights.h"
#include "listener/task.h"
#include "sys/entry.h"
#include "sys/files.h"
#include "sys/pidfd.h"

#define NEITHER 3u      /* in O_ACCMODE: for ioctl() alone, neither to read nor to write */

/* 0 if something stands there. */
static int absent(const struct spot *spot)
{
    return spot->target < 0 ? -spot->target : 0;
}

/* In a sticky directory a name is only its owner's to take away. */
static int sticky(const struct view *view, int dir, const struct stat *st)
{
    struct stat parent;
    if (rights_stat(dir, &parent) != 0 || (parent.st_mode & S_ISVTX) == 0)
        return 0;
    return rights_owner(view, st) || rights_owner(view, &parent) ? 0 : EPERM;
}

/* symlink() to nothing at all. */
static bool is_empty_link(const struct attempt *a)
{
    char first = 'x';
    return a->symlink && task_bytes(a->call->task, a->call->args[0], &first, 1) == 0 && first == '\0';
}

static int make(const struct attempt *a, unsigned which, const struct spot *spot, const struct view *view)
{
    const unsigned type = a->mode & S_IFMT;
    if (spot->target >= 0)
        return a->bind ? EADDRINUSE : EEXIST;
    if (absent(spot) != ENOENT)
        return absent(spot);
    if ((!a->directory && operand_wants_directory(&a->what[which])) || is_empty_link(a))
        return ENOENT;
    if (a->node && (type == S_IFCHR || type == S_IFBLK) && !view->overrides)
        return EPERM;
    return rights_access(view, spot->dir, W_OK | X_OK);
}

static int make_link(const struct attempt *a, const struct spot spots[2], const struct view *view)
{
    struct stat st;
    int error = absent(&spots[0]);
    if (error == 0)
        error = rights_stat(spots[0].target, &st);
    if (error == 0)
        error = make(a, 1, &spots[1], view);
    return error != 0 || rights_link(view, spots[0].target, &st) ? error : EPERM;
}

static int take_away(const struct spot *spot, struct stat *st, const struct view *view)
{
    int error = absent(spot) != 0 ? absent(spot) : spot->dir < 0 ? EBUSY : rights_stat(spot->target, st);
    if (error == 0)
        error = rights_access(view, spot->dir, W_OK | X_OK);
    return error != 0 ? error : sticky(view, spot->dir, st);
}

/* ENOTEMPTY is how some programs learn that they must go into it first. */
static int empty(int dir)
{
    _Alignas(struct sys_dirent) char room[1024];
    int fd = sys_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    long n = fd < 0 ? 0 : sys_getdents(fd, room, sizeof room);
    sys_close(fd);
    for (long at = 0; at < n;) {
        const char *name = sys_next_entry(room, &at)->name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            return ENOTEMPTY;
    }
    return 0;
}

/* "/", "." and ".." are nobody's to remove. */
static int remove_special(const struct attempt *a)
{
    const char *slash = strrchr(a->what[0].path, '/');
    const char *last = slash == NULL ? a->what[0].path : slash + 1;
    if ((a->flags & AT_REMOVEDIR) == 0)
        return EISDIR;
    return strcmp(last, ".") == 0 ? EINVAL : strcmp(last, "..") == 0 ? ENOTEMPTY : EBUSY;
}

static int remove_name(const struct attempt *a, const struct spot *spot, const struct view *view)
{
    struct stat st = {0};
    if (spot->dir < 0)
        return remove_special(a);
    int error = take_away(spot, &st, view);
    if (error != 0)
        return error;
    if ((a->flags & AT_REMOVEDIR) != 0)
        return S_ISDIR(st.st_mode) ? empty(spot->target) : ENOTDIR;
    return S_ISDIR(st.st_mode) ? EISDIR : operand_wants_directory(&a->what[0]) ? ENOTDIR : 0;
}

static bool is_beneath(const struct spot *spot, const struct spot *above)
{
    char dir[PATH_MAX];
    char path[PATH_MAX];
    return task_own_link(spot->dir, dir) >= 0 && spot_text(above, path) >= 0 && policy_path_beneath(dir, path);
}

static int replace(const struct stat *from, const struct stat *to, const struct spot *place)
{
    if (S_ISDIR(from->st_mode) != S_ISDIR(to->st_mode))
        return S_ISDIR(to->st_mode) ? EISDIR : ENOTDIR;
    const bool same = from->st_dev == to->st_dev && from->st_ino == to->st_ino;
    return S_ISDIR(to->st_mode) && !same ? empty(place->target) : 0;
}

static int rename_name(const struct attempt *a, const struct spot spots[2], const struct view *view)
{
    struct stat from = {0};
    struct stat to = {0};
    int error = take_away(&spots[0], &from, view);
    if (error != 0)
        return error;
    if (!S_ISDIR(from.st_mode) && (operand_wants_directory(&a->what[0]) || operand_wants_directory(&a->what[1])))
        return ENOTDIR;
    if (S_ISDIR(from.st_mode) && spots[1].dir >= 0 && is_beneath(&spots[1], &spots[0]))
        return EINVAL;
    if (spots[1].target < 0)
        return absent(&spots[1]) != ENOENT || (a->flags & SYS_RENAME_EXCHANGE) != 0
                   ? absent(&spots[1])
                   : rights_access(view, spots[1].dir, W_OK | X_OK);
    if ((a->flags & SYS_RENAME_NOREPLACE) != 0)
        return EEXIST;
    error = take_away(&spots[1], &to, view);
    return error != 0 || (a->flags & SYS_RENAME_EXCHANGE) != 0 ? error : replace(&from, &to, &spots[1]);
}

/*
 * A pipe is no place on a disk, but what is written to it is gone from here. Without waiting it can only
 * be opened while somebody reads from it, which is not to be seen.
 */
static int open_special(const struct attempt *a, int target, const struct stat *st, const struct view *view)
{
    const bool waits = (a->flags & (O_ACCMODE | O_NONBLOCK)) != (O_WRONLY | O_NONBLOCK);
    if (S_ISSOCK(st->st_mode))
        return ENXIO;
    return S_ISFIFO(st->st_mode) && waits ? rights_access(view, target, W_OK) : IS_OWN;
}

static int open_existing(const struct attempt *a, int target, const struct view *view)
{
    struct stat st;
    const unsigned access = a->flags & O_ACCMODE;
    int error = rights_stat(target, &st);
    if (error != 0 || (a->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return error != 0 ? error : EEXIST;
    if ((a->flags & O_TMPFILE) == O_TMPFILE)
        return S_ISDIR(st.st_mode) ? rights_access(view, target, W_OK | X_OK) : ENOTDIR;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if ((access == O_RDONLY || access == NEITHER) && (a->flags & O_TRUNC) == 0)
        return IS_OWN;
    if (!S_ISREG(st.st_mode)) /* devices are no places; a link is one that is not followed */
        return open_special(a, target, &st, view);
    return rights_access(view, target, W_OK | (access == O_WRONLY ? 0 : R_OK));
}

static int open_file(const struct attempt *a, const struct spot *spot, const struct view *view)
{
    if (spot->target >= 0)
        return open_existing(a, spot->target, view);
    if (absent(spot) != ENOENT || (a->flags & O_CREAT) == 0)
        return absent(spot);
    return operand_wants_directory(&a->what[0]) ? EISDIR : rights_access(view, spot->dir, W_OK | X_OK);
}

/* Without the guard: 0 if it would have worked, an errno, or IS_OWN. */
static int without(const struct attempt *a, const struct spot spots[2], const struct view *view)
{
    switch (a->act) {
    case ACT_OPEN:
        return open_file(a, &spots[0], view);
    case ACT_MAKE:
        return make(a, 0, &spots[0], view);
    case ACT_REMOVE:
        return remove_name(a, &spots[0], view);
    case ACT_RENAME:
        return rename_name(a, spots, view);
    case ACT_LINK:
        return make_link(a, spots, view);
    default:
        return change_without_guard(a, &spots[0], view);
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
    if (task_own_link(spot_place(spot), path) < 0) /* too long for words, but not for the kernel */
        return 0;
    int fd = sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return view->plan->switch_user ? 0 : -fd;
    int error = 0;
    if (sys_fstatfs(fd, &fs) == 0 && (fs.f_flags & ST_RDONLY) != 0)
        error = EROFS;
    else if (!view->plan->switch_user && spot->dir >= 0)
        error = (int)-sys_call(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH);
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
    int error = without(attempt, spots, view);
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
