/* The library inside a program with a life of its own: threads, children, handlers, descriptors. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "box.h"

#define THREADS 8
#define RUNS_EACH 6

static void *run_several(void *number)
{
    struct cordon_policy *policy = stage();
    for (int k = 0; k < RUNS_EACH; k++) {
        char script[64];
        char want[64];
        snprintf(script, sizeof script, "echo %d; echo %d >&2; exit %d", *(int *)number, k, *(int *)number);
        snprintf(want, sizeof want, "%d\n", *(int *)number);
        struct cordon_result *result = run_script(policy, script);
        check_output(result, want);
        CHECK_INT(cordon_result_exit_code(result), *(int *)number);
        cordon_result_free(result);
    }
    cordon_policy_free(policy);
    return NULL;
}

TEST(eight_threads_run_sandboxes_at_once)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int k = 0; k < THREADS; k++) {
        numbers[k] = k + 1;
        CHECK_INT(pthread_create(&threads[k], NULL, run_several, &numbers[k]), 0);
    }
    for (int k = 0; k < THREADS; k++)
        CHECK_INT(pthread_join(threads[k], NULL), 0);
}

/* A thread that ends must not take along what it started. */
static void *start_one(void *policy)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"sleep 0.3; echo alive"}, NULL};
    return cordon_start(policy, argv, NULL, NULL);
}

TEST(a_sandbox_outlives_the_thread_that_started_it)
{
    struct cordon_policy *policy = stage();
    pthread_t thread;
    void *sandbox = NULL;
    CHECK_INT(pthread_create(&thread, NULL, start_one, policy), 0);
    CHECK_INT(pthread_join(thread, &sandbox), 0);
    struct cordon_result *result = cordon_sandbox_wait(sandbox);
    check_output(result, "alive\n");
    cordon_result_free(result);
    cordon_policy_free(policy);
}

static volatile sig_atomic_t children_seen;

static void count_child(int sig)
{
    (void)sig;
    children_seen++;
}

TEST(the_callers_handler_and_children_are_its_own)
{
    struct cordon_policy *policy = stage();
    struct sigaction mine = {.sa_handler = count_child};
    struct sigaction now;
    CHECK_INT(sigaction(SIGCHLD, &mine, NULL), 0);
    for (int k = 0; k < 3; k++) {
        struct cordon_result *result = run_script(policy, "sleep 0.1 & exit 4");
        CHECK_INT(cordon_result_exit_code(result), 4);
        cordon_result_free(result);
        CHECK_ERRNO(waitpid(-1, NULL, WNOHANG), ECHILD);
    }
    CHECK_INT(children_seen, 0);
    CHECK_INT(sigaction(SIGCHLD, NULL, &now), 0);
    CHECK(now.sa_handler == count_child);

    pid_t own = fork();
    if (own == 0)
        _exit(9);
    int status = 0;
    while (waitpid(-1, &status, 0) < 0 && errno == EINTR) {
    }
    CHECK_INT(WEXITSTATUS(status), 9);
    CHECK_INT(children_seen, 1);
    cordon_policy_free(policy);
}

TEST(a_caller_that_ignores_sigchld_still_learns_the_code)
{
    struct cordon_policy *policy = stage();
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    struct cordon_result *result = run_script(policy, "sh -c 'exit 5'; exit $?");
    CHECK_INT(cordon_result_exit_code(result), 5);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

static void *wait_for_any(void *status)
{
    pid_t pid = wait(status);
    return (void *)(intptr_t)pid;
}

TEST(a_thread_that_waits_for_any_child_is_not_answered_by_a_sandbox)
{
    struct cordon_policy *policy = stage();
    int gate[2];
    CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
    pid_t own = fork();
    if (own == 0) {
        char byte;
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 1 ? 7 : 8);
    }
    int status = 0;
    pthread_t waiter;
    void *answer = NULL;
    CHECK_INT(pthread_create(&waiter, NULL, wait_for_any, &status), 0);
    for (int k = 0; k < 3; k++) {
        struct cordon_result *result = run_script(policy, "echo hi");
        check_output(result, "hi\n");
        cordon_result_free(result);
    }
    CHECK_INT(write(gate[1], "x", 1), 1);
    CHECK_INT(pthread_join(waiter, &answer), 0);
    CHECK_INT((intptr_t)answer, own);
    CHECK_INT(WEXITSTATUS(status), 7);
    close(gate[0]);
    close(gate[1]);
    cordon_policy_free(policy);
}

TEST(a_forked_child_can_run_sandboxes_too)
{
    struct cordon_policy *policy = stage();
    struct cordon_result *before = run_script(policy, "echo parent");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct cordon_result *result = run_script(policy, "echo child");
        check_output(result, "child\n");
        _exit(0);
    }
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    check_output(before, "parent\n");
    cordon_result_free(before);
    cordon_policy_free(policy);
}

/* Copies of the pipes in a child of the caller's keep nothing open that matters. */
TEST(a_fork_while_a_sandbox_runs_does_not_delay_its_end)
{
    struct cordon_policy *policy = stage();
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"sleep 0.1; echo done"}, NULL};
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, NULL, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    struct cordon_result *result = cordon_sandbox_wait(sandbox);
    check_output(result, "done\n");
    cordon_result_free(result);
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    cordon_policy_free(policy);
}

TEST(a_thousand_open_descriptors_stay_outside)
{
    struct cordon_policy *policy = stage();
    struct rlimit files = {0};
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_max < 1200)
        test_skip("the hard limit on open files is below 1200");
    files.rlim_cur = 1200;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &files), 0);
    int last = -1;
    for (int k = 0; k < 1000; k++) {
        last = open("/dev/null", k % 2 == 0 ? O_RDONLY : O_RDWR); /* not close-on-exec */
        CHECK(last >= 0);
    }
    CHECK(last >= 1000);
    struct cordon_result *result = run_script(policy, "for f in /proc/$$/fd/*; do echo ${f##*/}; done");
    /* The shell's own copy of nothing else: 0, 1, 2, and what it opened to list the directory. */
    size_t len = 0;
    const char *out = cordon_result_stdout(result, &len);
    check_status(result, "OK");
    CHECK(len >= 6 && memcmp(out, "0\n1\n2\n", 6) == 0);
    CHECK(len <= 6 + 6);
    cordon_result_free(result);
    CHECK(fcntl(last, F_GETFD) >= 0); /* and the caller keeps them */
    cordon_policy_free(policy);
}

/* ---- nothing is left ---- */

static unsigned entries_of(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static unsigned lines_of(const char *path)
{
    unsigned count = 0;
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    for (int c; (c = getc(f)) != EOF;)
        count += c == '\n';
    fclose(f);
    return count;
}

static unsigned long resident_kib(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%*u %lu", &pages) == 1);
    fclose(f);
    return pages * 4;
}

/* Groups that this process made, wherever the caller's own are. */
static unsigned cgroups_left(void)
{
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids",
                                        "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"};
    char prefix[32];
    unsigned count = 0;
    snprintf(prefix, sizeof prefix, "cordon.%d.", (int)getpid());
    for (size_t k = 0; k < sizeof roots / sizeof roots[0]; k++) {
        DIR *dir = opendir(roots[k]);
        for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
            count += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
        if (dir != NULL)
            closedir(dir);
    }
    return count;
}

#define RUNS 2000
#define RUN_SECONDS 15 /* on a slow machine fewer runs prove as much */

TEST(two_thousand_runs_leave_nothing_behind)
{
    struct cordon_policy *policy = stage();
    struct timespec begin, now;
    unsigned fds = 0, mounts = 0;
    unsigned long memory = 0;
    int runs = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        if (runs == 50) { /* after what is made once */
            fds = entries_of("/proc/self/fd");
            mounts = lines_of("/proc/self/mountinfo");
            memory = resident_kib();
        }
        char *const argv[] = {(char[]){"true"}, NULL};
        struct cordon_result *result = cordon_run(policy, argv, NULL, NULL);
        check_status(result, "OK");
        cordon_result_free(result);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (++runs < RUNS && (runs < 100 || now.tv_sec - begin.tv_sec < RUN_SECONDS));
    CHECK_INT(entries_of("/proc/self/fd"), fds);
    CHECK_INT(lines_of("/proc/self/mountinfo"), mounts);
    CHECK_INT(cgroups_left(), 0);
    CHECK_ERRNO(waitpid(-1, NULL, WNOHANG | 0x40000000 /* __WALL */), ECHILD);
    const unsigned long after = resident_kib();
    const unsigned long grown = after > memory ? after - memory : 0;
    printf("# %d runs, %lu KiB grown\n", runs, grown);
    CHECK(grown < 4096 || TEST_SANITIZED); /* freed memory is kept in quarantine there */
    cordon_policy_free(policy);
}
