#include "supervisor/gate.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "layer/fork_gate.h"
#include "sys/files.h"
#include "sys/process.h"

/* The payload process asks once, for nothing but the answer. It may die instead. */
static void prove(struct fork_gate *gate, int payload)
{
    struct pollfd asked = {.fd = gate->listener, .events = POLLIN};
    for (;;) {
        const struct timespec while_ = {.tv_nsec = 100000000};
        siginfo_t info = {0};
        struct fork_request request;
        if (sys_call(SYS_ppoll, &asked, 1, &while_, 0, 0) > 0 && (asked.revents & POLLIN) != 0 &&
            layer_fork_gate_next(gate->listener, &request) == 0) {
            layer_fork_gate_answer(gate->listener, &request, -FORK_GATE_PROOF);
            return;
        }
        if ((asked.revents & POLLHUP) != 0 ||
            sys_waitid(P_PID, payload, &info, WEXITED | WNOHANG | WNOWAIT, NULL) < 0 || info.si_pid != 0)
            return;
    }
}

void gate_open(struct fork_gate *gate, const struct plan *plan, int socket, int payload, int proc)
{
    const uint64_t most = plan->gate_tasks;
    gate->listener = layer_take_descriptor(socket);
    gate->proc = proc;
    gate->most = most < TREE_MAX ? most : TREE_MAX;
    gate->bound = 1; /* the payload itself */
    gate->next = 0;
    memset(gate->granted, 0, sizeof gate->granted);
    if (gate->listener < 0) {
        gate->listener = -1;
        return;
    }
    layer_fork_gate_tune(gate->listener);
    prove(gate, payload);
}

/* Forks that were granted a moment ago may be on their way still; one of the asking thread is not. */
static uint64_t pending(const struct fork_gate *gate, uint32_t asking)
{
    const uint64_t now = sys_now_us();
    uint64_t count = 0;
    for (unsigned i = 0; i < GATE_PENDING; i++) {
        if (gate->granted[i].at_us != 0 && gate->granted[i].task != asking &&
            now - gate->granted[i].at_us < PLAN_GATE_PENDING_MS * 1000)
            count++;
    }
    return count;
}

/* Counts only when the bound is reached: far from the limit a fork costs no walk. */
static bool room_for(struct fork_gate *gate, uint32_t asking)
{
    if (gate->bound >= gate->most) {
        tree_read(&gate->tree, gate->proc);
        gate->bound = gate->tree.cut ? gate->most : gate->tree.tasks + pending(gate, asking);
    }
    return gate->bound < gate->most;
}

/* One place for each thread: that it asks again shows that its last fork has happened. */
static void remember(struct fork_gate *gate, uint32_t task)
{
    unsigned slot = 0;
    while (slot < GATE_PENDING && gate->granted[slot].task != task)
        slot++;
    if (slot == GATE_PENDING) {
        slot = gate->next;
        gate->next = (gate->next + 1) % GATE_PENDING;
    }
    gate->granted[slot].task = task;
    gate->granted[slot].at_us = sys_now_us();
}

void gate_answer(struct fork_gate *gate)
{
    struct fork_request request;
    if (layer_fork_gate_next(gate->listener, &request) < 0)
        return; /* it was killed meanwhile */
    if (!room_for(gate, request.task)) {
        layer_fork_gate_answer(gate->listener, &request, -EAGAIN);
        return;
    }
    gate->bound++;
    remember(gate, request.task);
    layer_fork_gate_answer(gate->listener, &request, 0);
}

void gate_shut(struct fork_gate *gate)
{
    sys_close(gate->listener); /* nobody listens: the kernel answers ENOSYS to all of them */
    gate->listener = -1;
}
