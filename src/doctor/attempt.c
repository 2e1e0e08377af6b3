#include "doctor/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "layer/identity.h"
#include "layer/probe.h"
#include "sys/process.h"

#define SECONDS_MAX 10

bool attempt_failed(struct attempt *a, long r, const char *step)
{
    if (r >= 0)
        return false;
    a->errnum = (int)-r;
    snprintf(a->step, sizeof a->step, "%s", step);
    return true;
}

void attempt_alone(void)
{
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sys_default_action(SIGALRM);
    sys_default_action(SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(SECONDS_MAX);
}

int attempt_wait(int pid)
{
    siginfo_t info = {0};
    long r;
    do {
        r = sys_waitid(P_PID, pid, &info, WEXITED | __WALL, NULL);
    } while (r == -EINTR);
    return r == 0 && info.si_code != CLD_EXITED ? info.si_status : 0;
}

void attempt_run_with(struct attempt *out, void (*act)(struct attempt *a, void *context), void *context)
{
    *out = (struct attempt){0};
    struct attempt *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        attempt_failed(out, -errno, "mmap");
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        attempt_alone(); /* an act that hangs has failed */
        act(shared, context);
        shared->over = true;
        _exit(0);
    }
    int signal = pid < 0 ? 0 : attempt_wait(pid);
    *out = *shared;
    out->step[sizeof out->step - 1] = '\0';
    munmap(shared, sizeof *shared);
    if (pid < 0)
        attempt_failed(out, -errno, "fork");
    else if (out->errnum == 0 && signal != 0)
        out->signal = signal;
    else if (out->errnum == 0 && !out->over)
        attempt_failed(out, -ECHILD, "see how it ended");
}

static void act_alone(struct attempt *a, void *context)
{
    attempt_fn **act = context;
    (*act)(a);
}

void attempt_run(struct attempt *out, attempt_fn *act)
{
    attempt_run_with(out, act_alone, &act);
}

/* The flags and the act of attempt_run_inside(); its child is a copy of this process. */
struct inside {
    uint64_t flags;
    attempt_fn *act;
    struct plan plan; /* only who one is, inside and outside */
    struct layer_identity identity;
    int ready[2]; /* the namespaces are there */
    int gate[2];  /* the maps are written */
};

static bool become(struct inside *in, struct attempt *a)
{
    struct cordon_error err = {0};
    char byte = 0;
    (void)!write(in->ready[1], &byte, 1);
    if (!in->plan.switch_user)
        return !attempt_failed(a, layer_identity_map_self(&in->identity, &err), "write the id map");
    if (read(in->gate[0], &byte, 1) != 1)
        return false; /* the parent has said why */
    return !attempt_failed(a, layer_identity_switch(&in->plan, &err), "switch to the mapped user");
}

_Noreturn static void live_inside(struct inside *in, struct attempt *a)
{
    close(in->gate[1]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(SECONDS_MAX);
    if (!become(in, a))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the change of user has cleared it */
    /* Without rights in it a user namespace is of no use, and some hosts give just that. */
    char name[] = "cordon";
    if (attempt_failed(a, sethostname(name, sizeof name - 1) < 0 ? -errno : 0, "use its rights"))
        _exit(1);
    a->outside = false;
    if (in->act != NULL)
        in->act(a);
    _exit(0);
}

static void enter(struct attempt *a, void *context)
{
    struct inside *in = context;
    struct cordon_error err = {0};
    char byte = 0;
    int pidfd = -1;
    a->outside = true;
    if (pipe2(in->ready, O_CLOEXEC) < 0 || pipe2(in->gate, O_CLOEXEC) < 0) {
        attempt_failed(a, -errno, "make a pipe");
        return;
    }
    layer_identity_prepare(&in->identity, &in->plan);
    long pid = sys_fork(in->flags | CLONE_NEWUSER, &pidfd);
    if (pid == 0)
        live_inside(in, a);
    close(in->ready[1]);
    if (attempt_failed(a, pid, "clone a user namespace"))
        return;
    if (in->plan.switch_user && read(in->ready[0], &byte, 1) == 1 &&
        !attempt_failed(a, layer_identity_map_child(&in->identity, (int)pid, &err),
                        "write the id map"))
        (void)!write(in->gate[1], &byte, 1);
    close(in->gate[1]);
    int signal = attempt_wait((int)pid);
    if (a->signal == 0)
        a->signal = signal;
}

void attempt_run_inside(struct attempt *out, uint64_t flags, attempt_fn *act)
{
    const bool root = geteuid() == 0;
    const uid_t spare = root ? layer_probe_spare_uid(1) : 0;
    struct inside in = {
        .flags = flags | CLONE_NEWUTS,
        .act = act,
        .plan = {.switch_user = root,
                 .uid_inside = PLAN_NOBODY,
                 .gid_inside = PLAN_NOBODY,
                 .uid_host = root ? spare : geteuid(),
                 .gid_host = root ? (gid_t)spare : getegid()},
    };
    attempt_run_with(out, enter, &in);
}
