/* The watcher, in a pid namespace of the test's own, where it sees exactly what the test started. */
#include "supervisor/watch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../harness.h"
#include "../layer/ground.h"
#include "sys/process.h"

#define MIB (1024UL * 1024)

/* Continues as pid 1 of new namespaces with an own /proc; the first process passes its end on. */
static void become_init(void)
{
    enter_namespaces(CLONE_NEWNS | CLONE_NEWPID);
    CHECK_INT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    CHECK_INT(mount("proc", "/proc", "proc", 0, NULL), 0);
    CHECK_INT(mount("tmpfs", "/tmp", "tmpfs", 0, "size=16m"), 0);
    CHECK_INT(mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=16m"), 0); /* the host's is others' memory */
    mount("tmpfs", "/work", "tmpfs", 0, "size=16m"); /* few hosts have one */
}

static struct plan_step steps[] = {{.kind = STEP_TMPFS, .target = "tmp"},
                                   {.kind = STEP_TMPFS, .target = "work"},
                                   {.kind = STEP_TMPFS, .target = "dev/shm"}};
static struct shared shared;
static struct host host = {.cores = 2};
static struct plan plan = {.host = &host, .steps = steps, .step_count = sizeof steps / sizeof steps[0]};
static struct spawn spawned = {.plan = &plan, .shared = &shared};

static void need_own_memory_only(void)
{
    if (TEST_SANITIZED)
        test_skip("the sanitizer's own memory would be counted");
}

static uint64_t first_look_us;

static struct watch watching(uint64_t mem_bytes, uint64_t cpu_ms)
{
    struct watch w;
    plan.watch_memory = mem_bytes != POLICY_UNLIMITED;
    plan.watch_cpu = cpu_ms != POLICY_UNLIMITED;
    plan.mem_bytes = mem_bytes;
    plan.cpu_ms = cpu_ms;
    watch_start(&w, &spawned);
    CHECK_INT(chdir("/"), 0); /* where init stands */
    watch_places(&w, AT_FDCWD);
    first_look_us = w.next_us;
    w.next_us = 0; /* what these tests watch is there already */
    return w;
}

/* A child that touches `bytes` and then waits to be killed. */
static pid_t child_with(size_t bytes, bool shared_pages)
{
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       (shared_pages ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            _exit(1);
        memset(p, 1, bytes);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        if (shared_pages && fork() == 0) { /* both map them: they count once */
            memset(p, 2, bytes);
            if (write(ready[1], "x", 1) != 1)
                _exit(1);
        }
        for (;;)
            pause();
    }
    for (int k = 0; k < (shared_pages ? 2 : 1); k++)
        CHECK_INT(read(ready[0], &byte, 1), 1);
    return pid;
}

TEST(nothing_to_watch_costs_nothing)
{
    struct watch w = watching(POLICY_UNLIMITED, POLICY_UNLIMITED);
    struct timespec room;
    CHECK_INT(w.proc, -1);
    CHECK(watch_pause(&w, &room) == NULL); /* for ever */
    CHECK_INT(watch_look(&w), HIT_NONE);
    CHECK((shared.proof & PROOF_WATCHER) == 0);
}

TEST(memory_of_all_processes_is_summed_and_the_limit_is_seen)
{
    need_own_memory_only();
    become_init();
    struct watch w = watching(64 * MIB, POLICY_UNLIMITED);
    CHECK((shared.proof & PROOF_WATCHER) != 0);
    CHECK_INT(watch_look(&w), HIT_NONE);
    CHECK(shared.mem_peak < 8 * MIB);
    child_with(24 * MIB, false);
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_NONE);
    CHECK(shared.mem_peak >= 24 * MIB && shared.mem_peak < 64 * MIB);
    child_with(24 * MIB, false);
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_NONE);
    child_with(24 * MIB, false); /* each below the limit, the sum above */
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    CHECK(shared.mem_peak > 64 * MIB && shared.mem_peak < 128 * MIB);
    CHECK(w.next_us != 0); /* who dies slowly does not keep init busy */
    _exit(0);
}

TEST(pages_that_two_processes_share_count_once)
{
    need_own_memory_only();
    become_init();
    struct watch w = watching(40 * MIB, POLICY_UNLIMITED);
    child_with(24 * MIB, true); /* twice 24 resident, 24 in truth */
    CHECK_INT(watch_look(&w), HIT_NONE);
    w.next_us = 0;
    plan.mem_bytes = 16 * MIB;
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    _exit(0);
}

TEST(a_child_of_vfork_has_its_parents_memory_which_counts_once)
{
    need_own_memory_only();
    become_init();
    struct watch w = watching(40 * MIB, POLICY_UNLIMITED);
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    if (fork() == 0) {
        char *p = mmap(NULL, 24 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            _exit(1);
        memset(p, 1, 24 * MIB);
        if (vfork() != 0)
            _exit(1);
        const ssize_t told = write(ready[1], "x", 1);
        for (;;)
            told == 1 ? (void)pause() : _exit(1);
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CHECK_INT(watch_look(&w), HIT_NONE);
    CHECK(shared.mem_peak >= 24 * MIB && shared.mem_peak < 40 * MIB);
    child_with(24 * MIB, false); /* this one is another's */
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    _exit(0);
}

TEST(a_mapped_file_in_a_tmpfs_counts_once)
{
    need_own_memory_only();
    become_init();
    struct watch w = watching(16 * MIB, POLICY_UNLIMITED);
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    if (fork() == 0) {
        int fd = open("/dev/shm/x", O_RDWR | O_CREAT, 0600);
        char *p = ftruncate(fd, 10 * MIB) < 0
                      ? MAP_FAILED
                      : mmap(NULL, 10 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            _exit(1);
        memset(p, 1, 10 * MIB);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CHECK_INT(watch_look(&w), HIT_NONE);
    CHECK(shared.mem_peak >= 10 * MIB && shared.mem_peak < 16 * MIB);
    plan.mem_bytes = 9 * MIB;
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    _exit(0);
}

TEST(a_callers_timer_slack_does_not_make_init_late)
{
    become_init();
    CHECK_INT(prctl(PR_SET_TIMERSLACK, 2000000000UL, 0, 0, 0), 0);
    watching(64 * MIB, POLICY_UNLIMITED);
    CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) <= 1000000);
    _exit(0);
}

TEST(many_cores_are_looked_at_sooner)
{
    become_init();
    host.cores = 64; /* 160 GB/s */
    const uint64_t before = sys_now_us();
    watching(512 * MIB, POLICY_UNLIMITED);
    CHECK(first_look_us - before < 50000); /* two cores: 100 ms */
    _exit(0);
}

TEST(cores_that_the_caller_left_out_count_too)
{
    cpu_set_t all;
    cpu_set_t one;
    become_init();
    CHECK_INT(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
    host.cores = 1;
    const struct watch w = watching(512 * MIB, POLICY_UNLIMITED);
    CHECK((int)w.cores >= CPU_COUNT(&all));
    CHECK_INT(sched_getaffinity(0, sizeof all, &all), 0);
    CHECK(CPU_EQUAL(&all, &one)); /* init stays where the caller wants it */
    _exit(0);
}

TEST(files_in_a_tmpfs_count_as_memory)
{
    need_own_memory_only();
    become_init();
    struct watch w = watching(12 * MIB, POLICY_UNLIMITED);
    static char block[MIB];
    int fd = open("/tmp/big", O_WRONLY | O_CREAT, 0600);
    for (int k = 0; k < 8; k++)
        CHECK_INT(write(fd, block, sizeof block), (long long)sizeof block);
    CHECK_INT(watch_look(&w), HIT_NONE);
    CHECK(shared.mem_peak >= 8 * MIB);
    for (int k = 0; k < 6; k++)
        CHECK_INT(write(fd, block, sizeof block), (long long)sizeof block);
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    _exit(0);
}

TEST(files_in_a_tmpfs_of_somebody_else_do_not)
{
    need_own_memory_only();
    become_init();
    steps[0].kind = STEP_BIND;
    struct watch w = watching(12 * MIB, POLICY_UNLIMITED);
    static char block[MIB];
    int fd = open("/tmp/big", O_WRONLY | O_CREAT, 0600);
    for (int k = 0; k < 14; k++)
        CHECK_INT(write(fd, block, sizeof block), (long long)sizeof block);
    CHECK_INT(watch_look(&w), HIT_NONE);
    _exit(0);
}

TEST(a_bind_that_was_left_out_does_not_hide_the_tmpfs_beneath_it)
{
    need_own_memory_only();
    become_init();
    static struct plan_step more[] = {{.kind = STEP_TMPFS, .target = "tmp", .size = 16 * MIB},
                                      {.kind = STEP_BIND, .target = "tmp", .flags = STEP_OPTIONAL}};
    plan.steps = more;
    plan.step_count = 2;
    struct watch w = watching(12 * MIB, POLICY_UNLIMITED);
    static char block[MIB];
    int fd = open("/tmp/big", O_WRONLY | O_CREAT, 0600);
    for (int k = 0; k < 14; k++)
        CHECK_INT(write(fd, block, sizeof block), (long long)sizeof block);
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    more[0].size = 64 * MIB; /* what stands there is another one */
    w = watching(12 * MIB, POLICY_UNLIMITED);
    CHECK_INT(watch_look(&w), HIT_NONE);
    _exit(0);
}

TEST(a_tmpfs_that_cannot_be_opened_for_want_of_descriptors_is_not_taken_for_an_empty_one)
{
    become_init();
    struct watch w = watching(64 * MIB, POLICY_UNLIMITED);
    int root = open("/", O_PATH | O_DIRECTORY);
    struct rlimit before;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    watch_places(&w, root);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_BLIND);
    _exit(0);
}

/* An invented /proc: few hosts of tests have swap. */
TEST(pages_in_swap_count_where_there_is_some)
{
    become_init();
    struct watch w = watching(64 * MIB, POLICY_UNLIMITED);
    CHECK_INT(mkdir("/tmp/proc", 0700), 0);
    CHECK_INT(mkdir("/tmp/proc/7", 0700), 0);
    write_text("/tmp/proc/7/statm", "50000 100 10 1 0 100 0\n");
    write_text("/tmp/proc/7/status", "Name:\tx\nVmRSS:\t     400 kB\nVmSwap:\t  102400 kB\nThreads:\t1\n");
    w.proc = open("/tmp/proc", O_RDONLY | O_DIRECTORY);
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    CHECK(shared.mem_peak > 100 * MIB && shared.mem_peak < 102 * MIB);
    _exit(0);
}

/* One byte of each 2 MiB is read: no page becomes resident, but each takes a table. */
TEST(tables_of_pages_count_as_memory)
{
    need_own_memory_only();
    become_init();
    struct watch w = watching(24 * MIB, POLICY_UNLIMITED);
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    if (fork() == 0) {
        const size_t size = 16384 * MIB;
        char *room = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED || madvise(room, size, MADV_NOHUGEPAGE) < 0)
            _exit(1);
        const volatile char *p = room;
        char sum = 0;
        for (size_t at = 0; at < size; at += 2 * MIB)
            sum = (char)(sum + p[at]);
        if (write(ready[1], &sum, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CHECK_INT(watch_look(&w), HIT_MEMORY);
    CHECK(shared.mem_peak >= 32 * MIB && shared.mem_peak < 48 * MIB);
    _exit(0);
}

/* Until this process itself has used `ms` of cpu time. */
static void burn(long ms)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

TEST(cpu_time_of_the_living_and_the_dead_is_summed)
{
    become_init();
    struct watch w = watching(POLICY_UNLIMITED, 400);
    pid_t dead = fork();
    if (dead == 0) {
        burn(250);
        _exit(0);
    }
    CHECK_INT(waitpid(dead, NULL, 0), dead);
    CHECK_INT(watch_look(&w), HIT_NONE); /* 250 of 400 */
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    pid_t living = fork();
    if (living == 0) {
        CHECK_INT(prctl(PR_SET_NAME, ") 9 9 9 9 (", 0, 0, 0), 0); /* a name made to confuse the reader */
        burn(250);
        CHECK_INT(write(ready[1], "x", 1), 1);
        for (;;)
            pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_CPU);
    _exit(0);
}

/* Nobody waits for it: it ends, and no account has its time. */
static void vanish_after(struct watch *w, long ms)
{
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        burn(ms);
        CHECK_INT(write(ready[1], "x", 1), 1);
        for (;;)
            pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    w->next_us = 0;
    CHECK_INT(watch_look(w), HIT_NONE);
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), -1);
    while (kill(pid, 0) == 0) /* for a moment it can still be seen */
        sched_yield();
}

TEST(cpu_time_of_a_child_that_nobody_waited_for_stays_in_the_sum)
{
    become_init();
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    struct watch w = watching(POLICY_UNLIMITED, 600);
    vanish_after(&w, 250);
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_NONE); /* 250 of 600 */
    vanish_after(&w, 250);
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_NONE); /* 500 */
    plan.cpu_ms = 400; /* the kernel tells whole ticks, of each kind of time */
    w.next_us = 0;
    CHECK_INT(watch_look(&w), HIT_CPU);
    _exit(0);
}

TEST(the_first_look_comes_when_a_limit_can_have_been_reached)
{
    become_init();
    const uint64_t before = sys_now_us();
    watching(1024 * MIB, POLICY_UNLIMITED);
    CHECK(first_look_us >= before + 100000);
    watching(16 * MIB, POLICY_UNLIMITED);
    CHECK(first_look_us <= sys_now_us() + 16 * MIB / 5000);
    watching(1024 * MIB, 5);
    CHECK(first_look_us <= sys_now_us() + 5000);
    _exit(0);
}

TEST(a_look_before_its_time_is_free_and_the_pause_follows_the_headroom)
{
    become_init();
    struct watch w = watching(1024 * MIB, POLICY_UNLIMITED);
    struct timespec room;
    CHECK_INT(watch_look(&w), HIT_NONE);
    const uint64_t next = w.next_us;
    CHECK(next > sys_now_us());
    CHECK_INT(watch_look(&w), HIT_NONE);
    CHECK(w.next_us == next || sys_now_us() >= next);
    CHECK(watch_pause(&w, &room) == &room);
    CHECK(room.tv_sec == 0 && room.tv_nsec <= 100 * 1000 * 1000);
    _exit(0);
}
