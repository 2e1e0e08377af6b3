/*
 * What is due when: the deadline, the end of a grace, a look at the cpu time, at the listener and at who has the
 * terminal, a terminal's end of input. One timer for all.
 */
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/events.h"
#include "sys/process.h"

#define TICK_MIN_US 5000
#define TICK_MAX_US 100000
#define OBEY_US 10000000 /* for the end of the largest tree, by far */

void clock_set(struct supervisor *s)
{
    const uint64_t times[] = {s->deadline_us, s->kill_us, s->tick_us, s->listen_us, s->end_us, s->front_us};
    uint64_t next = 0;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (times[i] != 0 && (next == 0 || times[i] < next))
            next = times[i];
    }
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(next / 1000000),
                                           .tv_nsec = (long)(next % 1000000) * 1000}};
    timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

void clock_begin(struct supervisor *s)
{
    if (s->plan->wall_ms != POLICY_UNLIMITED)
        s->deadline_us = s->started_us + s->plan->wall_ms * 1000;
    if (s->plan->cgroup.cpu_usage)
        s->tick_us = s->started_us + TICK_MIN_US;
    if (s->deadline_us != 0 || s->tick_us != 0 || s->listen_us != 0)
        clock_set(s);
}

void clock_ask_to_end(struct supervisor *s, int sig)
{
    unsigned char byte = (unsigned char)sig;
    if (s->plan->grace_ms == 0 || fd_write_quietly(s->spawn.control, &byte, 1) != 1)
        supervisor_kill(s);
    else
        s->kill_us = sys_now_us() + s->plan->grace_ms * 1000;
}

void clock_give_time(struct supervisor *s)
{
    s->kill_us = sys_now_us() + OBEY_US;
    clock_set(s);
}

/* The end of politeness; or init has not done what it was told, and without it nobody else would be waited for. */
static void end_now(struct supervisor *s)
{
    s->kill_us = 0;
    if (!s->killed)
        supervisor_kill(s);
    else if (s->spawn.pidfd >= 0)
        sys_kill_child(s->spawn.pidfd, s->spawn.pid);
}

static void look_at_cpu(struct supervisor *s, uint64_t now)
{
    uint64_t used = 0;
    const uint64_t most = s->plan->cpu_ms * 1000;
    const int r = layer_cgroup_cpu(&s->cgroup, &used);
    if (r < 0) /* which is not "little" */
        supervisor_fail(s, -r, "watch memory and cpu time", "the cgroup");
    s->cpu_hit = used >= most;
    if (r < 0 || s->cpu_hit) {
        supervisor_kill(s);
        s->tick_us = 0;
        return;
    }
    uint64_t left = (most - used) / s->plan->host->cores;
    s->tick_us = now + (left < TICK_MIN_US ? TICK_MIN_US : left > TICK_MAX_US ? TICK_MAX_US : left);
}

void clock_look(struct supervisor *s)
{
    uint64_t expirations;
    ssize_t ignored = read(s->timer, &expirations, sizeof expirations);
    (void)ignored;
    const uint64_t now = sys_now_us();
    if (s->kill_us != 0 && now >= s->kill_us)
        end_now(s);
    if (s->deadline_us != 0 && now >= s->deadline_us) {
        s->deadline_us = 0;
        s->timed_out = true;
        clock_ask_to_end(s, SIGTERM);
    }
    if (s->tick_us != 0 && now >= s->tick_us)
        look_at_cpu(s, now);
    if (s->listen_us != 0 && now >= s->listen_us)
        listening_look(s, now);
    if (s->end_us != 0 && now >= s->end_us)
        input_end_again(s, now);
    if (s->front_us != 0 && now >= s->front_us)
        input_pump(s);
    clock_set(s);
}
