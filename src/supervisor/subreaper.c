/*
 * Init of the tier without namespaces: not pid 1 of anything, but the process to which every orphan
 * beneath it comes. It ends the tree by killing its children until it has none left, while no fork
 * is granted any more. Raw calls only.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include "layer/landlock.h"
#include "supervisor/admit.h"
#include "supervisor/gate.h"
#include "supervisor/init.h"
#include "supervisor/watch.h"
#include "sys/files.h"
#include "sys/process.h"

/* Init's own copy: it is a process with one thread. */
static struct fork_gate gate;
static struct admission admission;
static int list; /* of its children, open from the start: at the end the host may have no file left */

/*
 * The end. A child that dies leaves its children to us before it can be reaped, so after each one the
 * list is read again; when there is nobody to wait for, nothing is left of the tree.
 */
_Noreturn static void end_all(struct spawn *s, int payload, bool ended)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    gate_shut(&gate);
    for (;;) {
        siginfo_t info = {0};
        if (sys_waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == -ECHILD)
            break;
        if (!descent_signal_children(list, SIGKILL)) { /* who was not told to end is not waited for */
            sys_call(SYS_ppoll, 0, 0, &moment, 0, 0);
            continue;
        }
        if (sys_waitid(P_ALL, 0, &info, WEXITED | __WALL, NULL) == 0)
            ended = init_record(s, payload, &info) || ended;
    }
    if (s->bwrap != NULL && ended)
        admit_close(&admission, s);
    __atomic_or_fetch(&s->shared->proof, PROOF_EMPTY, __ATOMIC_RELAXED);
    __atomic_store_n(&s->shared->ended, ended, __ATOMIC_RELEASE);
    sys_exit(0);
}

/* To everybody. Numbers come round only after all others: within this moment they are those we saw. */
static void signal_tree(const struct spawn *s, int payload, int proc, int sig)
{
    descent_read(&gate.descent, proc);
    for (size_t i = 0; i < gate.descent.count; i++) {
        if (s->bwrap == NULL || gate.descent.pids[i] != payload) /* bwrap would take all others with it */
            sys_kill(gate.descent.pids[i], sig);
    }
}

static void answer(struct spawn *s, struct watch *watch)
{
    if (gate_answer(&gate))
        return;
    layer_notify_answer(gate.listener, &gate.asking, admit_exec(&admission, s, gate.listener, &gate.asking));
    if (admission.root >= 0) {
        sys_call(SYS_sched_yield); /* who got the answer was woken on this core, and what follows can wait */
        watch_places(watch, admission.root);
        admit_settle(&admission, s, &gate.asking);
    }
}

_Noreturn static void supervise(struct spawn *s, struct watch *watch, int payload, struct children *children, int proc)
{
    static const struct timespec none = {0};
    struct pollfd fds[3] = {{.fd = s->life, .events = POLLIN},
                            {.fd = children->fd, .events = POLLIN},
                            {.events = POLLIN}};
    for (;;) {
        struct timespec pause;
        fds[2].fd = gate.undecided ? -1 : gate.listener;
        const struct timespec *longest = gate_pause(&gate, watch_pause(watch, &pause));
        long r = sys_call(SYS_ppoll, fds, 3, children->left ? &none : longest, 0, 0);
        if (r < 0 && r != -EINTR)
            end_all(s, payload, false);
        if (r > 0 && (fds[0].revents & POLLIN) != 0) {
            unsigned char sig = 0;
            if (sys_read(s->life, &sig, 1) == 1 && sig == SIGKILL)
                end_all(s, payload, false);
            signal_tree(s, payload, proc, sig);
        } else if (r > 0 && (fds[0].revents & POLLHUP) != 0) {
            end_all(s, payload, false); /* the supervisor is gone */
        }
        if (init_reap(s, children, payload, r > 0 && (fds[1].revents & POLLIN) != 0))
            end_all(s, payload, true);
        gate_look(&gate);
        if (r > 0 && (fds[2].revents & POLLIN) != 0)
            answer(s, watch);
        else if (r > 0 && (fds[2].revents & (POLLHUP | POLLERR)) != 0)
            gate_shut(&gate); /* nobody is left to ask */
        enum limit_hit hit = watch_look(watch);
        if (hit != HIT_NONE) {
            s->shared->hit = hit;
            end_all(s, payload, false);
        }
    }
}

/* Who it is, where it counts, and to whom orphans go. */
static int become_init(struct spawn *s)
{
    int r = init_enter_cgroup(s);
    if (r == 0 && s->plan->switch_user)
        r = layer_identity_switch(s->plan, &s->shared->error);
    if (r < 0)
        return r;
    long rc = sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
    return rc < 0 ? init_fail(s, CORDON_LAYER_PROCESS, rc, "take orphans", "prctl") : 0;
}

static int build(struct spawn *s, int payload, int socket, int proc)
{
    uint32_t seen = 0;
    gate.listener = -1;
    if (socket >= 0)
        gate_open(&gate, s, socket, payload, proc);
    if (s->bwrap != NULL)
        admit_open(&admission, s->plan, proc);
    int r = s->ruleset < 0 ? 0 : layer_landlock_rules(s->plan, s->ruleset, &s->shared->error);
    if (r == 0 && s->bwrap == NULL) /* bwrap's exec waits for us by itself */
        r = init_wait_for_payload(s, payload);
    if (r < 0)
        return r;
    init_wipe_arguments(s);
    init_seal(s, &seen);
    seen |= s->bwrap == NULL && descent_shown(proc) ? (uint32_t)PROOF_SIGHT : 0;
    __atomic_or_fetch(&s->shared->proof, seen, __ATOMIC_RELAXED);
    return 0;
}

/* Where orphans are found and the tree is read. */
static int open_proc(struct spawn *s)
{
    int proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
    list = proc < 0 ? proc : descent_open_children(proc);
    if (list >= 0 && descent_signal_children(list, 0))
        return proc;
    return init_fail(s, CORDON_LAYER_PROCESS, list < 0 ? list : -ENOENT, "list children", "/proc");
}

/* bwrap's exec needs nothing from init, which waits for it: both would share one memory, and often one core. */
static int clone_payload(struct spawn *s, int *socket)
{
    const int flags = CLONE_VM | SIGCHLD | (s->bwrap != NULL ? CLONE_VFORK : 0);
    int pair[2] = {-1, -1};
    const bool gated = s->plan->gate || s->listen_socket >= 0;
    if (gated && sys_call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return init_fail(s, CORDON_LAYER_PROCESS, -EMFILE, "make a socket", "socketpair");
    s->gate_socket = pair[1];
    s->pid = (int)sys_call(SYS_getpid);
    int payload = clone(spawn_payload, s->stack + SPAWN_STACK, flags, s);
    if (payload < 0)
        return init_fail(s, CORDON_LAYER_PROCESS, -errno, "clone the payload process", "clone");
    sys_close(pair[1]);
    *socket = pair[0];
    return payload;
}

/* What init needs for itself comes after the clone: beside the payload process, and not in front of it. */
void subreaper_init(struct spawn *s)
{
    int socket = -1;
    sys_default_action(SIGCHLD);
    init_close_strangers(s);
    init_tie_to_supervisor(s);
    if (become_init(s) < 0)
        init_give_up(s, 0);
    init_create_ruleset(s);
    int payload = clone_payload(s, &socket);
    if (payload < 0)
        init_give_up(s, 0);
    init_leave_group();
    struct children children;
    init_watch_children(s, &children);
    int proc = open_proc(s);
    if (proc < 0 || build(s, payload, socket, proc) < 0)
        init_give_up(s, payload);
    sys_close(socket);
    struct watch watch;
    watch_start(&watch, s);
    latch_set(&s->shared->released, LATCH_OPEN);
    init_settle(s);
    supervise(s, &watch, payload, &children, proc);
}
