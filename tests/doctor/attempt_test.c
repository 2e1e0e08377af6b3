#include "doctor/attempt.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness.h"
#include "doctor/acts.h"

static void works(struct attempt *a)
{
    a->number = 42;
}

static void fails(struct attempt *a)
{
    attempt_failed(a, -ENOTTY, "sing");
}

static void dies(struct attempt *a)
{
    (void)a;
    raise(SIGKILL);
}

static void who(struct attempt *a)
{
    a->number = (uint64_t)getuid() << 32 | (uint64_t)getpid();
}

TEST(brings_back_what_an_act_found)
{
    struct attempt a;
    attempt_run(&a, works);
    CHECK(attempt_worked(&a));
    CHECK_INT(a.number, 42);
}

TEST(brings_back_the_step_and_errno_that_failed)
{
    struct attempt a;
    attempt_run(&a, fails);
    CHECK(!attempt_worked(&a));
    CHECK_INT(a.errnum, ENOTTY);
    CHECK(strcmp(a.step, "sing") == 0);
}

TEST(sees_an_act_die)
{
    struct attempt a;
    attempt_run(&a, dies);
    CHECK(!attempt_worked(&a));
    CHECK_INT(a.signal, SIGKILL);
}

static void has_a_child(struct attempt *a)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    attempt_failed(a, waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -ECHILD, "wait");
}

TEST(is_not_misled_by_a_caller_who_ignores_the_end_of_children)
{
    struct attempt a;
    signal(SIGCHLD, SIG_IGN);
    attempt_run(&a, works);
    CHECK(attempt_worked(&a));
    CHECK_INT(a.number, 42);
    attempt_run(&a, has_a_child);
    CHECK(attempt_worked(&a));
    attempt_run(&a, dies);
    CHECK(!attempt_worked(&a));
}

static void is_late(struct attempt *a)
{
    (void)a;
    raise(SIGALRM);
}

TEST(ends_what_hangs_although_the_caller_blocks_alarms)
{
    struct attempt a;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarms, NULL);
    attempt_run(&a, is_late);
    CHECK_INT(a.signal, SIGALRM);
}

TEST(acts_inside_as_process_1_and_nobody)
{
    struct attempt a;
    attempt_run_inside(&a, CLONE_NEWPID, who);
    if (!attempt_worked(&a))
        test_skip("user namespaces");
    CHECK_INT(a.number >> 32, 65534);
    CHECK_INT(a.number & 0xffffffff, 1);
    attempt_run_inside(&a, 0, dies);
    CHECK_INT(a.signal, SIGKILL);
    CHECK(!a.outside);
    attempt_run_inside(&a, 0, fails);
    CHECK_INT(a.errnum, ENOTTY);
}

/* Without the namespace the same act is refused: it finds out something. */
TEST(mounting_needs_the_namespace)
{
    struct attempt a;
    attempt_run_inside(&a, CLONE_NEWNS, act_tmpfs);
    if (a.outside)
        test_skip("user namespaces");
    CHECK(attempt_worked(&a));
    attempt_run_inside(&a, 0, act_tmpfs);
    CHECK_INT(a.errnum, EPERM);
}
