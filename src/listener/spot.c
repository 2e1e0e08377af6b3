#include "listener/spot.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>

#include "listener/task.h"
#include "listener/walk.h"
#include "sys/files.h"
#include "sys/landlock.h"

#define FULL_SIZE (2 * PATH_MAX)

void spot_release(struct spot *spot)
{
    sys_close(spot->dir);
    sys_close(spot->target);
    *spot = SPOT_INIT;
}

/* The kernel answers EAGAIN if a rename came between. */
static int open_in(const struct view *view, const char *path, uint64_t flags)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT};
    int fd = -EAGAIN;
    for (int i = 0; i < 4 && fd == -EAGAIN; i++)
        fd = sys_openat2(view->root, path, &how);
    return fd;
}

static int append(char *full, const char *text)
{
    const size_t len = strlen(full);
    const size_t more = strlen(text);
    if (len + more >= FULL_SIZE)
        return -ENAMETOOLONG;
    memcpy(full + len, text, more + 1);
    return 0;
}

/* What the kernel puts behind the name of a directory that is gone; any other could bear it, too. */
static bool looks_deleted(const char *path, size_t len)
{
    static const char mark[] = " (deleted)";
    return len >= sizeof mark && strcmp(path + len - (sizeof mark - 1), mark) == 0;
}

/* From the root on, in words: the task's directory first, where the path begins there. */
static int make_full(char *full, uint32_t task, const struct operand *operand)
{
    const char *path = operand->path;
    full[0] = '\0';
    if (path[0] == '\0')
        return -ENOENT;
    if (path[0] == '/')
        return append(full, path);
    int r = task_fd_link(task, operand->dir, full);
    if (r < 0 || full[0] != '/' || looks_deleted(full, (size_t)r))
        return r < 0 ? r : -ENOTDIR;
    r = append(full, "/");
    return r < 0 ? r : append(full, path);
}

/* Parts `full` before its last name; false if that is none: "/", "." or "..". */
static bool split(char *full, const char **dir, const char **leaf)
{
    size_t len = strlen(full);
    while (len > 1 && full[len - 1] == '/')
        full[--len] = '\0';
    char *slash = strrchr(full, '/');
    *leaf = slash + 1;
    *dir = slash == full ? "/" : full;
    if ((*leaf)[0] == '\0' || strcmp(*leaf, ".") == 0 || strcmp(*leaf, "..") == 0)
        return false;
    *slash = '\0';
    return true;
}

static int find_parent(struct spot *out, const struct view *view, char *full)
{
    const char *dir;
    const char *leaf;
    if (!split(full, &dir, &leaf)) {
        out->target = open_in(view, full, 0);
        return out->target < 0 ? out->target : 0;
    }
    const size_t len = strlen(leaf);
    if (len >= sizeof out->leaf)
        return -ENAMETOOLONG;
    out->dir = open_in(view, dir, O_DIRECTORY);
    if (out->dir < 0)
        return out->dir;
    memcpy(out->leaf, leaf, len + 1);
    return 0;
}

static bool is_link(const struct spot *at)
{
    char first;
    return sys_call(SYS_readlinkat, at->dir, at->leaf, &first, 1) >= 0;
}

/*
 * The target, by whose mount it is judged: what stands there may be a writable place of its own. Where
 * there is none, the place where it would be made.
 */
static int find_target(struct spot *out, const struct view *view, char *full, bool follow)
{
    out->target = open_in(view, full, follow ? 0 : O_NOFOLLOW);
    if (out->target != -ENOENT)
        return out->target < 0 ? out->target : 0;
    int r = find_parent(out, view, full);
    /* A link that leads to nothing: writing through it makes a file elsewhere. */
    return r == 0 && follow && out->dir >= 0 && is_link(out) ? -ELOOP : r;
}

/* By words that the kernel resolves in one go. A failure may be one of the words alone. */
static int find_by_words(struct spot *out, const struct view *view, uint32_t task, const struct operand *operand)
{
    static char full[FULL_SIZE]; /* the listener has one thread */
    int r = make_full(full, task, operand);
    if (r < 0)
        return r;
    return operand->name && !operand->follow ? find_parent(out, view, full)
                                             : find_target(out, view, full, operand->follow);
}

int spot_find(struct spot *out, struct view *view, uint32_t task, const struct operand *operand)
{
    *out = SPOT_INIT;
    if (view->root < 0)
        view->root = task_open(task, "root");
    if (view->root < 0)
        return view->root;
    if (operand->itself) {
        out->target = task_fd_open(task, operand->dir);
        return out->target < 0 ? out->target : 0;
    }
    int r = find_by_words(out, view, task, operand);
    /* Where the payload's /proc is ours, too, "self" in words is us. */
    if (r == 0 && !(view->plan->bare && view_is_proc(spot_place(out))))
        return 0;
    spot_release(out);
    return walk_find(out, view, task, operand);
}

void spot_look(struct spot *spot)
{
    if (spot->target < 0 && spot->dir >= 0)
        spot->target = sys_open(spot->dir, spot->leaf, O_PATH | O_NOFOLLOW, 0);
}

/* Without a tree of its own the rules of Landlock say what may be written. */
static bool ruled_writable(const struct plan *plan, int fd)
{
    char path[PATH_MAX];
    if (task_own_link(fd, path) < 0 || path[0] != '/') /* a pipe or the like has no place */
        return true;
    for (size_t i = 0; i < plan->rule_count; i++) {
        if ((plan->rules[i].access & LL_WRITE_FILE) != 0 && policy_path_beneath(path, plan->rules[i].path))
            return true;
    }
    return false;
}

bool view_is_proc(int fd)
{
    struct statfs fs = {0};
    return sys_fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

bool view_writable(const struct view *view, int fd)
{
    struct statfs fs = {0};
    if (sys_fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC) /* which has rules of its own */
        return true;
    if ((fs.f_flags & ST_RDONLY) != 0)
        return false;
    return !view->plan->bare || ruled_writable(view->plan, fd);
}

int spot_text(const struct spot *spot, char *out)
{
    int n = task_own_link(spot_place(spot), out);
    if (n < 0 || spot->dir < 0)
        return n;
    const size_t len = strlen(spot->leaf);
    const size_t slash = n > 1 ? 1 : 0; /* the root has one already */
    if ((size_t)n + slash + len >= PATH_MAX)
        return -ENAMETOOLONG;
    out[n] = '/';
    memcpy(out + (size_t)n + slash, spot->leaf, len + 1);
    return (int)((size_t)n + slash + len);
}
