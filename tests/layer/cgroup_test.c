/* The real thing, on whatever hierarchy this machine gives to this user: v1, v2, or both. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "layer/cgroup.h"
#include "layer/cgroup_file.h"

#define MIB (1024UL * 1024)

static struct host_cgroup host_with(enum cgroup_controller c)
{
    static struct host_cgroup host;
    static char lack[CGROUP_LACK_SIZE];
    layer_cgroup_probe(&host);
    if (host.controllers[c].version == CGROUP_NONE) {
        layer_cgroup_lack(lack, &host, c);
        test_skip(lack);
    }
    return host;
}

static struct layer_cgroup prepared(const struct host_cgroup *host, const struct plan_cgroup *want)
{
    struct layer_cgroup layer = LAYER_CGROUP_INIT;
    struct cordon_error err = {0};
    if (layer_cgroup_prepare(&layer, host, want, &err) < 0) {
        char text[512];
        cordon_error_format(&err, text, sizeof text);
        test_fail(__FILE__, __LINE__, "%s", text);
    }
    return layer;
}

/* Runs `act` in a child inside the group (outside if NULL); its wait status. */
static int run_inside(const struct layer_cgroup *layer, int (*act)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(layer != NULL && layer_cgroup_enter(layer, false) < 0 ? 99 : act());
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return status;
}

/* What the kernel keeps, whatever was written. */
static uint64_t in_force(const struct layer_cgroup *layer, enum cgroup_controller c, const char *v1, const char *v2)
{
    const struct layer_cgroup_group *group = &layer->groups[layer->of[c]];
    uint64_t value = 0;
    CHECK_INT(cgroup_read_u64(group->dir_fd, group->version == CGROUP_V2 ? v2 : v1, &value), 0);
    return value;
}

static bool is_empty(const struct layer_cgroup *layer)
{
    char text[CGROUP_FILE_SIZE];
    return cgroup_read(layer->groups[0].dir_fd, "cgroup.procs", text) == 0;
}

static void kill_all(const struct layer_cgroup *layer)
{
    char text[CGROUP_FILE_SIZE];
    for (int i = 0; i < 1000 && cgroup_read(layer->groups[0].dir_fd, "cgroup.procs", text) > 0; i++) {
        for (char *p = text; *p != '\0'; p += *p != '\0') {
            const pid_t pid = (pid_t)strtol(p, &p, 10);
            if (pid > 1)
                kill(pid, SIGKILL);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    CHECK(is_empty(layer));
}

/* How many directories of cordon's lie where `host` points; `pid` 0: of anybody. */
static int count_left(const struct host_cgroup *host, pid_t pid)
{
    char prefix[32];
    int count = 0;
    snprintf(prefix, sizeof prefix, pid == 0 ? "cordon." : "cordon.%d.", (int)pid);
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        DIR *dir = opendir(host->dirs[i]);
        for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
            count += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
        if (dir != NULL)
            closedir(dir);
    }
    return count;
}

static int touch_64_mib(void)
{
    char *p = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < 64 * MIB; i += 4096)
        ((volatile char *)p)[i] = 1;
    return 0;
}

TEST(ends_a_process_above_the_memory_limit_and_has_evidence)
{
    struct host_cgroup host = host_with(CGROUP_MEMORY);
    struct plan_cgroup want = PLAN_CGROUP_INIT;

    want.mem_bytes = 256 * MIB;
    struct layer_cgroup layer = prepared(&host, &want);
    CHECK_INT(run_inside(&layer, touch_64_mib), 0); /* enough room */
    CHECK(!layer_cgroup_oom_seen(&layer));
    layer_cgroup_release(&layer);

    want.mem_bytes = 32 * MIB;
    layer = prepared(&host, &want);
    CHECK_INT(in_force(&layer, CGROUP_MEMORY, "memory.limit_in_bytes", "memory.max"), 32 * MIB);
    CHECK_INT(layer_cgroup_oom_fd(&layer) >= 0, 1);
    struct pollfd poll_fd = {.fd = layer_cgroup_oom_fd(&layer),
                             .events = layer_cgroup_oom_events(&layer)};
    CHECK_INT(poll(&poll_fd, 1, 0), 0);

    int status = run_inside(&layer, touch_64_mib);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGKILL);
    CHECK_INT(poll(&poll_fd, 1, 5000), 1);
    CHECK(layer_cgroup_oom_seen(&layer));
    /* The kernel tells of further changes late, at most every 10 ms; then it is silent: armed again. */
    for (int i = 0; i < 50 && poll(&poll_fd, 1, 100) == 1; i++)
        CHECK(layer_cgroup_oom_seen(&layer));
    CHECK_INT(poll(&poll_fd, 1, 0), 0);
    CHECK(layer_cgroup_oom_seen(&layer)); /* and not forgotten */

    struct cgroup_usage usage;
    CHECK_INT(layer_cgroup_usage(&layer, &usage), 0);
    CHECK(usage.mem_peak_bytes == CGROUP_UNKNOWN || usage.mem_peak_bytes <= 32 * MIB);
    CHECK(usage.cpu_usec == CGROUP_UNKNOWN); /* not asked for */
    layer_cgroup_release(&layer);
    CHECK_INT(count_left(&host, getpid()), 0);
}

static int fork_ten(void)
{
    int failed = 0;
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(30); /* not for ever, should the limit and the kill fail */
            for (;;)
                pause();
        }
        if (pid < 0)
            failed = errno;
    }
    return failed;
}

/* The same, and ends what it started. */
static int fork_ten_outside(void)
{
    setpgid(0, 0);
    signal(SIGTERM, SIG_IGN);
    int failed = fork_ten();
    kill(0, SIGKILL);
    return failed;
}

TEST(refuses_a_fork_above_the_pids_limit)
{
    struct host_cgroup host = host_with(CGROUP_PIDS);
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    CHECK_INT(WTERMSIG(run_inside(NULL, fork_ten_outside)), SIGKILL); /* no EAGAIN outside */

    want.pids = 11;
    struct layer_cgroup layer = prepared(&host, &want);
    CHECK_INT(run_inside(&layer, fork_ten), 0); /* ten and itself */
    kill_all(&layer);
    layer_cgroup_release(&layer);

    want.pids = 8;
    layer = prepared(&host, &want);
    CHECK_INT(in_force(&layer, CGROUP_PIDS, "pids.max", "pids.max"), 8);
    int status = run_inside(&layer, fork_ten);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), EAGAIN);
    CHECK(!is_empty(&layer));
    kill_all(&layer);
    layer_cgroup_release(&layer);
    CHECK_INT(count_left(&host, getpid()), 0);
}

static int64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static int burn(void) /* 100 ms, whatever was used before it came here */
{
    for (int64_t end = cpu_ms() + 100; cpu_ms() < end;) {
    }
    return 0;
}

static int burn_in_children(void)
{
    signal(SIGCHLD, SIG_IGN); /* reaped by the kernel: no rusage knows of them */
    pid_t pid = fork();
    if (pid == 0)
        _exit(burn());
    waitpid(pid, NULL, 0);
    return burn();
}

TEST(counts_the_cpu_time_of_the_whole_tree)
{
    struct host_cgroup host = host_with(CGROUP_CPUACCT);
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    want.cpu_usage = true;
    struct layer_cgroup layer = prepared(&host, &want);
    struct cgroup_usage usage;
    CHECK_INT(layer_cgroup_usage(&layer, &usage), 0);
    CHECK_INT(usage.cpu_usec, 0);
    CHECK_INT(run_inside(&layer, burn_in_children), 0);
    CHECK_INT(layer_cgroup_usage(&layer, &usage), 0);
    CHECK(usage.cpu_usec >= 180 * 1000 && usage.cpu_usec != CGROUP_UNKNOWN); /* both, not one */
    layer_cgroup_release(&layer);
}

TEST(reads_back_a_cpu_rate)
{
    struct host_cgroup host = host_with(CGROUP_CPU);
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    want.cpu_quota_us = 10000; /* a tenth of a core */
    struct layer_cgroup layer = prepared(&host, &want);
    CHECK_INT(in_force(&layer, CGROUP_CPU, "cpu.cfs_quota_us", "cpu.max"), 10000);
    CHECK_INT(run_inside(&layer, burn), 0);
    uint64_t throttled = 0;
    CHECK_INT(cgroup_read_key(layer.groups[layer.of[CGROUP_CPU]].dir_fd, "cpu.stat", "nr_throttled",
                              &throttled),
              0);
    CHECK(throttled >= 1); /* 100 ms of work is ten times the quota */
    layer_cgroup_release(&layer);
}

static int nothing(void)
{
    return 0;
}

TEST(takes_every_controller_at_once)
{
    struct host_cgroup host = host_with(CGROUP_MEMORY);
    host = host_with(CGROUP_PIDS);
    struct plan_cgroup want = {
        .mem_bytes = 64 * MIB, .pids = 16, .cpu_usage = true, .cpu_quota_us = 0};
    struct layer_cgroup layer = prepared(&host, &want);
    CHECK_INT(in_force(&layer, CGROUP_MEMORY, "memory.limit_in_bytes", "memory.max"), 64 * MIB);
    CHECK_INT(in_force(&layer, CGROUP_PIDS, "pids.max", "pids.max"), 16);
    CHECK(layer.group_count >= 1 && layer.group_count <= 3);
    if (host.controllers[CGROUP_MEMORY].version == CGROUP_V2)
        CHECK_INT(layer.group_count, 1);
    CHECK_INT(run_inside(&layer, nothing), 0);
    struct cgroup_usage usage;
    CHECK_INT(layer_cgroup_usage(&layer, &usage), 0);
    CHECK(usage.cpu_usec != CGROUP_UNKNOWN);
    CHECK(is_empty(&layer));
    layer_cgroup_release(&layer);
    layer_cgroup_release(&layer); /* idempotent */
    CHECK_INT(count_left(&host, getpid()), 0);
}

TEST(leaves_nothing_behind_when_it_fails)
{
    struct host_cgroup host = host_with(CGROUP_MEMORY);
    struct plan_cgroup want = {.mem_bytes = 64 * MIB, .pids = 16};
    struct layer_cgroup layer = LAYER_CGROUP_INIT;
    struct cordon_error err = {0};

    struct host_cgroup broken = host;
    broken.controllers[CGROUP_PIDS].version = CGROUP_NONE;
    broken.controllers[CGROUP_PIDS].lack = LACK_DISABLED;
    CHECK_INT(layer_cgroup_prepare(&layer, &broken, &want, &err), -EOPNOTSUPP);
    CHECK_STR(err.subject, "pids");
    CHECK(strstr(err.why, "the pids controller is not enabled") != NULL);
    CHECK_INT(layer.group_count, 0);
    CHECK_INT(count_left(&host, getpid()), 0);

    want.pids = PARSE_UNLIMITED;
    want.mem_bytes = 64 * MIB;
    snprintf(broken.dirs[CGROUP_MEMORY], 32, "/nowhere");
    CHECK_INT(layer_cgroup_prepare(&layer, &broken, &want, &err), -ENOENT);
    CHECK_STR(err.subject, "/nowhere");
    CHECK_INT(count_left(&host, getpid()), 0);
}

static int enter_as_stranger(const struct layer_cgroup *layer)
{
    if (setresgid(1501, 1501, 1501) < 0 || setresuid(1501, 1501, 1501) < 0)
        return 1;
    if (unshare(CLONE_NEWUSER) < 0)
        return errno == EPERM || errno == ENOSPC || errno == ENOSYS ? 77 : 2;
    return layer_cgroup_enter(layer, false) < 0 ? 3 : 0;
}

TEST(can_be_entered_after_a_change_of_user_and_in_a_new_user_namespace)
{
    if (geteuid() != 0)
        test_skip("only root can become somebody else");
    struct host_cgroup host = host_with(CGROUP_PIDS);
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    want.pids = 4;
    struct layer_cgroup layer = prepared(&host, &want);
    int ready[2];
    CHECK_INT(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char r = (char)enter_as_stranger(&layer);
        if (write(ready[1], &r, 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    char r = 99;
    CHECK_INT(read(ready[0], &r, 1), 1);
    bool empty = is_empty(&layer);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    layer_cgroup_release(&layer);
    if (r == 77)
        test_skip("user namespaces are switched off");
    CHECK_INT(r, 0);
    CHECK(!empty);
}

TEST(sweeps_what_a_killed_supervisor_left_and_nothing_else)
{
    struct host_cgroup host = host_with(CGROUP_CPUACCT);
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    want.cpu_usage = true;
    struct layer_cgroup mine = prepared(&host, &want);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        prepared(&host, &want);
        raise(SIGKILL);
    }
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    CHECK(count_left(&host, pid) > 0);
    layer_cgroup_sweep(&host);
    CHECK_INT(count_left(&host, pid), 0);
    CHECK(count_left(&host, getpid()) > 0);
    layer_cgroup_release(&mine);
}

/* A second supervisor in another pid namespace may have the number of a dead process here. */
TEST(does_not_sweep_a_directory_that_somebody_locks)
{
    struct host_cgroup host = host_with(CGROUP_CPUACCT);
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    want.cpu_usage = true;
    int hold[2];
    CHECK_INT(pipe(hold), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        prepared(&host, &want);
        char c;
        if (fork() == 0) { /* lives on with the descriptors, and so with the lock */
            close(hold[1]);
            _exit(read(hold[0], &c, 1) == 0 ? 0 : 1);
        }
        raise(SIGKILL);
    }
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    layer_cgroup_sweep(&host);
    CHECK(count_left(&host, pid) > 0);
    close(hold[1]);
    for (int i = 0; i < 1000 && count_left(&host, pid) > 0; i++) {
        layer_cgroup_sweep(&host);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    CHECK_INT(count_left(&host, pid), 0);
}

static void step_aside_and_back(const char *own)
{
    struct host_cgroup host = host_with(CGROUP_MEMORY);
    CHECK_INT(host.controllers[CGROUP_MEMORY].route, CGROUP_ROUTE_LEAF);
    CHECK_STR(host.dirs[CGROUP_MEMORY], own);

    struct plan_cgroup want = {.mem_bytes = 32 * MIB, .pids = 8, .cpu_usage = true};
    struct layer_cgroup first = prepared(&host, &want);
    CHECK_INT(WTERMSIG(run_inside(&first, touch_64_mib)), SIGKILL);
    CHECK(layer_cgroup_oom_seen(&first));

    /* A second run of the same process shares the leaf, and keeps its limit after the first. */
    host = host_with(CGROUP_MEMORY);
    CHECK_STR(host.dirs[CGROUP_MEMORY], own);
    CHECK(host.leaf[0] != '\0');
    struct layer_cgroup second = prepared(&host, &want);
    layer_cgroup_release(&first);
    CHECK_INT(WTERMSIG(run_inside(&second, touch_64_mib)), SIGKILL);
    CHECK(layer_cgroup_oom_seen(&second));
    layer_cgroup_release(&second);

    host = host_with(CGROUP_MEMORY);
    CHECK_STR(host.dirs[CGROUP_MEMORY], own); /* alone in it again */
    CHECK_STR(host.leaf, "");
    CHECK_INT(count_left(&host, 0), 0);
}

TEST(steps_aside_and_back_when_alone_in_a_delegated_group)
{
    struct host_cgroup host = host_with(CGROUP_MEMORY);
    if (host.controllers[CGROUP_MEMORY].version != CGROUP_V2)
        test_skip("the memory controller is not in cgroup v2");
    char own[CGROUP_PATH_SIZE + 64];
    char procs[CGROUP_PATH_SIZE + 96];
    snprintf(own, sizeof own, "%s/alone.%d", host.dirs[CGROUP_MEMORY], (int)getpid());
    snprintf(procs, sizeof procs, "%s/cgroup.procs", own);
    CHECK_INT(mkdir(own, 0755), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_INT(cgroup_write(AT_FDCWD, procs, "0"), 0);
        step_aside_and_back(own);
        _exit(0);
    }
    int status = 1;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(rmdir(own), 0);
    CHECK_INT(status, 0);
}
