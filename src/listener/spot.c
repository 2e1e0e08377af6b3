#include "listener/spot.h"

#include <errno.h>
#include <string.h>
#include <sys/statfs.h>

#include "listener/task.h"
#include "sys/files.h"
#include "sys/landlock.h"

#define FULL_SIZE (2 * PATH_MAX)
#define LINKS_MAX 8 /* that lead to nothing yet, one behind the other */
#define PROC_MAGIC 0x9fa0

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

/* The link of /proc that such a path begins with, which no other process can follow; its length. */
static size_t own_link_of(uint32_t task, const char *path, char *out)
{
    static const char *const prefixes[] = {"/proc/self/", "/proc/thread-self/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const size_t len = strlen(prefixes[i]);
        if (strncmp(path, prefixes[i], len) != 0)
            continue;
        char name[32];
        size_t n = strcspn(path + len, "/");
        if (strncmp(path + len, "fd/", 3) == 0)
            n = 3 + strcspn(path + len + 3, "/");
        if (n >= sizeof name)
            return 0;
        memcpy(name, path + len, n);
        name[n] = '\0';
        if (task_link(task, name, out) > 0 && out[0] == '/')
            return len + n;
        out[0] = '\0'; /* a pipe or the like: what was read is no path */
        return 0;
    }
    return 0;
}

/* A path that is nothing but a descriptor of the task's: what that is may have no name any more. */
static int own_fd_of(const char *path)
{
    static const char prefix[] = "/proc/self/fd/";
    const size_t len = sizeof prefix - 1;
    const size_t digits = strncmp(path, prefix, len) == 0 ? strspn(path + len, "0123456789") : 0;
    if (digits == 0 || digits > 6 || path[len + digits] != '\0')
        return -1;
    int fd = 0;
    for (const char *p = path + len; *p != '\0'; p++)
        fd = fd * 10 + (*p - '0');
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

/* From the root on, in words: the task's directory first, where the path begins there. */
static int make_full(char *full, uint32_t task, const struct operand *operand)
{
    const char *path = operand->path;
    full[0] = '\0';
    if (path[0] == '\0')
        return -ENOENT;
    if (path[0] == '/')
        return append(full, path + own_link_of(task, path, full));
    int r = operand->dir == AT_FDCWD ? task_link(task, "cwd", full) : task_fd_link(task, operand->dir, full);
    if (r < 0 || full[0] != '/')
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

/* Where a link leads to that leads to nothing: writing through it makes a file there. */
static int next_full(const struct spot *at, char *full)
{
    char link[PATH_MAX];
    long n = sys_call(SYS_readlinkat, at->dir, at->leaf, link, sizeof link - 1);
    if (n < 0)
        return 0;
    link[n] = '\0';
    if (link[0] == '/') {
        full[0] = '\0';
        return append(full, link) < 0 ? -ENAMETOOLONG : 1;
    }
    int r = task_own_link(at->dir, full);
    if (r >= 0)
        r = append(full, "/");
    if (r >= 0)
        r = append(full, link);
    return r < 0 ? r : 1;
}

/*
 * The target, by whose mount it is judged: what stands there may be a writable place of its own. Where
 * there is none, the place where it would be made.
 */
static int find_target(struct spot *out, const struct view *view, char *full, bool follow)
{
    out->target = open_in(view, full, follow ? 0 : O_NOFOLLOW);
    if (out->target >= 0 || out->target != -ENOENT)
        return out->target < 0 ? out->target : 0;
    for (int i = 0; i < LINKS_MAX; i++) {
        int r = find_parent(out, view, full);
        if (r < 0 || out->dir < 0 || !follow)
            return r;
        r = next_full(out, full);
        if (r <= 0)
            return r;
        sys_close(out->dir);
        out->dir = -1;
    }
    return -ELOOP;
}

int spot_find(struct spot *out, struct view *view, uint32_t task, const struct operand *operand)
{
    static char full[FULL_SIZE]; /* the listener has one thread */
    *out = SPOT_INIT;
    if (view->root < 0)
        view->root = task_open(task, "root");
    if (view->root < 0)
        return view->root;
    const int own = operand->itself ? operand->dir : operand->follow ? own_fd_of(operand->path) : -1;
    if (operand->itself || own >= 0) {
        out->target = task_fd_open(task, own);
        return out->target < 0 ? out->target : 0;
    }
    int r = make_full(full, task, operand);
    if (r < 0)
        return r;
    return operand->name && !operand->follow ? find_parent(out, view, full)
                                             : find_target(out, view, full, operand->follow);
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

bool view_writable(const struct view *view, int fd)
{
    struct statfs fs = {0};
    if (sys_fstatfs(fd, &fs) < 0 || fs.f_type == PROC_MAGIC) /* which has rules of its own */
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
