/* The keeper and the payload process: all that happens between fork and the end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/posix.h"
#include "base/fd.h"

#define DESCRIPTORS_MAX (1 << 20)

/* The keeper is a process of one thread: this is where its handler writes. */
static int wake_up = -1;

static void child_ended(int sig)
{
    const int saved = errno;
    (void)sig;
    ssize_t ignored = write(wake_up, "", 1);
    (void)ignored;
    errno = saved;
}

/* One above the highest that is open. Most systems list them; before fork, for it allocates. */
static int descriptors_end(void)
{
    struct rlimit limit;
    int most = 0;
    DIR *dir = opendir("/dev/fd");
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const int fd = atoi(entry->d_name);
        most = fd >= most ? fd + 1 : most;
    }
    if (dir != NULL)
        closedir(dir);
    if (most > STDERR_FILENO + 1)
        return most;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_MAX ? (int)limit.rlim_cur
                                                                                     : DESCRIPTORS_MAX;
}

/* Everything above standard error but what is listed. */
static void close_others(int end, const int *keep, size_t count)
{
    for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
        bool kept = false;
        for (size_t i = 0; i < count; i++)
            kept = kept || keep[i] == fd;
        if (!kept)
            close(fd);
    }
}

/* The numbers are of an enum here and of an int there; a plan of this kind has three. */
static int get_limit(int resource, struct rlimit *out)
{
    return resource == RLIMIT_CORE  ? getrlimit(RLIMIT_CORE, out)
           : resource == RLIMIT_CPU ? getrlimit(RLIMIT_CPU, out)
                                    : getrlimit(RLIMIT_NOFILE, out);
}

static int put_limit(int resource, const struct rlimit *limit)
{
    return resource == RLIMIT_CORE  ? setrlimit(RLIMIT_CORE, limit)
           : resource == RLIMIT_CPU ? setrlimit(RLIMIT_CPU, limit)
                                    : setrlimit(RLIMIT_NOFILE, limit);
}

static bool set_limit(const struct plan_rlimit *want)
{
    struct rlimit seen;
    if (get_limit(want->resource, &seen) < 0)
        return false;
    /* An ordinary caller cannot raise its own hard limit; a lower one is stricter. */
    struct rlimit set = {.rlim_cur = (rlim_t)want->soft, .rlim_max = (rlim_t)want->hard};
    if (seen.rlim_max != RLIM_INFINITY && set.rlim_max > seen.rlim_max)
        set.rlim_max = seen.rlim_max;
    if (set.rlim_cur > set.rlim_max)
        set.rlim_cur = set.rlim_max;
    return put_limit(want->resource, &set) == 0;
}

static void set_limits(const struct plan *plan, struct posix_report *told)
{
    struct rlimit seen;
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        if (!set_limit(&plan->rlimits[i]))
            told->limit_errno = errno;
    }
    if (plan->nofile != 0 && getrlimit(RLIMIT_NOFILE, &seen) == 0 && seen.rlim_max <= plan->nofile)
        told->proof |= PROOF_NOFILE;
}

/* What the caller changed for itself is nobody's business here. `handler` is for the end of a child. */
static void reset_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int sig = 1; sig < 32; sig++)
        sigaction(sig, &action, NULL); /* KILL and STOP refuse */
    action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Along the candidates like execvp(). Returns only if none can be executed. */
static void execute(const struct plan *plan, struct posix_report *told)
{
    told->exec_errno = ENOENT;
    for (const char **path = plan->candidates; *path != NULL; path++) {
        execve(*path, plan->argv, plan->envp);
        const int answer = errno;
        told->interpreter = answer == ENOENT && access(*path, F_OK) == 0;
        if (told->interpreter)
            return;
        if (answer != ENOENT && answer != ENOTDIR)
            told->exec_errno = answer;
        if (answer != ENOENT && answer != ENOTDIR && answer != EACCES)
            return;
    }
}

/* Tells twice: before exec what was proven, and after it why it failed. */
_Noreturn static void payload(const struct plan *plan, const int stdio[3], int tell)
{
    struct posix_report told = {.exec_errno = 0};
    setsid();
    for (int i = 0; i < 3; i++)
        dup2(stdio[i], i);
    reset_signals(SIG_DFL);
    umask(022);
    set_limits(plan, &told);
    if (chdir(plan->cwd) < 0)
        told.chdir_errno = errno;
    (void)fd_write_all(tell, &told, sizeof told);
    if (told.chdir_errno == 0 && told.limit_errno == 0 && (told.proof & plan->must) == plan->must) {
        execute(plan, &told);
        (void)fd_write_all(tell, &told, sizeof told);
    }
    _exit(127);
}

/* To the payload's group; before that exists, to the payload. */
static void signal_group(pid_t pid, int sig)
{
    if (kill(-pid, sig) < 0)
        kill(pid, sig);
}

static void wait_for_end(pid_t pid, int control, int woken, struct posix_report *told)
{
    struct pollfd fds[2] = {{.fd = control, .events = POLLIN}, {.fd = woken, .events = POLLIN}};
    for (;;) {
        poll(fds, 2, -1);
        unsigned char byte;
        if (fds[0].fd >= 0 && fds[0].revents != 0) {
            if (read(control, &byte, 1) == 1) {
                signal_group(pid, byte);
            } else {
                signal_group(pid, SIGKILL); /* the caller is gone */
                fds[0].fd = -1;
            }
        }
        if (fds[1].revents != 0)
            (void)!read(woken, &byte, 1);
        if (waitpid(pid, &told->status, WNOHANG) == pid)
            return;
    }
}

/* Until it says so, or is dead. */
static void wait_for_caller(int control)
{
    unsigned char byte = SIGKILL;
    ssize_t n = 1;
    while ((n == 1 && byte != POSIX_DONE) || (n < 0 && errno == EINTR))
        n = read(control, &byte, 1);
}

static void add_usage(struct posix_report *told)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
        return;
    told->cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                   (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

_Noreturn static void keep(const struct plan *plan, struct posix_workdir workdir, const int stdio[3], int report,
                           int control, int end)
{
    int woken[2];
    int tell[2];
    const int needed[] = {stdio[0], stdio[1], stdio[2], report, control};
    struct posix_report told = {.exec_errno = 0};

    setsid(); /* a terminal's signals are the caller's to pass on */
    close_others(end, needed, sizeof needed / sizeof needed[0]);
    if (posix_pipe(woken) < 0 || posix_pipe(tell) < 0 || fcntl(woken[1], F_SETFL, O_NONBLOCK) < 0)
        _exit(1);
    wake_up = woken[1];
    reset_signals(child_ended);
    signal(SIGPIPE, SIG_IGN); /* nobody may be left to report to, and there is something left to do */
    pid_t pid = fork();
    if (pid == 0)
        payload(plan, stdio, tell[1]);
    if (pid < 0)
        _exit(1);
    for (int i = 0; i < 3; i++)
        close(stdio[i]);
    close(tell[1]);
    wait_for_end(pid, control, woken[0], &told);
    const int status = told.status;
    kill(-pid, SIGKILL); /* what it left in its group; the number alone may be another's by now */
    for (struct posix_report next; fd_read_full(tell[0], &next, sizeof next) == (ssize_t)sizeof next;)
        told = next;
    told.status = status;
    add_usage(&told);
    (void)fd_write_all(report, &told, sizeof told);
    wait_for_caller(control);
    (void)posix_workdir_remove(&workdir); /* gone already, unless the caller was killed */
    _exit(0);
}

pid_t posix_keeper_start(const struct plan *plan, const struct posix_workdir *workdir, const int stdio[3], int *report,
                         int *control)
{
    int up[2];
    int down[2];
    sigset_t all;
    sigset_t before;
    int r = posix_pipe(up);
    if (r < 0)
        return r;
    r = posix_pipe(down);
    if (r < 0) {
        fd_close(&up[0]);
        fd_close(&up[1]);
        return r;
    }
    const int end = descriptors_end();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* none of the caller's handlers runs in the keeper */
    pid_t pid = fork();
    if (pid == 0)
        keep(plan, *workdir, stdio, up[1], down[0], end);
    const int errnum = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    fd_close(&up[1]);
    fd_close(&down[0]);
    if (pid < 0) {
        fd_close(&up[0]);
        fd_close(&down[1]);
        return -errnum;
    }
    *report = up[0];
    *control = down[1];
    return pid;
}
