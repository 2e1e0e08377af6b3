/*
 * The payload process: it shares init's memory until exec, runs beside it, and is released by it.
 * Raw calls only.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "layer/exec_gate.h"
#include "layer/landlock.h"
#include "layer/network.h"
#include "layer/notify.h"
#include "layer/privileges.h"
#include "layer/seccomp.h"
#include "supervisor/init.h"
#include "sys/files.h"
#include "sys/process.h"

/* Where they wait, right behind standard error. */
#define RULESET_FD 3
#define LISTEN_FD 4

#define LOOKS 100 /* a fraction of a millisecond */

/* `payload_error` is filled by now; wake init, which may wait for this process. */
_Noreturn static void give_up(struct spawn *s)
{
    s->shared->payload_failed = true;
    latch_set(&s->shared->joined, LATCH_FAILED);
    sys_exit(1);
}

static int fail(struct spawn *s, long r, const char *what, const char *subject)
{
    return err_set(&s->shared->payload_error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, (int)-r, what, subject);
}

/* `fd` at a place of its own; the others are closed. Another one that lies there was moved before. */
static long move(int *fd, int place)
{
    if (*fd < 0 || *fd == place)
        return 0;
    long r = sys_call(SYS_dup3, *fd, place, O_CLOEXEC);
    *fd = place;
    return r;
}

/* What the payload process needs until exec. */
struct tools {
    int ruleset;       /* -1: none */
    int listen_socket; /* -1: none */
};

static int arrange_standard(struct spawn *s, const int stdio[3])
{
    for (int i = 0; i < 3; i++) {
        long r = sys_call(SYS_dup3, stdio[i], i, 0);
        if (r < 0)
            return fail(s, r, "hand over standard streams", "dup3");
    }
    return 0;
}

/* Init is held until the exec, so that the end of the supervisor is this process's to see. */
static void wait_for_words(struct spawn *s)
{
    while (latch_wait_a_moment(&s->shared->worded) == LATCH_CLOSED)
        init_tie_to_supervisor(s);
    if (latch_look(&s->shared->worded) != LATCH_OPEN)
        sys_exit(1); /* the supervisor knows why */
}

/* bwrap's descriptors follow the standard ones; what it says is kept apart from the payload's words. */
static int arrange_for_bwrap(struct spawn *s)
{
    const int stdio[3] = {s->stdio[0], s->stdio[1], s->bwrap->messages};
    const int count = (int)s->bwrap->count;
    int moved[BWRAP_MAX_FDS];
    wait_for_words(s);
    long r = arrange_standard(s, stdio);
    if (r < 0)
        return (int)r;
    for (int i = 0; r >= 0 && i < count; i++) /* out of the way of each other first */
        r = moved[i] = (int)sys_call(SYS_fcntl, s->bwrap->fds[i], F_DUPFD_CLOEXEC, BWRAP_FIRST_FD + count);
    for (int i = 0; r >= 0 && i < count; i++)
        r = sys_call(SYS_dup3, moved[i], BWRAP_FIRST_FD + i, 0);
    if (r >= 0)
        r = sys_close_range((unsigned)(BWRAP_FIRST_FD + count), ~0u, 0);
    return r < 0 ? fail(s, r, "hand over descriptors", s->plan->bwrap) : 0;
}

/* Only 0 to 2, the ruleset and the socket stay; 0 to 2 are the pipes. */
static int arrange_descriptors(struct spawn *s, struct tools *tools)
{
    long r = arrange_standard(s, s->stdio);
    if (r < 0)
        return (int)r;
    if (tools->listen_socket == RULESET_FD) /* not where the ruleset goes */
        r = tools->listen_socket = (int)sys_call(SYS_fcntl, RULESET_FD, F_DUPFD_CLOEXEC, LISTEN_FD + 1);
    if (r >= 0)
        r = move(&tools->ruleset, RULESET_FD);
    if (r >= 0)
        r = move(&tools->listen_socket, LISTEN_FD);
    if (r >= 0 && tools->ruleset < 0)
        sys_close(RULESET_FD);
    if (r >= 0)
        r = sys_close_range(tools->listen_socket >= 0 ? LISTEN_FD + 1 : LISTEN_FD, ~0u, 0);
    return r < 0 ? fail(s, r, "close descriptors", "close_range") : 0;
}

/* What the caller changed for itself is not the payload's business. */
static void reset_attributes(const struct plan *plan)
{
    if (plan_hosted(plan)) /* else init's table is this process's, too */
        sys_default_actions();
    static const int no_priority = 0;
    sys_call(SYS_sched_setscheduler, 0, SCHED_OTHER, &no_priority); /* else nobody who watches it would get his turn */
    sys_call(SYS_setpriority, PRIO_PROCESS, 0, 0); /* an ordinary user cannot go back down */
    sys_call(SYS_umask, 022);
}

/* Around bwrap execs ask init from now on: the listener goes to it, and no copy stays. */
static uint32_t enter_exec_gate(struct spawn *s)
{
    uint32_t seen = 0;
    layer_no_new_privs(&seen, NULL);
    int listener = layer_exec_gate_install();
    long r = listener < 0 ? listener : layer_pass_descriptors(s->gate_socket, &listener, 1);
    sys_close(listener);
    return r == 0 && layer_exec_gate_proven() ? PROOF_GATE : 0;
}

/* Elsewhere forks do. */
static uint32_t enter_gate(struct spawn *s)
{
    const struct plan *plan = s->plan;
    uint32_t seen = 0;
    layer_no_new_privs(&seen, NULL);
    /* There can be one filter of this kind: what the listener of guard mode wants goes the same way. */
    int listener = layer_notify_install((plan->gate ? LISTEN_FORKS : 0u) | (plan->listen ? LISTEN_WRITES : 0u));
    if (listener < 0)
        return 0; /* below somebody else's: init learns it when the socket closes */
    long r = layer_pass_descriptors(s->gate_socket, &listener, 1);
    sys_close(listener);
    return r == 0 && plan->gate && layer_notify_forks_proven() ? PROOF_GATE : 0;
}

/*
 * The last act before exec: from now on calls that would write wait for the listener. Without one the
 * kernel refuses them all the same, but nobody names them.
 */
static uint32_t join_listener(struct spawn *s, int socket)
{
    long r = 0;
    if (!s->plan->bare) {
        int listener = layer_notify_install(LISTEN_WRITES);
        r = listener < 0 ? listener : layer_pass_descriptors(socket, &listener, 1);
        sys_close(listener);
    }
    sys_close(socket);
    if (r == 0 && layer_notify_writes_proven())
        return PROOF_LISTENER;
    s->shared->listen_errno = r < 0 ? (int)-r : ENOSYS;
    return 0;
}

/* The namespaces that init makes meanwhile. By its pidfd: it is the parent, and dumpable until then. */
static int join_init(struct spawn *s)
{
    latch_wait(&s->shared->unshared); /* should init die, so does this process */
    const long parent = sys_call(SYS_getppid);
    const long init = parent == 0 ? -ESRCH : sys_call(SYS_pidfd_open, parent, 0);
    const long r = init < 0 ? init : sys_call(SYS_setns, init, layer_namespaces_of_init(s->plan));
    sys_close((int)init);
    if (r == -ESRCH) /* it has been killed, and this process is next: not a failure to report */
        sys_exit(1);
    return r < 0 ? err_set(&s->shared->payload_error, CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, (int)-r,
                           "join namespaces", init < 0 ? "pidfd_open" : "setns")
                 : 0;
}

static int leave_keys(struct spawn *s, uint32_t *seen)
{
    if (!s->plan->keyring)
        return 0;
    int r = layer_keyring_apply(seen, &s->shared->payload_error);
    if (r == 1 && s->plan->seccomp == SECCOMP_OFF)
        return fail(s, -EDQUOT, "join a new session keyring", "keyctl");
    if (r == 1) { /* keyctl() is not on the filter's list: nothing can be read */
        s->shared->keys_shared = true;
        *seen |= PROOF_KEYRING;
    }
    return r < 0 ? r : 0;
}

/* A network namespace of its own, and all others with init. */
static int enter_namespaces(struct spawn *s, uint32_t seen)
{
    if (s->bwrap != NULL && (seen & PROOF_GATE) == 0)
        return fail(s, -EBUSY, "watch what bwrap does", "another listener is above this process");
    if (plan_hosted(s->plan))
        return 0;
    int r = layer_network_make(s->plan, &s->shared->payload_error);
    return r < 0 ? r : join_init(s);
}

static int load_filter(struct spawn *s, uint32_t *seen)
{
    const struct sock_fprog *filter = layer_seccomp_of_plan(s->plan);
    if (filter == NULL)
        return 0;
    long r = layer_seccomp_load(filter);
    if (r < 0)
        return err_set(&s->shared->payload_error, CORDON_ERROR_SETUP, CORDON_LAYER_SECCOMP, (int)-r, "load the filter",
                       "seccomp");
    if (layer_seccomp_proven(filter))
        *seen |= PROOF_SECCOMP;
    return 0;
}

/* Everything that it could do and the payload must not. */
static int give_up_rights(struct spawn *s, uint32_t *seen)
{
    const struct plan *plan = s->plan;
    struct cordon_error *err = &s->shared->payload_error;
    int r = 0;
    if (s->bwrap == NULL) /* there init sets them, when bwrap has done its part */
        r = layer_rlimits_apply(plan, 0, seen, err);
    if (r == 0)
        r = leave_keys(s, seen);
    if (r == 0)
        r = layer_no_new_privs(seen, err);
    if (plan->deny_memfd)
        layer_small_pages(seen);
    if (r == 0 && plan->drop_caps && !plan_hosted(plan))
        r = layer_bounding_set_drop(seen, err);
    if (r == 0 && plan->drop_caps)
        r = layer_capabilities_clear(seen, err);
    return r == 0 && s->bwrap == NULL ? load_filter(s, seen) : r; /* bwrap loads it itself */
}

/* Steps that need nothing from init, and run while it mounts. */
static int prepare(struct spawn *s, struct tools *tools)
{
    struct shared *shared = s->shared;
    uint32_t seen = s->gate_socket < 0 ? 0 : s->bwrap != NULL ? enter_exec_gate(s) : enter_gate(s);

    int r = enter_namespaces(s, seen);
    if (r < 0)
        return r;
    __atomic_or_fetch(&shared->proof, seen, __ATOMIC_RELAXED);
    latch_set(&shared->joined, LATCH_OPEN);

    long sid = sys_call(SYS_setsid);
    if (sid < 0)
        return fail(s, sid, "start a session", "setsid");
    r = s->bwrap == NULL ? arrange_descriptors(s, tools) : 0; /* there the words are still being written */
    if (r < 0)
        return r;
    reset_attributes(s->plan);

    seen = 0;
    r = give_up_rights(s, &seen);
    if (r < 0)
        return r;
    __atomic_or_fetch(&shared->proof, seen, __ATOMIC_RELAXED);
    return 0;
}

/*
 * Both roots are stacked until init has detached the old one. To look costs less than to be told, and the
 * call in which init does it returns late; where looking does not help, init's word does.
 */
static int stand_on_new_root(struct spawn *s, uint32_t *seen)
{
    struct shared *shared = s->shared;
    if (layer_mounts_root() != shared->root)
        return fail(s, -EXDEV, "stand on the new root", "/");
    for (int i = 0; i < LOOKS; i++) {
        if (layer_mounts_alone(shared->root)) {
            *seen |= PROOF_MOUNTNS;
            return 0;
        }
    }
    latch_wait(&shared->left); /* should init fail, it ends this process */
    return 0;
}

/* Steps in the new root, each of which also holds for everything after exec. */
static int confine(struct spawn *s, const struct tools *tools)
{
    const struct plan *plan = s->plan;
    struct shared *shared = s->shared;
    uint32_t seen = layer_identity_proven(plan) ? PROOF_IDENTITY : 0;

    long r = plan->bare ? 0 : stand_on_new_root(s, &seen);
    if (r < 0)
        return (int)r;
    r = sys_call(SYS_chdir, plan->cwd);
    if (r < 0) {
        err_set(&shared->payload_error, CORDON_ERROR_POLICY, CORDON_LAYER_PROCESS, (int)-r,
                "change into the directory", plan->cwd);
        err_remedy(&shared->payload_error, "--cwd names a directory inside; --ro or --rw brings one in");
        return (int)r;
    }
    if (plan->tty && terminal_take(&shared->payload_error) < 0)
        return -EIO;
    if (tools->ruleset >= 0) {
        int rc = layer_landlock_enter(tools->ruleset, &shared->payload_error);
        if (rc < 0)
            return rc;
        sys_close(tools->ruleset);
        if (layer_landlock_proven())
            seen |= PROOF_LANDLOCK;
    }
    uint32_t proof = __atomic_or_fetch(&shared->proof, seen, __ATOMIC_RELAXED);
    if ((proof & plan->must) != plan->must) {
        err_set(&shared->payload_error, CORDON_ERROR_PARTIAL, CORDON_LAYER_PROCESS, 0, "prove what was applied", "");
        err_why(&shared->payload_error, "the kernel accepted a layer that does not work when read back");
        return -EOPNOTSUPP;
    }
    if (tools->listen_socket >= 0)
        __atomic_or_fetch(&shared->proof, join_listener(s, tools->listen_socket), __ATOMIC_RELAXED);
    return 0;
}

/* Along the candidates like execvp(). Returns only if none can be executed. */
static void execute(struct spawn *s)
{
    const struct plan *plan = s->plan;
    struct shared *shared = s->shared;

    shared->executing = true;
    sys_set_signals(0);
    long answer = -ENOENT;
    for (const char **path = plan->candidates; *path != NULL; path++) {
        long r = sys_call(SYS_execve, *path, plan->argv, plan->envp);
        if (r == -ENOENT && sys_call(SYS_faccessat, AT_FDCWD, *path, 0 /* F_OK */) == 0) {
            shared->interpreter = true;
            answer = r;
            break;
        }
        if (r != -ENOENT && r != -ENOTDIR) {
            answer = r;
            if (r != -EACCES) /* somebody further along may have a better one */
                break;
        }
    }
    shared->exec_errno = (int)-answer;
}

_Noreturn static void execute_bwrap(struct spawn *s)
{
    static char *const no_environment[] = {NULL}; /* it sets the payload's by its arguments */
    if (arrange_for_bwrap(s) < 0)
        give_up(s);
    sys_set_signals(0);
    long r = sys_call(SYS_execve, s->plan->bwrap, s->bwrap->argv, no_environment, 0, 0, EXEC_GATE_OWN);
    fail(s, r, "execute", s->plan->bwrap);
    give_up(s);
}

int spawn_payload(void *spawn)
{
    struct spawn *s = spawn;
    const struct plan *plan = s->plan;
    struct tools tools = {.ruleset = s->ruleset, .listen_socket = s->listen_socket};

    if (!plan->pidns || plan_hosted(plan)) { /* nothing else would end this process with init */
        sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
        if (plan_hosted(plan) && sys_call(SYS_getppid) != s->pid)
            sys_exit(1);
    }
    if (prepare(s, &tools) < 0)
        give_up(s);
    if (s->bwrap != NULL)
        execute_bwrap(s);
    if (s->quick_end)
        latch_expect(&s->shared->released);
    latch_wait(&s->shared->released); /* should init die now, the kernel ends this process with it */
    if (confine(s, &tools) < 0)
        give_up(s);
    if (plan->rehearsal) {
        s->shared->executing = true;
        sys_exit(0);
    }
    execute(s);
    sys_exit(127);
}
