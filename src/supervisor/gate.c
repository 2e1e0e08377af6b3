#include "supervisor/gate.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "listener/attempt.h"
#include "sys/files.h"
#include "sys/process.h"

/* The payload process asks once, for nothing but the answer. It may die instead. */
static void prove(struct fork_gate *gate, int payload)
{
    struct pollfd asked = {.fd = gate->listener, .events = POLLIN};
    for (;;) {
        const struct timespec while_ = {.tv_nsec = 100000000};
        siginfo_t info = {0};
        struct notify_call request;
        if (sys_call(SYS_ppoll, &asked, 1, &while_, 0, 0) > 0 && (asked.revents & POLLIN) != 0 &&
            layer_notify_next(gate->listener, &request) == 0) {
            layer_notify_answer(gate->listener, &request, -NOTIFY_PROOF);
            return;
        }
        if ((asked.revents & POLLHUP) != 0 ||
            sys_waitid(P_PID, payload, &info, WEXITED | WNOHANG | WNOWAIT, NULL) < 0 || info.si_pid != 0)
            return;
    }
}

void gate_open(struct fork_gate *gate, const struct spawn *spawn, int socket, int payload, int proc)
{
    const struct plan *plan = spawn->plan;
    gate->listener = layer_take_descriptor(socket);
    gate->proc = proc;
    gate->most = plan->gate_tasks < PLAN_GATE_TASKS_MAX ? plan->gate_tasks : PLAN_GATE_TASKS_MAX;
    gate->bound = 1; /* the payload itself */
    gate->undecided = false;
    gate->writes = spawn->listen_socket;
    gate->unnamed = &spawn->shared->unnamed;
    memset(&gate->granted, 0, sizeof gate->granted);
    if (gate->listener < 0) {
        gate->listener = -1;
        return;
    }
    layer_notify_tune(gate->listener);
    if (gate->writes >= 0)
        layer_pass_descriptors(gate->writes, &gate->listener, 1);
    if (plan->gate && plan->bwrap == NULL)
        prove(gate, payload);
}

static bool is_young(uint64_t at_us, uint64_t now_us)
{
    return now_us - at_us < PLAN_GATE_PENDING_MS * 1000;
}

/* A thread that is gone has forked, or never will. */
static bool is_pending(const struct gate_grants *g, unsigned slot, uint64_t now_us)
{
    const uint32_t task = g->each[slot].task;
    return task != 0 && is_young(g->each[slot].at_us, now_us) && sys_kill((int)task, 0) == 0;
}

/*
 * One place for each thread: that it asks again shows that its last fork has happened. Where more threads fork at
 * once than there are places, those that lose theirs are counted until the last of them is old: a fork waits a moment
 * longer then, but none is forgotten.
 */
void gate_grant(struct gate_grants *g, uint32_t task, uint64_t now_us)
{
    unsigned slot = 0;
    while (slot < GATE_PENDING && g->each[slot].task != task)
        slot++;
    if (slot == GATE_PENDING) {
        slot = g->next;
        g->next = (g->next + 1) % GATE_PENDING;
        if (is_pending(g, slot, now_us)) {
            g->crowd = (is_young(g->crowd_at_us, now_us) ? g->crowd : 0) + 1;
            if (g->crowd_at_us < g->each[slot].at_us)
                g->crowd_at_us = g->each[slot].at_us;
        }
    }
    g->each[slot].task = task;
    g->each[slot].at_us = now_us;
}

uint64_t gate_pending(const struct gate_grants *g, uint32_t asking, uint64_t now_us)
{
    uint64_t count = is_young(g->crowd_at_us, now_us) ? g->crowd : 0;
    for (unsigned i = 0; i < GATE_PENDING; i++)
        count += g->each[i].task != asking && is_pending(g, i, now_us);
    return count;
}

/* Who there was, as one number. */
static uint64_t shape_of(const struct descent *t)
{
    uint64_t shape = t->tasks;
    for (size_t i = 0; i < t->count; i++)
        shape = (shape ^ (unsigned)t->pids[i]) * UINT64_C(0x100000001b3);
    return shape;
}

enum room { ROOM_YES, ROOM_NO, ROOM_UNKNOWN };

/*
 * Counts only when the bound is reached: far from the limit a fork costs no walk. Who ends during a walk leaves its
 * children to somebody whose own were read before, and they are missed; so two walks must have seen the same. Since
 * nobody forks while this is undecided, sooner or later they do.
 */
static enum room room_for(struct fork_gate *gate, uint32_t asking)
{
    uint64_t shapes[2];
    if (gate->bound < gate->most)
        return ROOM_YES;
    for (int i = 0; i < 2; i++) {
        descent_read(&gate->descent, gate->proc);
        if (gate->descent.cut || gate->descent.tasks >= gate->most)
            return ROOM_NO;
        shapes[i] = shape_of(&gate->descent);
    }
    if (shapes[0] != shapes[1])
        return ROOM_UNKNOWN;
    gate->bound = gate->descent.tasks + gate_pending(&gate->granted, asking, sys_now_us());
    return gate->bound < gate->most ? ROOM_YES : ROOM_UNKNOWN;
}

static void decide(struct fork_gate *gate)
{
    const enum room room = room_for(gate, gate->asking.task);
    gate->undecided = room == ROOM_UNKNOWN;
    if (room == ROOM_UNKNOWN)
        return;
    if (room == ROOM_YES) {
        gate->bound++;
        gate_grant(&gate->granted, gate->asking.task, sys_now_us());
    }
    layer_notify_answer(gate->listener, &gate->asking, room == ROOM_YES ? 0 : -EAGAIN);
}

/* Whoever can take no more does not name it: the kernel decides in any case. */
static void hand_on(struct fork_gate *gate)
{
    static struct handed_call handed; /* large; init has one thread */
    handed.call = gate->asking;
    const size_t size = attempt_name(&handed);
    if (sys_call(SYS_sendto, gate->writes, &handed, size, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0) < 0) {
        ++*gate->unnamed;
        layer_notify_answer(gate->listener, &gate->asking, 0);
    }
}

bool gate_answer(struct fork_gate *gate)
{
    if (layer_notify_next(gate->listener, &gate->asking) < 0)
        return true; /* it was killed meanwhile */
    if (layer_exec_gate_is_exec(&gate->asking))
        return false;
    if (layer_notify_is_fork(&gate->asking))
        decide(gate);
    else
        hand_on(gate);
    return true;
}

const struct timespec *gate_pause(const struct fork_gate *gate, const struct timespec *longest)
{
    static const struct timespec soon = {.tv_nsec = 1000000};
    const bool sooner = longest == NULL || longest->tv_sec > 0 || longest->tv_nsec > soon.tv_nsec;
    return gate->undecided && sooner ? &soon : longest;
}

void gate_look(struct fork_gate *gate)
{
    if (gate->undecided)
        decide(gate);
}

void gate_shut(struct fork_gate *gate)
{
    sys_close(gate->listener); /* nobody listens: the kernel answers ENOSYS to all of them */
    gate->listener = -1;
}
