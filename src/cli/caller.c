#include "cli/caller.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sys/pidfd.h"

static int next_signal(int signals)
{
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

/* Of the descriptor that watch_process() made. */
static int next_event(int events)
{
    struct epoll_event event;
    if (epoll_wait(events, &event, 1, 0) != 1)
        return 0;
    return event.data.fd < 0 ? SIGKILL : next_signal(event.data.fd);
}

/* TERM, INT and HUP are passed on, unless whoever started us has them ignored (nohup, `&`). */
static int watch_signals(struct caller *caller, bool tty)
{
    static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    const size_t count = tty ? 4 : 3;
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) {
        struct sigaction old;
        if (sigaction(passed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&set, passed[i]);
    }
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an errno here */
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    *caller = (struct caller){.events = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .next = next_signal};
    return caller->events < 0 ? -errno : 0;
}

/*
 * The end of a process is one more signal, and not to be argued with. By a descriptor, and not by
 * the kernel's parent-death signal: that one is sent when the parent's thread ends.
 */
static int watch_process(struct caller *caller, int pid)
{
    struct epoll_event signals = {.events = EPOLLIN, .data.fd = caller->events};
    struct epoll_event process = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = -1};
    int pidfd = (int)sys_call(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return pidfd;
    int events = epoll_create1(EPOLL_CLOEXEC);
    if (events < 0 || epoll_ctl(events, EPOLL_CTL_ADD, caller->events, &signals) < 0 ||
        epoll_ctl(events, EPOLL_CTL_ADD, pidfd, &process) < 0)
        return -errno;
    *caller = (struct caller){.events = events, .next = next_event};
    return 0;
}

int caller_watch(struct caller *caller, bool tty, int die_with, struct cordon_error *err)
{
    int r = watch_signals(caller, tty);
    if (r < 0)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, -r, "watch signals", "signalfd");
    r = die_with == 0 ? 0 : watch_process(caller, die_with);
    return r == 0 ? 0 : err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, -r, "watch the process of", "--die-with");
}
