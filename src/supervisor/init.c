/*
 * Init, pid 1 of the sandbox: builds everything, releases the payload, reaps, watches, and is the
 * last one to leave. Outside of the Landlock domain, not dumpable, and without the caller's
 * environment, so that the payload has no way to it. Raw calls only.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "layer/landlock.h"
#include "layer/network.h"
#include "layer/notify.h"
#include "layer/privileges.h"
#include "supervisor/init.h"
#include "supervisor/spawn.h"
#include "supervisor/watch.h"
#include "sys/files.h"
#include "sys/process.h"

#define REAP_MAX 64 /* children in one round */

_Noreturn void init_give_up(struct spawn *s, int payload)
{
    s->shared->failed = true;
    if (payload > 0)
        sys_kill(payload, SIGKILL); /* the kernel does that, too, where there is a pid namespace */
    sys_exit(1);
}

int init_fail(struct spawn *s, enum cordon_layer layer, long r, const char *what, const char *subject)
{
    return err_set(&s->shared->error, CORDON_ERROR_SETUP, layer, (int)-r, what, subject);
}

/*
 * Everything that this run does not need is closed first: above all the life pipes of other runs
 * in the same process, which would keep each other alive.
 */
void init_close_strangers(const struct spawn *s)
{
    unsigned from = 3;
    for (size_t i = 0; i < s->keep_count; i++) {
        unsigned fd = (unsigned)s->keep[i];
        if (fd > from)
            sys_close_range(from, fd - 1, 0);
        from = fd >= from ? fd + 1 : from;
    }
    sys_close_range(from, ~0u, 0);
}

/*
 * Dies with the supervisor, whatever happens: either the signal was armed in time, or the pipe is
 * closed already. Both are looked at again after a change of uid, which clears the signal.
 */
void init_tie_to_supervisor(const struct spawn *s)
{
    struct pollfd life = {.fd = s->life};
    const struct timespec now = {0};
    if (s->death_signal && !plan_hosted(s->plan)) /* there init must live to end the others */
        sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
    if (sys_call(SYS_ppoll, &life, 1, &now, 0, 0) > 0 && (life.revents & POLLHUP) != 0)
        sys_exit(1);
}

static int become_user(struct spawn *s)
{
    if (!s->plan->switch_user)
        return layer_identity_map_self(&s->identity, &s->shared->error);
    while (latch_wait_a_moment(&s->shared->mapped) == LATCH_CLOSED)
        init_tie_to_supervisor(s);
    int r = layer_identity_switch(s->plan, &s->shared->error);
    init_tie_to_supervisor(s);
    return r;
}

int init_enter_cgroup(struct spawn *s)
{
    if (s->cgroup == NULL)
        return 0;
    long r = layer_cgroup_enter(s->cgroup, s->born_inside);
    if (r < 0)
        return init_fail(s, CORDON_LAYER_CGROUP, r, "enter the cgroup", "cgroup.procs");
    __atomic_or_fetch(&s->shared->proof, PROOF_CGROUP, __ATOMIC_RELAXED);
    return 0;
}

/* While the payload process makes the network namespace, the most expensive one. */
static int make_namespaces(struct spawn *s)
{
    long r = sys_call(SYS_unshare, layer_namespaces_of_init(s->plan));
    if (r < 0)
        return init_fail(s, CORDON_LAYER_NAMESPACES, r, "make namespaces", "unshare");
    latch_set(&s->shared->unshared, LATCH_OPEN);
    return 0;
}

/* Waits until the payload process is in all of its namespaces; it may have died instead. */
int init_wait_for_payload(struct spawn *s, int payload)
{
    siginfo_t info = {0};
    if (s->quick_end)
        latch_expect(&s->shared->joined);
    while (latch_wait_a_moment(&s->shared->joined) == LATCH_CLOSED) {
        if (sys_waitid(P_PID, payload, &info, WEXITED | WNOHANG | WNOWAIT, NULL) == 0 && info.si_pid != 0)
            return init_fail(s, CORDON_LAYER_PROCESS, -ESRCH, "start the payload process", "it was killed");
    }
    return latch_look(&s->shared->joined) == LATCH_OPEN ? 0 : -ECANCELED;
}

/*
 * A terminal's signals are the supervisor's to pass on. Not a session of its own: with that comes a group of the
 * scheduler's for each core, which takes longer to make than a mount.
 */
void init_leave_group(void)
{
    sys_call(SYS_setpgid, 0, 0);
}

void init_wipe_arguments(const struct spawn *s)
{
    if (s->plan->wipe && s->arguments.start != NULL) /* /proc/1/cmdline is for everybody to read */
        memset(s->arguments.start, 0, s->arguments.size);
}

/* Only when setns() and the id maps need it no more. The memory is the payload's too, until exec. */
void init_seal(struct spawn *s, uint32_t *seen)
{
    if (!s->plan->wipe)
        return;
    sys_prctl(PR_SET_DUMPABLE, 0, 0);
    if (sys_prctl(PR_GET_DUMPABLE, 0, 0) == 0)
        *seen |= PROOF_INIT_SEALED;
}

/* Init is not left in the host's network, and sees to the new one. */
static int join_network(struct spawn *s, int payload_fd, uint32_t *seen)
{
    long r = sys_call(SYS_setns, payload_fd, CLONE_NEWNET);
    if (r == -ESRCH && __atomic_load_n(&s->shared->payload_failed, __ATOMIC_ACQUIRE))
        return -ECANCELED; /* it has said why it is gone */
    return r < 0 ? init_fail(s, CORDON_LAYER_NETWORK, r, "join the network namespace", "setns")
                 : layer_network_settle(s->plan, seen, &s->shared->error);
}

/* The sandbox around the payload process, while that one prepares itself. */
static int build(struct spawn *s, int payload, int payload_fd)
{
    const struct plan *plan = s->plan;
    struct shared *shared = s->shared;
    uint32_t seen = 0;
    struct namespace_ids before;

    layer_namespaces_note(&before);
    int r = make_namespaces(s);
    if (r == 0 && !plan->switch_user)
        r = become_user(s);
    if (r < 0)
        return r;
    sys_call(SYS_sethostname, PLAN_HOSTNAME, sizeof PLAN_HOSTNAME - 1);
    struct layer_cover *cover = s->cover.hide == NULL ? NULL : &s->cover;
    r = layer_mounts_build(plan, s->trees, cover, &seen, &shared->error);
    if (r == 0)
        r = init_wait_for_payload(s, payload); /* before the roots change: it joins what was built */
    if (r == 0)
        r = layer_mounts_enter(cover, &seen, &shared->error);
    if (r == 0 && s->ruleset >= 0)
        r = layer_landlock_rules(plan, s->ruleset, &shared->error);
    if (r == 0 && plan->tty)
        r = terminal_make(&s->terminal, &shared->error);
    if (r < 0)
        return r;
    shared->root = layer_mounts_root();
    /* The maps could be written. */
    seen |= PROOF_USERNS | (sys_call(SYS_getpid) == 1 ? PROOF_PIDNS : 0);
    r = plan->netns ? join_network(s, payload_fd, &seen) : 0;
    if (r < 0)
        return r;
    /* What the payload joined in one call with the root that it compares, and what init joined. */
    if (plan->ipcns && layer_namespace_changed(&before, NS_IPC))
        seen |= PROOF_IPCNS;
    if (plan->netns && layer_namespace_changed(&before, NS_NET))
        seen |= PROOF_NETNS;
    layer_namespaces_forget(&before);
    init_seal(s, &seen);
    __atomic_or_fetch(&shared->proof, seen, __ATOMIC_RELAXED);
    return 0;
}

/*
 * The last process of a mount namespace pays for taking it apart, and the supervisor waits for
 * that. So the namespace gets another holder: a descriptor of it, inside a socket that is itself
 * inside that socket. When init is gone nobody can reach the ring, and the kernel's collector of
 * such rings takes it apart on its own time. Failure costs nothing but that time.
 */
void init_defer_teardown(int ns)
{
    int pair[2];
    if (ns < 0 || sys_call(SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    layer_pass_descriptors(pair[0], (const int[]){ns, pair[1]}, 2);
    sys_close(pair[0]);
    sys_close(ns);
}

/* Off the critical path, while the payload starts. */
void init_settle(struct spawn *s)
{
    uint32_t ignored = 0;
    sys_close_range(0, 2, 0);
    for (int i = 0; i < 3; i++) {
        if (i < 2 || s->bwrap == NULL) /* the payload gets it when bwrap has nothing more to say */
            sys_close(s->stdio[i]);
    }
    sys_close(s->ruleset);
    if (!s->plan->bare)
        sys_close(s->listen_socket);
    if (s->quick_end && !plan_hosted(s->plan))
        init_defer_teardown(sys_open(AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY, 0));
    /* It has nothing to lose: on failure init keeps rights that nobody can reach. */
    layer_no_new_privs(&ignored, NULL);
    if (s->cover.events < 0) /* else it must be able to mount */
        layer_capabilities_clear(&ignored, NULL); /* the bounding set is for those who exec */
}

static void signal_all(const struct spawn *s, int payload, int sig)
{
    /* In an own pid namespace -1 is everybody but init; without one it would be the host. */
    sys_kill(s->plan->pidns ? -1 : -payload, sig);
}

/*
 * Whether a child is gone. One that made init its tracer (PTRACE_TRACEME) has its stops reported like an
 * end, asked for or not: it is let go, with the signal that stopped it. SIGTRAP is the stop of an exec.
 */
static bool has_ended(const siginfo_t *info)
{
    if (info->si_code != CLD_TRAPPED)
        return true;
    int sig = info->si_status & 0x7f;
    sys_call(SYS_ptrace, PTRACE_DETACH, info->si_pid, 0, sig == SIGTRAP ? 0 : sig);
    return false;
}

bool init_record(struct spawn *s, int payload, const siginfo_t *info)
{
    if (!has_ended(info))
        return false;
    s->shared->processes++;
    if (info->si_pid == payload)
        s->shared->status = info->si_code == CLD_EXITED ? (info->si_status & 0xff) << 8 : info->si_status & 0x7f;
    return info->si_pid == payload;
}

bool init_reap(struct spawn *s, struct children *children, int payload, bool news)
{
    struct signalfd_siginfo ignored;
    bool ended = false;
    if (news) /* first: what ends from now on is told again */
        sys_read(children->fd, &ignored, sizeof ignored);
    children->left = children->left || news;
    for (int i = 0; children->left && i < REAP_MAX; i++) {
        siginfo_t info = {0};
        children->left = sys_waitid(P_ALL, 0, &info, WEXITED | WNOHANG, NULL) == 0 && info.si_pid != 0;
        ended = (children->left && init_record(s, payload, &info)) || ended;
    }
    return ended;
}

_Noreturn static void finish(struct spawn *s, int payload)
{
    siginfo_t info;
    /* Orphans are init's children: without any child nobody is left. To signal all would look at
     * every process of the host. */
    long r = sys_waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, NULL);
    if (!s->plan->pidns || r != -ECHILD)
        signal_all(s, payload, SIGKILL);
    do {
        r = sys_waitid(P_ALL, 0, &info, WEXITED, NULL);
        s->shared->processes += r == 0 && has_ended(&info);
    } while (s->plan->pidns && (r == 0 || r == -EINTR));
    __atomic_store_n(&s->shared->ended, true, __ATOMIC_RELEASE);
    sys_exit(0);
}

_Noreturn static void supervise(struct spawn *s, struct watch *watch, int payload, struct children *children)
{
    static const struct timespec none = {0};
    struct pollfd fds[3] = {{.fd = s->life, .events = POLLIN},
                            {.fd = children->fd, .events = POLLIN},
                            {.fd = s->cover.events, .events = POLLIN}};
    for (;;) {
        struct timespec pause;
        long r = sys_call(SYS_ppoll, fds, 3, children->left ? &none : watch_pause(watch, &pause), 0, 0);
        if (r < 0 && r != -EINTR)
            sys_exit(1); /* it cannot do its work: nothing may go on without it */
        if (r > 0 && (fds[0].revents & POLLIN) != 0) {
            unsigned char sig = 0;
            if (sys_read(s->life, &sig, 1) == 1)
                signal_all(s, payload, sig);
        } else if (r > 0 && (fds[0].revents & POLLHUP) != 0) {
            sys_exit(1); /* the supervisor is gone; the kernel ends the rest */
        }
        if (init_reap(s, children, payload, r > 0 && (fds[1].revents & POLLIN) != 0))
            finish(s, payload);
        if (r > 0 && (fds[2].revents & POLLIN) != 0)
            layer_cover_again(&s->cover);
        enum limit_hit hit = watch_look(watch);
        if (hit != HIT_NONE) {
            s->shared->hit = hit;
            signal_all(s, payload, SIGKILL);
        }
    }
}

void init_watch_children(struct spawn *s, struct children *children)
{
    static const uint64_t child_mask = 1 << (SIGCHLD - 1);
    int fd = (int)sys_call(SYS_signalfd4, -1, &child_mask, sizeof child_mask, SFD_CLOEXEC);
    if (fd < 0) {
        init_fail(s, CORDON_LAYER_PROCESS, fd, "watch children", "signalfd");
        init_give_up(s, 0);
    }
    *children = (struct children){.fd = fd};
}

void init_create_ruleset(struct spawn *s)
{
    s->ruleset = -1;
    if (s->plan->landlock_abi == 0)
        return;
    s->ruleset = layer_landlock_create(s->plan, &s->shared->error);
    if (s->ruleset < 0)
        init_give_up(s, 0);
}

/*
 * These pages are still the supervisor's, too, and the first write copies them. While the payload
 * process shares the memory, each copy would have to interrupt the other core.
 */
static __attribute__((noinline)) void own_the_stack(void)
{
    volatile char room[3 * 4096];
    for (size_t i = 0; i < sizeof room; i += 4096)
        room[i] = 0;
}

/* The kernel takes its time to return from this: the payload process looks for itself meanwhile. */
static int leave_old_root(struct spawn *s)
{
    int r = layer_mounts_leave(&s->shared->error);
    if (r < 0)
        return r;
    __atomic_or_fetch(&s->shared->proof, PROOF_MOUNTNS, __ATOMIC_RELAXED);
    latch_set(&s->shared->left, LATCH_OPEN);
    return 0;
}

_Noreturn static __attribute__((noinline)) void namespace_init(struct spawn *s)
{
    int payload_fd = -1;

    sys_default_action(SIGCHLD); /* a caller that ignores it would make children vanish unseen */
    init_close_strangers(s);
    init_tie_to_supervisor(s);
    if (init_enter_cgroup(s) < 0 || (s->plan->switch_user && become_user(s) < 0))
        init_give_up(s, 0);
    init_create_ruleset(s);
    init_wipe_arguments(s);
    own_the_stack();
    /* What signals do is one table for both, until exec: init resets it, which has the time. */
    const int flags = CLONE_VM | CLONE_SIGHAND | CLONE_PIDFD | SIGCHLD;
    int payload = clone(spawn_payload, s->stack + SPAWN_STACK, flags, s, &payload_fd);
    if (payload < 0) {
        init_fail(s, CORDON_LAYER_PROCESS, -errno, "clone the payload process", "clone");
        init_give_up(s, 0);
    }
    init_leave_group();
    sys_default_actions();
    if (build(s, payload, payload_fd) < 0)
        init_give_up(s, payload);
    struct children children;
    init_watch_children(s, &children);
    struct watch watch;
    watch_start(&watch, s);
    latch_set(&s->shared->released, LATCH_OPEN);
    if (leave_old_root(s) < 0)
        init_give_up(s, payload);
    watch_places(&watch, AT_FDCWD); /* nobody inside can move them */
    sys_close(payload_fd);
    init_settle(s);
    supervise(s, &watch, payload, &children);
}

void spawn_init(struct spawn *s)
{
    if (plan_hosted(s->plan))
        subreaper_init(s);
    namespace_init(s);
}
