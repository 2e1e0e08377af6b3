/*
 * inject list -- COMMAND [ARG...]
 * inject ROLE CALL N ERRNO|short -- COMMAND [ARG...]
 *
 * Makes one system call of one process fail: the N-th CALL (a number) of the ROLE-th process, in order of
 * creation: 0 is the command itself, 1 the first process that anybody made, and so on. `short`
 * cuts the length in the third argument to 1 instead. Only x86_64.
 *
 * Calls are counted until a process executes a program for the second time in its line: what comes
 * after that is the payload's. `list` makes nothing fail and writes on descriptor 3, for each process and call,
 * `ROLE CALL COUNT`. Otherwise descriptor 3 gets `hit` or `miss`, and then `orphan PID` for
 * each process that was alive a second after the command had ended.
 *
 * By ptrace, so that it goes together with filters and listeners of the command's own.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/ptrace.h>

#define ROLES 8
#define CALLS 512
#define TASKS 4096
#define REPORT 3

struct task {
    int pid;
    int role;     /* in order of creation */
    bool payload; /* has executed something, or comes from one that had */
    bool failing; /* between entry and exit of the call that is to fail */
    bool known;
};

static struct task tasks[TASKS];
static int task_count;
static int roles;
static unsigned counts[ROLES][CALLS];
static struct {
    bool list, cut, hit;
    int role, call, errnum;
    unsigned n;
} order;

static struct task *find(int pid)
{
    for (int i = 0; i < task_count; i++) {
        if (tasks[i].pid == pid)
            return &tasks[i];
    }
    if (task_count == TASKS) {
        fputs("inject: too many processes\n", stderr);
        exit(125);
    }
    tasks[task_count] = (struct task){.pid = pid, .role = -1, .payload = true};
    return &tasks[task_count++];
}

static void name(struct task *t, const struct task *parent)
{
    if (!t->known) {
        t->known = true;
        t->payload = parent != NULL && parent->payload;
        t->role = t->payload ? -1 : roles++;
    }
}

static bool chosen(const struct task *t, const struct ptrace_syscall_info *info)
{
    const unsigned long long nr = info->entry.nr;
    if (t->payload || t->role < 0 || t->role >= ROLES || nr >= CALLS)
        return false;
    const unsigned n = ++counts[t->role][nr];
    return !order.list && !order.hit && t->role == order.role && (int)nr == order.call && n == order.n;
}

static void poke(int pid, size_t reg, unsigned long long value)
{
    ptrace(PTRACE_POKEUSER, pid, reg, value);
}

static void at_entry(struct task *t, const struct ptrace_syscall_info *info)
{
    if (!chosen(t, info))
        return;
    order.hit = true;
    if (order.cut) {
        if (info->entry.args[2] > 1)
            poke(t->pid, offsetof(struct user_regs_struct, rdx), 1);
    } else {
        t->failing = true;
        poke(t->pid, offsetof(struct user_regs_struct, orig_rax), (unsigned long long)-1);
    }
}

static void at_call(struct task *t)
{
    struct ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof info, &info) < 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        at_entry(t, &info);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->failing) {
        t->failing = false;
        poke(t->pid, offsetof(struct user_regs_struct, rax), (unsigned long long)-order.errnum);
    }
}

/* A stop; gives the signal to go on with. */
static int at_stop(struct task *t, int status)
{
    const int event = status >> 16;
    const int sig = WSTOPSIG(status);
    unsigned long message = 0;
    if (sig == (SIGTRAP | 0x80)) {
        at_call(t);
        return 0;
    }
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
        if (ptrace(PTRACE_GETEVENTMSG, t->pid, 0, &message) == 0)
            name(find((int)message), t);
        return 0;
    }
    if (event == PTRACE_EVENT_EXEC) {
        if (t->role == 0)
            memset(counts[0], 0, sizeof counts[0]); /* what led to the command does not count */
        else
            t->payload = true;
        return 0;
    }
    return event == 0 ? sig : 0;
}

static void go_on(int pid, int status, int sig)
{
    const bool group = status >> 16 == PTRACE_EVENT_STOP && sig == 0 &&
                       (WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTSTP ||
                        WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU);
    ptrace(group ? PTRACE_LISTEN : PTRACE_SYSCALL, pid, 0, sig);
}

static bool alive(int pid)
{
    char path[64];
    char text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    const bool got = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    const char *state = got ? strrchr(text, ')') : NULL;
    return state != NULL && state[2] != 'Z' && state[2] != 'X';
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Follows everybody until nobody is left, or a second after the command has ended. */
static int follow(int command)
{
    int result = 125;
    long end = 0;
    for (;;) {
        int status = 0;
        const int pid = waitpid(-1, &status, __WALL | (end != 0 ? WNOHANG : 0));
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0 || (end != 0 && now_ms() > end))
            return result;
        if (pid == 0) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            continue;
        }
        struct task *t = find(pid);
        if (WIFSTOPPED(status)) {
            const int sig = at_stop(t, status);
            go_on(pid, status, sig);
            continue;
        }
        t->pid = -1;
        if (pid == command) {
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            end = now_ms() + 1000;
        }
    }
}

static void report(void)
{
    if (!order.list)
        dprintf(REPORT, "%s\n", order.hit ? "hit" : "miss");
    for (int role = 0; order.list && role < roles && role < ROLES; role++) {
        for (int call = 0; call < CALLS; call++) {
            if (counts[role][call] != 0)
                dprintf(REPORT, "%d %d %u\n", role, call, counts[role][call]);
        }
    }
    for (int i = 0; i < task_count; i++) {
        if (tasks[i].pid > 0 && alive(tasks[i].pid)) {
            dprintf(REPORT, "orphan %d\n", tasks[i].pid);
            kill(tasks[i].pid, SIGKILL);
        }
    }
}

static int usage(void)
{
    fputs("usage: inject list -- COMMAND [ARG...]\n"
          "       inject ROLE CALL N ERRNO|short -- COMMAND [ARG...]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int first = 0;
    while (first < argc && strcmp(argv[first], "--") != 0)
        first++;
    if (first + 1 >= argc || (first != 2 && first != 5))
        return usage();
    order.list = first == 2;
    if (!order.list) {
        order.role = atoi(argv[1]);
        order.call = atoi(argv[2]);
        order.n = (unsigned)atoi(argv[3]);
        order.cut = strcmp(argv[4], "short") == 0;
        order.errnum = atoi(argv[4]);
    }
    int go[2];
    if (pipe(go) < 0)
        return 125;
    const int pid = fork();
    if (pid == 0) {
        char c;
        close(go[1]);
        close(REPORT); /* nobody else writes there */
        if (read(go[0], &c, 1) != 1)
            _exit(125);
        close(go[0]);
        execvp(argv[first + 1], argv + first + 1);
        _exit(127);
    }
    name(find(pid), NULL);
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, options) < 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0) {
        perror("inject: ptrace");
        return 125;
    }
    close(go[0]);
    if (write(go[1], "g", 1) != 1)
        return 125;
    close(go[1]);
    const int status = follow(pid);
    report();
    return status;
}
