#include "supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "layer/refusal.h"
#include "sys/process.h"

static int compare(const void *a, const void *b)
{
    const int *x = a;
    const int *y = b;
    return (*x > *y) - (*x < *y);
}

static void keep(struct spawn *s, int fd)
{
    if (fd >= 0)
        s->keep[s->keep_count++] = fd;
}

/* The descriptors that init needs, sorted, so that it can close all others in a few calls. */
static int list_descriptors(struct spawn *s)
{
    const struct plan *plan = s->plan;
    const size_t steps = s->trees == NULL ? 0 : s->trees->step_count;
    const size_t host = s->trees == NULL ? 0 : s->trees->host_count;
    s->keep = arena_array(plan->arena, 7 + CGROUP_CONTROLLER_COUNT + BWRAP_MAX_FDS + steps + host, sizeof *s->keep);
    if (s->keep == NULL)
        return -ENOMEM;
    s->keep_count = 0;
    keep(s, s->life);
    for (int i = 0; i < 3; i++)
        keep(s, s->stdio[i]);
    keep(s, s->terminal.socket);
    keep(s, s->listen_socket);
    for (unsigned i = 0; s->cgroup != NULL && i < s->cgroup->group_count; i++)
        keep(s, s->cgroup->groups[i].procs_fd);
    for (size_t i = 0; s->bwrap != NULL && i < s->bwrap->count; i++)
        keep(s, s->bwrap->fds[i]);
    if (s->bwrap != NULL)
        keep(s, s->bwrap->messages);
    for (size_t i = 0; i < plan->step_count; i++) {
        if ((plan->steps[i].flags & STEP_FD) != 0) /* there is at most one */
            keep(s, plan->steps[i].fd);
    }
    for (size_t i = 0; i < steps; i++)
        keep(s, s->trees->of_step[i]);
    for (size_t i = 0; i < host; i++)
        keep(s, s->trees->host[i].fd);
    qsort(s->keep, s->keep_count, sizeof *s->keep, compare);
    return 0;
}

/* What a refusal of the very first step means, and what to do about it. */
static int refused(int errnum, struct cordon_error *err)
{
    err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, errnum, "make namespaces", "clone3");
    if (errnum == EPERM || errnum == EACCES)
        err_remedy(err, "this host forbids user namespaces: sysctl kernel.unprivileged_userns_clone=1, or "
                        "kernel.apparmor_restrict_unprivileged_userns=0, or a container that allows them");
    else if (errnum == ENOSPC || errnum == EUSERS)
        err_remedy(err, "the limit on user namespaces is reached: sysctl user.max_user_namespaces");
    else if (errnum == EAGAIN)
        err_remedy(err, "the limit on processes of this user is reached (ulimit -u)");
    return -errnum;
}

/* Whatever the kernel has against the cgroup, init then enters it, or says why it cannot. */
static long fork_init(struct spawn *s)
{
    const uint64_t flags = layer_namespaces_of_clone(s->plan);
    const int birthplace = s->cgroup == NULL ? -1 : layer_cgroup_birthplace(s->cgroup);
    s->born_inside = birthplace >= 0;
    long pid = s->born_inside ? sys_fork_into(flags, birthplace, &s->pidfd) : -EINVAL;
    if (pid >= 0)
        return pid;
    s->born_inside = false;
    return sys_fork(flags, &s->pidfd);
}

static int fail(struct cordon_error *err, int errnum, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, errnum, what, subject);
}

static int map_memory(struct spawn *s, struct cordon_error *err)
{
    s->shared = mmap(NULL, sizeof *s->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->shared == MAP_FAILED) {
        s->shared = NULL;
        int r = fail(err, errno, "map the shared page", "mmap");
        if (r == -ENOSYS) { /* every kernel has it */
            err_why(err, "a system call filter around this process refuses it");
            err_remedy(err, REFUSAL_NESTED);
        }
        return r;
    }
    s->shared->proof = s->trees == NULL || !s->trees->partial ? PROOF_MAPPED : 0;
    s->stack = mmap(NULL, SPAWN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (s->stack == MAP_FAILED) {
        s->stack = NULL;
        return fail(err, errno, "map a stack", "mmap");
    }
    return 0;
}

static int make_life_pipe(struct spawn *s, struct cordon_error *err)
{
    int life[2];
    if (pipe2(life, O_CLOEXEC) < 0)
        return fail(err, errno, "make a pipe", "pipe2");
    s->control = life[1];
    s->life = fd_above_standard(life[0]); /* init closes 0 to 2 when it has settled */
    return s->life < 0 ? fail(err, -s->life, "make a pipe", "fcntl") : 0;
}

/* Root: what init itself has no right to. */
static int let_init_switch(struct spawn *s, struct cordon_error *err)
{
    sys_call(SYS_setpriority, PRIO_PROCESS, s->pid, 0);
    int r = plan_hosted(s->plan) ? 0 : layer_identity_map_child(&s->identity, s->pid, err);
    if (r == 0)
        latch_set(&s->shared->mapped, LATCH_OPEN);
    return r;
}

int spawn_start(struct spawn *s, struct cordon_error *err)
{
    s->pidfd = s->control = s->life = s->ruleset = s->gate_socket = -1;
    int r = map_memory(s, err);
    if (r == 0)
        r = make_life_pipe(s, err);
    if (r == 0 && list_descriptors(s) < 0)
        r = fail(err, ENOMEM, "list descriptors", "");
    if (r < 0)
        return r;
    layer_identity_prepare(&s->identity, s->plan);

    /* Nothing may interrupt the children before they are what they are to be. */
    const uint64_t mask = sys_block_signals();
    long pid = fork_init(s);
    if (pid == 0)
        spawn_init(s);
    sys_call(SYS_sched_yield); /* init begins on this core, and all that follows waits for it */
    sys_set_signals(mask);
    fd_close(&s->life);
    if (pid < 0)
        return refused((int)-pid, err);
    s->pid = (int)pid;
    return s->plan->switch_user ? let_init_switch(s, err) : 0;
}
