#include "supervisor/descent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sys/entry.h"
#include "sys/files.h"
#include "sys/process.h"

#define LIST_SIZE 4096

/* Calls for every number in an open children file, as it is now; -errno if it cannot be read. */
static int each_listed(int list, void (*call)(void *context, int pid), void *context)
{
    char text[LIST_SIZE];
    int number = 0; /* may be cut in two by the end of the buffer */
    long at = 0;
    long n;
    while ((n = sys_call(SYS_pread64, list, text, sizeof text, at)) > 0) {
        at += n;
        for (long i = 0; i < n; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                number = number * 10 + (text[i] - '0');
            } else if (number > 0) {
                call(context, number);
                number = 0;
            }
        }
    }
    return (int)n;
}

static int each_child(int proc, const char *path, void (*call)(void *context, int pid), void *context)
{
    int list = sys_open(proc, path, O_RDONLY, 0);
    if (list < 0)
        return list;
    int r = each_listed(list, call, context);
    sys_close(list);
    return r;
}

static void add(void *context, int pid)
{
    struct descent *t = context;
    if (t->count == DESCENT_MAX)
        t->cut = true;
    else
        t->pids[t->count++] = pid;
}

static bool out_of_sight(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

/* The children of each thread in a directory of tasks: "PID/task", or "self/task" for the caller. */
static void add_children(struct descent *t, const char *tasks)
{
    _Alignas(struct sys_dirent) char entries[LIST_SIZE];
    char path[SYS_PID_PATH_SIZE];
    int dir = sys_open(t->proc, tasks, O_RDONLY | O_DIRECTORY, 0);
    t->cut = t->cut || out_of_sight(dir);
    if (dir < 0)
        return; /* it is gone: its children are init's now, or will be seen with the next walk */
    for (;;) {
        long n = sys_getdents(dir, entries, sizeof entries);
        if (n <= 0)
            break;
        for (long at = 0; at < n;) {
            const char *name = sys_next_entry(entries, &at)->name;
            const size_t len = strlen(name);
            if (name[0] < '1' || name[0] > '9' || len + sizeof "/children" > sizeof path)
                continue;
            memcpy(path, name, len);
            memcpy(path + len, "/children", sizeof "/children");
            t->tasks++;
            int r = each_child(dir, path, add, t);
            t->cut = t->cut || out_of_sight(r);
        }
    }
    sys_close(dir);
}

static void read_below(struct descent *t, int proc, const char *tasks)
{
    char path[SYS_PID_PATH_SIZE];
    t->proc = proc;
    t->count = 0;
    t->cut = false;
    add_children(t, tasks);
    t->tasks = 0; /* init is not counted */
    for (size_t i = 0; i < t->count; i++) {
        const size_t before = t->tasks;
        sys_pid_path(path, t->pids[i], "task");
        add_children(t, path);
        t->tasks += t->tasks == before; /* a zombie that lost its directory meanwhile */
    }
}

void descent_read(struct descent *t, int proc)
{
    read_below(t, proc, "self/task");
}

void descent_read_of(struct descent *t, int proc, int pid)
{
    char path[SYS_PID_PATH_SIZE];
    sys_pid_path(path, pid, "task");
    read_below(t, proc, path);
}

int descent_open_children(int proc)
{
    return sys_open(proc, "thread-self/children", O_RDONLY, 0);
}

static void kill_one(void *context, int pid)
{
    sys_kill(pid, *(const int *)context);
}

bool descent_signal_children(int list, int sig)
{
    return each_listed(list, kill_one, &sig) >= 0;
}

static void keep_first(void *context, int pid)
{
    int *first = context;
    if (*first == 0)
        *first = pid;
}

bool descent_shown(int proc)
{
    char path[SYS_PID_PATH_SIZE];
    char byte;
    int child = 0;
    if (each_child(proc, "thread-self/children", keep_first, &child) < 0 || child == 0)
        return false;
    sys_pid_path(path, child, "statm");
    int fd = sys_open(proc, path, O_RDONLY, 0);
    const bool shown = fd >= 0 && sys_read(fd, &byte, 1) == 1;
    sys_close(fd);
    return shown;
}
