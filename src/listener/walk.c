#include "listener/walk.h"

#include <errno.h>
#include <string.h>

#include "listener/rights.h"
#include "listener/task.h"
#include "sys/files.h"

#define LINKS_MAX 40 /* as the kernel */

struct walk {
    const struct view *view;
    uint32_t task;
    int at; /* owned; where it stands */
    unsigned links;
    char rest[2 * PATH_MAX]; /* still to go */
};

static void stand_on(struct walk *w, int fd)
{
    sys_close(w->at);
    w->at = fd;
}

static int stand_on_root(struct walk *w)
{
    stand_on(w, (int)sys_call(SYS_fcntl, w->view->root, F_DUPFD_CLOEXEC, 0));
    return w->at;
}

static int begin(struct walk *w, const struct operand *operand)
{
    memcpy(w->rest, operand->path, strlen(operand->path) + 1);
    w->links = 0;
    w->at = -1;
    if (operand->path[0] == '\0')
        return -ENOENT;
    if (operand->path[0] == '/')
        return stand_on_root(w);
    w->at = task_fd_open(w->task, operand->dir);
    return w->at;
}

/* Takes the next name out of what is left, which then is nothing or begins with a slash. Its length. */
static size_t next_name(struct walk *w, char name[NAME_MAX + 1], bool *last)
{
    const char *p = w->rest + strspn(w->rest, "/");
    const size_t len = strcspn(p, "/");
    if (len > NAME_MAX)
        return len;
    memcpy(name, p, len);
    name[len] = '\0';
    p += len;
    *last = p[strspn(p, "/")] == '\0';
    memmove(w->rest, p, strlen(p) + 1);
    return len;
}

static int put_before(struct walk *w, const char *text, size_t len)
{
    const size_t rest = strlen(w->rest);
    if (len + rest >= sizeof w->rest)
        return -ENAMETOOLONG;
    memmove(w->rest + len, w->rest, rest + 1);
    memcpy(w->rest, text, len);
    return 1;
}

static unsigned type_of(int fd)
{
    struct stat st;
    return rights_stat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* At what is meant; "name/" is a directory, or nothing. */
static int arrive(const struct walk *w, struct spot *out, int fd)
{
    if (w->rest[0] == '/' && type_of(fd) != S_IFDIR) {
        sys_close(fd);
        return -ENOTDIR;
    }
    out->target = fd;
    return 0;
}

/* At a name that is meant itself, or that is not there yet. In a directory that is gone there are none. */
static int arrive_in(struct walk *w, struct spot *out, const char *name)
{
    struct stat st;
    const int error = rights_stat(w->at, &st);
    if (error != 0 || !S_ISDIR(st.st_mode) || st.st_nlink == 0)
        return error != 0 ? -error : S_ISDIR(st.st_mode) ? -ENOENT : -ENOTDIR;
    out->dir = w->at;
    w->at = -1;
    memcpy(out->leaf, name, strlen(name) + 1);
    return 0;
}

/* "self" is whoever asks, and that is not us. */
static int follow_self(struct walk *w, bool thread)
{
    char text[2 * SYS_NUMBER_SIZE + 8];
    struct task_facts facts;
    int r = task_facts(w->task, &facts);
    if (r < 0)
        return r;
    char *p = sys_put_number(text, (uint32_t)facts.pid);
    if (thread) {
        memcpy(p, "/task/", 6);
        p = sys_put_number(p + 6, (uint32_t)facts.tid);
    }
    return put_before(w, text, (size_t)(p - text));
}

static int follow_text(struct walk *w, int link)
{
    char text[PATH_MAX];
    long n = sys_call(SYS_readlinkat, link, "", text, sizeof text);
    if (n <= 0)
        return n < 0 ? (int)n : -ENOENT;
    if (text[0] == '/' && stand_on_root(w) < 0)
        return w->at;
    return put_before(w, text, (size_t)n);
}

static int follow(struct walk *w, struct spot *out, int link, const char *name, bool last)
{
    const bool thread = strcmp(name, "thread-self") == 0;
    if (++w->links > LINKS_MAX)
        return -ELOOP;
    if (!view_is_proc(link))
        return follow_text(w, link);
    if (thread || strcmp(name, "self") == 0)
        return follow_self(w, thread);
    int fd = sys_open(w->at, name, O_PATH, 0);
    if (fd < 0 || last)
        return fd < 0 ? fd : arrive(w, out, fd);
    stand_on(w, fd);
    return 1;
}

/* 1: there is more to go; 0: found. */
static int step(struct walk *w, struct spot *out, const struct operand *operand)
{
    char name[NAME_MAX + 1];
    bool last = false;
    const size_t len = next_name(w, name, &last);
    if (len > NAME_MAX)
        return -ENAMETOOLONG;
    const bool dots = len == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    if (last && !dots && operand->name && !operand->follow)
        return arrive_in(w, out, name);
    int fd = sys_open(w->at, len == 0 ? "." : name, O_PATH | O_NOFOLLOW | (dots ? O_DIRECTORY : 0), 0);
    if (fd == -ENOENT && last)
        return arrive_in(w, out, name);
    if (fd < 0)
        return fd;
    if ((!last || operand->follow || w->rest[0] == '/') && type_of(fd) == S_IFLNK) {
        const int r = follow(w, out, fd, name, last);
        sys_close(fd);
        return r;
    }
    if (last)
        return arrive(w, out, fd);
    stand_on(w, fd);
    return 1;
}

int walk_find(struct spot *out, const struct view *view, uint32_t task, const struct operand *operand)
{
    static struct walk w; /* large; the listener has one thread */
    w.view = view;
    w.task = task;
    int r = begin(&w, operand);
    do {
        if (r >= 0)
            r = step(&w, out, operand);
    } while (r > 0);
    sys_close(w.at);
    return r;
}
