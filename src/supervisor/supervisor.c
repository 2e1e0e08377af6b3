#include "supervisor/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/events.h"
#include "supervisor/verdict.h"
#include "sys/process.h"

int supervisor_fail(struct supervisor *s, int errnum, const char *what, const char *subject)
{
    return err_set(&s->result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, errnum, what, subject);
}

bool supervisor_arm(struct supervisor *s, int fd, unsigned tag, uint32_t events, bool *armed, bool want)
{
    struct epoll_event event = {.events = events, .data.u32 = tag};
    if (fd < 0 || *armed == want)
        return true;
    if (epoll_ctl(s->epoll, want ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event) < 0 && want) {
        if (errno == ENOMEM || errno == ENOSPC) { /* what is not heard of would be waited for without end */
            supervisor_fail(s, errno, "wait for events", "epoll_ctl");
            supervisor_kill(s);
        }
        return false;
    }
    *armed = want;
    return true;
}

bool supervisor_hear(struct supervisor *s, int fd, unsigned tag, uint32_t events)
{
    bool armed = false;
    return supervisor_arm(s, fd, tag, events, &armed, true);
}

static void look_at_signals(struct supervisor *s)
{
    const int sig = s->wishes.next_signal(s->wishes.signals);
    if (sig <= 0)
        return;
    if (s->init_gone) { /* it has ended already, by itself: only the output is still on its way */
        s->impatient = true;
        for (unsigned i = 0; i < 2; i++)
            output_drain(s, i);
        return;
    }
    if (s->result->caller_signal != 0) {
        supervisor_kill(s); /* asked twice: no more patience */
        return;
    }
    s->result->caller_signal = sig;
    clock_ask_to_end(s, sig);
    clock_set(s);
}

static void reap_init(struct supervisor *s)
{
    siginfo_t info;
    struct rusage usage = {0};
    long r;
    while ((r = sys_waitid(P_PIDFD, s->spawn.pidfd, &info, WEXITED | __WALL, &usage)) == -EINTR) {
    }
    if (r < 0)
        return;
    s->init_gone = true;
    s->init_signal = info.si_code == CLD_EXITED ? 0 : info.si_status & 0x7f;
    s->ended_us = sys_now_us();
    s->impatient = s->timed_out || s->result->caller_signal != 0;
    s->deadline_us = s->kill_us = s->tick_us = s->end_us = s->front_us = 0; /* what comes now is not the payload's time */
    listening_last(s);
    s->cpu_us = sys_cpu_us(&usage);
    s->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    fd_close(&s->spawn.pidfd);
    output_take_terminal(s);
    if (supervisor_released(s))
        input_close(s);
    for (unsigned i = 0; i < 2; i++)
        output_drain(s, i);
}

void supervisor_kill(struct supervisor *s)
{
    static const unsigned char order = SIGKILL;
    const bool again = s->killed;
    s->killed = true;
    if (s->spawn.pidfd < 0)
        return;
    if (plan_hosted(s->plan)) { /* init ends the others, then itself; somebody may have stopped it */
        if (!again)
            clock_give_time(s);
        sys_pidfd_signal(s->spawn.pidfd, SIGCONT);
        if (fd_write_quietly(s->spawn.control, &order, 1) == 1)
            return;
    }
    sys_kill_child(s->spawn.pidfd, s->spawn.pid); /* the kernel ends the whole pid namespace */
}

static int open_events(struct supervisor *s)
{
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->epoll < 0 || s->timer < 0)
        return supervisor_fail(s, errno, "wait for events", "epoll");
    const bool ok = supervisor_hear(s, s->timer, TAG_TIMER, EPOLLIN) &&
                    supervisor_hear(s, s->wishes.signals, TAG_SIGNALS, EPOLLIN);
    return ok ? 0 : supervisor_fail(s, errno, "wait for events", "epoll_ctl");
}

static int prepare_cgroup(struct supervisor *s)
{
    int r = layer_cgroup_prepare(&s->cgroup, &s->plan->host->cgroup, &s->plan->cgroup, &s->result->error);
    const uint32_t events = layer_cgroup_oom_events(&s->cgroup) == POLLPRI ? EPOLLPRI : EPOLLIN;
    if (r == 0 && !supervisor_hear(s, layer_cgroup_oom_fd(&s->cgroup), TAG_OOM, events))
        r = supervisor_fail(s, errno, "wait for events", "epoll_ctl");
    return r;
}

/* Root, guard mode: where owners cannot be mapped the command has less than it was promised. */
static int refuse_unmapped(struct supervisor *s)
{
    struct cordon_error *err = &s->result->error;
    if (!s->trees.partial || s->plan->policy->allow_partial)
        return 0;
    err_set(err, CORDON_ERROR_PARTIAL, CORDON_LAYER_MOUNTS, 0, "map the owners of", s->trees.unmapped);
    err_why(err, "its file system has no id-mapped mounts, so that files of root are not the command's own there");
    err_remedy(err, "run as an ordinary user; --allow-partial runs without it and says so in the result");
    return -EOPNOTSUPP;
}

/*
 * The kernel looks for unreachable sockets when one is closed. This pair is closed when the run is
 * over, mostly by the end of this process, and then it finds init's ring.
 */
static void nudge_collector(struct supervisor *s)
{
    if (s->wishes.quick_end && s->nudge[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, s->nudge) < 0)
        s->nudge[0] = s->nudge[1] = -1;
}

/* What each attempt has of its own. */
static int prepare(struct supervisor *s)
{
    const struct plan *plan = s->plan;
    struct cordon_error *err = &s->result->error;
    int r = plan->use_cgroup ? prepare_cgroup(s) : 0;
    if (r == 0 && plan->work_dir != NULL)
        r = layer_workdir_make(&s->workdir, plan->work_dir, plan->uid_host, plan->gid_host, err);
    if (r == 0 && plan->bwrap != NULL)
        r = layer_bwrap_open(&s->bwrap, plan, err);
    if (r == 0 && !plan_hosted(plan))
        r = layer_trees_prepare(&s->trees, plan->arena, plan, err);
    if (r == 0 && !plan->bare)
        r = layer_hide_prepare(&s->hide, plan->arena, plan, err);
    if (r == 0)
        r = layer_cover_prepare(&s->spawn.cover, plan->arena, &s->hide, err);
    if (r == 0)
        r = refuse_unmapped(s);
    if (r == 0 && plan->listen)
        r = listener_start(&s->listener, plan, plan->bare ? -1 : s->trees.project, err);
    for (unsigned i = 0; r == 0 && i < 2; i++)
        r = channels_open_output(s, i);
    return r == 0 && plan->tty ? channels_open_terminal(s) : r;
}

/* While the children begin. They have the descriptors, too, and are the ones to close them last. */
static int word_bwrap(struct supervisor *s)
{
    int r = layer_bwrap_fill(&s->bwrap, s->plan, &s->result->error);
    latch_set(&s->spawn.shared->worded, r == 0 ? LATCH_OPEN : LATCH_FAILED);
    layer_bwrap_release(&s->bwrap);
    return r;
}

/* The end of init, and the listener. */
static bool hear(struct supervisor *s)
{
    return supervisor_hear(s, s->spawn.pidfd, TAG_INIT, EPOLLIN) && (!s->plan->listen || listening_begin(s));
}

static int attempt(struct supervisor *s)
{
    const struct plan *plan = s->plan;
    int r = prepare(s);
    if (r == 0) {
        s->spawn.plan = plan;
        s->spawn.cgroup = plan->use_cgroup ? &s->cgroup : NULL;
        s->spawn.bwrap = plan->bwrap != NULL ? &s->bwrap : NULL;
        s->spawn.trees = s->trees.of_step != NULL ? &s->trees : NULL;
        s->spawn.death_signal = s->wishes.death_signal;
        s->spawn.quick_end = s->wishes.quick_end;
        s->spawn.listen_socket = s->listener.socket;
        s->spawn.arguments.start = s->wishes.arguments;
        s->spawn.arguments.size = s->wishes.arguments_size;
        r = spawn_start(&s->spawn, &s->result->error);
        if (r == 0 && plan->bwrap != NULL)
            r = word_bwrap(s);
        if (r == 0 && !hear(s))
            r = -ENOMEM;
    }
    fd_close(&s->spawn.stdio[1]);
    fd_close(&s->spawn.stdio[2]);
    fd_close(&s->spawn.terminal.socket);
    fd_close(&s->listener.socket);
    layer_trees_release(&s->trees);
    if (r < 0) {
        if (s->spawn.pidfd >= 0) {
            supervisor_kill(s);
            reap_init(s);
            s->killed = false; /* not for a limit, nor for the caller */
        }
        return r;
    }

    clock_begin(s);
    nudge_collector(s);
    /* While the children begin: */
    if (plan->use_cgroup)
        layer_cgroup_sweep(&s->plan->host->cgroup);
    if (s->wishes.ledger)
        ledger_word(&s->result->ledger, plan);
    return 0;
}

int supervisor_start(struct supervisor *s, const struct plan *plan, const struct run_wishes *wishes,
                     struct result *result)
{
    *s = (struct supervisor){.plan = plan,
                             .wishes = *wishes,
                             .result = result,
                             .cgroup = LAYER_CGROUP_INIT,
                             .workdir = LAYER_WORKDIR_INIT,
                             .bwrap = LAYER_BWRAP_INIT,
                             .listener = LISTENER_INIT,
                             .trees = LAYER_TREES_INIT,
                             .epoll = -1,
                             .timer = -1,
                             .terminal = -1,
                             .nudge = {-1, -1}};
    s->input.from = s->input.own = s->input.to = -1;
    s->spawn = (struct spawn){.plan = plan, .stdio = {-1, -1, -1}, .pidfd = -1, .control = -1, .life = -1,
                              .listen_socket = -1, .terminal = {.socket = -1}};
    for (int i = 0; i < 2; i++)
        s->streams[i] = (struct stream){.from = -1, .to = -1, .out = -1};
    s->started_us = sys_now_us();
    if (plan->tty) /* now: the caller may change its own when this returns */
        terminal_like(&s->spawn.terminal, wishes->input, wishes->output[0]);
    planted_note(&s->planted, plan);
    int r = open_events(s);
    if (r == 0)
        r = channels_open_input(s);
    if (r == 0)
        r = attempt(s);
    if (r == 0)
        input_begin(s);
    return r;
}

/* What would outlive this process. The listener was born where the cgroup layer stepped aside: its group goes after it. */
static void leave_host(struct supervisor *s)
{
    listener_release(&s->listener);
    layer_cgroup_release(&s->cgroup);
    layer_workdir_remove(&s->workdir);
}

/* What an attempt leaves; input, events and the clock go on. */
static void release_attempt(struct supervisor *s)
{
    for (int i = 0; i < 2; i++)
        stream_close(&s->streams[i]);
    fd_close(&s->spawn.pidfd);
    fd_close(&s->spawn.control);
    fd_close(&s->spawn.life);
    fd_close(&s->terminal);
    if (s->spawn.shared != NULL)
        munmap(s->spawn.shared, sizeof *s->spawn.shared);
    s->spawn.shared = NULL;
    if (s->spawn.stack != NULL)
        munmap(s->spawn.stack, SPAWN_STACK);
    s->spawn.stack = NULL;
    layer_bwrap_release(&s->bwrap);
    leave_host(s);
}

const struct cordon_error *supervisor_failure(const struct supervisor *s)
{
    const struct shared *shared = s->spawn.shared;
    if (s->killed || s->result->caller_signal != 0 || (shared != NULL && shared->executing))
        return NULL;
    if (s->result->error.kind != CORDON_ERROR_NONE)
        return &s->result->error;
    if (shared != NULL && shared->failed && shared->error.kind != CORDON_ERROR_NONE)
        return &shared->error;
    return shared != NULL && shared->payload_failed ? &shared->payload_error : NULL;
}

void supervisor_forget(struct supervisor *s)
{
    if (s->spawn.shared != NULL)
        s->spawn.shared->failed = s->spawn.shared->payload_failed = false;
    s->result->error = (struct cordon_error){0};
}

int supervisor_again(struct supervisor *s)
{
    release_attempt(s);
    s->cgroup = LAYER_CGROUP_INIT;
    s->init_gone = s->killed = false;
    int r = attempt(s);
    if (r == 0) /* if the first attempt did not get as far */
        input_begin(s);
    return r;
}

static void handle(struct supervisor *s, unsigned tag)
{
    switch (tag) {
    case TAG_INIT:
        if (!s->init_gone)
            reap_init(s);
        return;
    case TAG_TIMER:
        clock_look(s);
        return;
    case TAG_SIGNALS:
        look_at_signals(s);
        return;
    case TAG_OOM:
        if (layer_cgroup_oom_seen(&s->cgroup)) {
            s->oom = true;
            supervisor_kill(s);
        }
        return;
    case TAG_TERMINAL:
        output_take_terminal(s);
        return;
    case TAG_LISTENER:
        if (s->listener.pidfd >= 0)
            listening_lose(s);
        return;
    case TAG_VIOLATION:
        if (s->listener.pidfd >= 0)
            listening_tell(s);
        return;
    case TAG_FROM:
    case TAG_FROM + 1:
        output_read(s, tag - TAG_FROM);
        return;
    case TAG_SINK:
    case TAG_SINK + 1:
        stream_write(&s->streams[tag - TAG_SINK]);
        output_update(s, tag - TAG_SINK);
        if (s->init_gone)
            output_drain(s, tag - TAG_SINK);
        return;
    default:
        if (s->input.to >= 0)
            input_pump(s);
        return;
    }
}

bool supervisor_step(struct supervisor *s, bool wait)
{
    struct epoll_event events[8];
    int n = epoll_wait(s->epoll, events, 8, wait ? -1 : 0);
    for (int i = 0; i < n; i++)
        handle(s, events[i].data.u32);
    if (!s->init_gone || s->listener.pidfd >= 0)
        return false;
    for (int i = 0; i < 2; i++) {
        if (s->streams[i].from >= 0 || stream_pending(&s->streams[i]))
            return false;
    }
    return true;
}

int supervisor_lost_output(const struct supervisor *s)
{
    for (int i = 0; i < 2; i++) {
        int errnum = s->streams[i].error;
        if (errnum != 0 && errnum != EPIPE && errnum != ECONNRESET)
            return errnum;
    }
    return 0;
}

void supervisor_conclude(struct supervisor *s)
{
    struct result *result = s->result;
    if (s->plan->use_cgroup) {
        struct cgroup_usage usage;
        if (layer_cgroup_usage(&s->cgroup, &usage) == 0) {
            if (usage.cpu_usec != CGROUP_UNKNOWN)
                s->cpu_us = usage.cpu_usec;
            if (usage.mem_peak_bytes != CGROUP_UNKNOWN)
                s->max_rss_bytes = usage.mem_peak_bytes;
        }
        s->oom = s->oom || layer_cgroup_oom_seen(&s->cgroup);
    }
    result->duration_ms = (sys_now_us() - s->started_us) / 1000;
    verdict(s, result);
    leave_host(s);
}

void supervisor_finish(struct supervisor *s)
{
    supervisor_conclude(s);
    release_attempt(s);
    fd_close(&s->spawn.stdio[0]);
    fd_close(&s->input.own);
    fd_close(&s->input.to);
    free(s->input.pending);
    fd_close(&s->epoll);
    fd_close(&s->timer);
    fd_close(&s->nudge[0]);
    fd_close(&s->nudge[1]);
}
