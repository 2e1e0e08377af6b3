/* Runs end to end, below the public interface: plan in, result out. */
#include "supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness.h"
#include "layer/probe.h"
#include "supervisor/events.h"

extern char **environ;

static struct box {
    struct arena arena;
    struct policy policy;
    struct host host;
    struct plan plan;
    struct supervisor supervisor;
    struct result result;
    struct run_wishes options;
} box;

static void prepare(enum policy_profile profile)
{
    memset(&box, 0, sizeof box);
    box.arena = ARENA_INIT(64u * 1024 * 1024);
    policy_init(&box.policy, profile);
    box.options = (struct run_wishes){
        .input = -1, .output = {-1, -1}, .capture = true, .ledger = true, .signals = -1};
    result_init(&box.result);
}

static int start(const char *script)
{
    char **command = arena_array(&box.arena, 4, sizeof *command);
    command[0] = arena_strdup(&box.arena, "sh");
    command[1] = arena_strdup(&box.arena, "-c");
    command[2] = arena_strdup(&box.arena, script);
    const struct plan_request request = {
        .policy = &box.policy, .host = &box.host, .command = command, .caller_env = environ};
    CHECK_INT(layer_probe(&box.host, &box.arena, &box.policy, environ, NULL), 0);
    struct cordon_error err = {0};
    if (plan_compile(&box.plan, &box.arena, &request, &err) < 0)
        test_fail(__FILE__, __LINE__, "%s %s: %s", err.what, err.subject, err.why);
    return supervisor_start(&box.supervisor, &box.plan, &box.options, &box.result);
}

static void finish(void)
{
    while (!supervisor_step(&box.supervisor, true)) {
    }
    supervisor_finish(&box.supervisor);
}

static void check_end(enum status status, const char *out)
{
    if (box.result.status != status)
        test_fail(__FILE__, __LINE__, "%s (%s), expected %s", status_name(box.result.status),
                  box.result.reason, status_name(status));
    CHECK_INT(box.result.out.captured.len, (long long)strlen(out));
    CHECK(memcmp(box.result.out.captured.data == NULL ? "" : box.result.out.captured.data, out, strlen(out)) == 0);
    result_release(&box.result);
    arena_free(&box.arena);
}

TEST(a_run_is_started_stepped_and_finished)
{
    prepare(PROFILE_STAGE);
    CHECK_INT(start("echo hello; id -u"), 0);
    finish();
    CHECK(box.result.exited);
    for (int c = 0; c < CAPABILITY_COUNT; c++) {
        const bool asked = ledger_asked(&box.result.ledger.entries[c]);
        if (box.result.ledger.entries[c].applied != asked)
            test_fail(__FILE__, __LINE__, "%s: %s", capability_name((enum capability)c),
                      box.result.ledger.entries[c].details);
    }
    check_end(STATUS_OK, "hello\n65534\n");
}

TEST(input_passes_and_output_goes_on_to_a_descriptor)
{
    int in[2], out[2];
    char got[16] = "";
    prepare(PROFILE_STAGE);
    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    box.options.input = in[0];
    box.options.output[0] = out[1];
    CHECK_INT(write(in[1], "abc", 3), 3);
    close(in[1]);
    CHECK_INT(start("cat"), 0);
    finish();
    CHECK_INT(read(out[0], got, sizeof got), 3);
    CHECK_STR(got, "abc");
    CHECK_INT(supervisor_lost_output(&box.supervisor), 0);
    check_end(STATUS_OK, "abc"); /* captured, too */
}

TEST(output_that_cannot_be_written_is_told)
{
    prepare(PROFILE_STAGE);
    box.options.capture = false;
    box.options.output[0] = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK_INT(start("echo x; exit 0"), 0);
    finish();
    CHECK_INT(supervisor_lost_output(&box.supervisor), ENOSPC);
    result_release(&box.result);
    arena_free(&box.arena);
}

TEST(too_much_output_ends_the_run_where_the_policy_says_kill)
{
    prepare(PROFILE_STAGE);
    box.policy.limits.output_bytes = 10;
    box.policy.limits.on_overflow = OVERFLOW_KILL;
    CHECK_INT(start("echo 123456789; echo more; sleep 20"), 0);
    finish();
    CHECK(box.result.out.truncated);
    check_end(STATUS_OUTPUT_LIMIT, "123456789\n");
    prepare(PROFILE_STAGE);
    box.policy.limits.output_bytes = 10;
    CHECK_INT(start("echo 123456789"), 0); /* exactly */
    finish();
    CHECK(!box.result.out.truncated);
    check_end(STATUS_OK, "123456789\n");
}

TEST(a_smuggled_copy_of_the_pipe_does_not_keep_the_supervisor)
{
    prepare(PROFILE_STAGE);
    CHECK_INT(start("echo early; setsid sleep 30 & exit 0"), 0);
    finish(); /* the daemon dies with init */
    check_end(STATUS_OK, "early\n");
}

TEST(a_wall_limit_first_asks_then_kills)
{
    prepare(PROFILE_STAGE);
    box.policy.limits.wall_ms = 300;
    box.policy.limits.grace_ms = 10000;
    CHECK_INT(start("trap 'echo asked; exit 0' TERM; while :; do sleep 0.05; done"), 0);
    finish();
    check_end(STATUS_TIMEOUT, "asked\n");
    prepare(PROFILE_STAGE);
    box.policy.limits.wall_ms = 200;
    box.policy.limits.grace_ms = 100;
    CHECK_INT(start("trap '' TERM; while :; do sleep 0.05; done"), 0);
    finish();
    check_end(STATUS_TIMEOUT, "");
}

TEST(a_wall_limit_that_comes_when_init_has_just_ended_sends_no_signal_to_the_caller)
{
    prepare(PROFILE_STAGE);
    box.policy.limits.wall_ms = 1;
    box.policy.limits.grace_ms = 10000;
    CHECK_INT(start("sleep 0.2"), 0); /* the clock is heard of first */
    struct pollfd ended = {.fd = box.supervisor.spawn.pidfd, .events = POLLIN};
    CHECK_INT(poll(&ended, 1, 20000), 1);
    finish(); /* SIGPIPE would have ended this process */
    check_end(STATUS_TIMEOUT, "");
}

static int next_signal(int signals)
{
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

TEST(a_callers_signal_is_passed_on_and_named)
{
    sigset_t set;
    prepare(PROFILE_STAGE);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    CHECK_INT(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    box.options.next_signal = next_signal;
    box.options.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    CHECK_INT(start("trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.05; done"), 0);
    while (box.result.out.captured.len == 0) /* it is ready */
        CHECK(!supervisor_step(&box.supervisor, true));
    CHECK_INT(kill(getpid(), SIGTERM), 0);
    finish();
    CHECK_INT(box.result.caller_signal, SIGTERM);
    check_end(STATUS_KILLED_TERM, "ready\ntold\n");
}

TEST(a_missing_source_leaves_nothing)
{
    prepare(PROFILE_STAGE);
    CHECK_INT(policy_add_bind(&box.policy.rw, &box.arena, "/no/such", "/data", false, NULL), 0);
    if (start("true") == 0)
        finish(); /* an ordinary user's init finds it, root's supervisor before that */
    else
        supervisor_finish(&box.supervisor);
    CHECK_STR(box.result.error.subject, "/no/such");
    CHECK_INT(box.result.error.kind, CORDON_ERROR_POLICY);
    check_end(STATUS_INTERNAL_ERROR, "");
    siginfo_t info;
    CHECK_ERRNO(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | 0x40000000 /* __WALL */), ECHILD);
}

/* While a start fails: alarms come faster than a killed init can end, and interrupt who waits for it. */
static bool alarmed;
static unsigned alarms;

static void set_alarms(suseconds_t every_us)
{
    const struct itimerval timer = {.it_interval.tv_usec = every_us, .it_value.tv_usec = every_us};
    CHECK_INT(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void count_alarm(int sig)
{
    (void)sig;
    alarms++;
}

/* Stands before the C library's. */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    if (!alarmed || op != EPOLL_CTL_ADD || event->data.u32 != TAG_INIT)
        return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
    set_alarms(50);
    errno = EPERM;
    return -1;
}

TEST(a_failed_start_leaves_no_init_to_a_program_with_signals_of_its_own)
{
    const struct sigaction action = {.sa_handler = count_alarm}; /* no SA_RESTART */
    CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
    for (int i = 0; i < 20; i++) {
        prepare(PROFILE_STAGE);
        alarmed = true;
        CHECK_INT(start("sleep 60"), -ENOMEM);
        alarmed = false;
        set_alarms(0);
        supervisor_finish(&box.supervisor);
        result_release(&box.result);
        arena_free(&box.arena);
        siginfo_t info;
        CHECK_ERRNO(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | 0x40000000 /* __WALL */), ECHILD);
    }
    CHECK(alarms > 0);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

TEST(a_failed_start_at_any_descriptor_limit_leaks_none)
{
    const unsigned before = open_descriptors();
    bool worked = false;
    for (int room = 0; room < 40 && !worked; room++) {
        int held[256];
        int count = 0;
        prepare(PROFILE_STAGE);
        char *const none[] = {NULL};
        char *command[] = {(char[]){"true"}, NULL};
        CHECK_INT(layer_probe(&box.host, &box.arena, &box.policy, none, NULL), 0);
        const struct plan_request request = {
            .policy = &box.policy, .host = &box.host, .command = command, .caller_env = none};
        CHECK_INT(plan_compile(&box.plan, &box.arena, &request, NULL), 0);
        /* All numbers below 100 are taken, but for `room` of them. */
        for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && fd < 100;)
            held[count++] = fd;
        close(100);
        for (int k = 0; k < room && count > 0; k++)
            close(held[--count]);
        struct rlimit limit;
        CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
        const struct rlimit tight = {.rlim_cur = 100, .rlim_max = limit.rlim_max};
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &tight), 0);
        int r = supervisor_start(&box.supervisor, &box.plan, &box.options, &box.result);
        if (r == 0)
            finish();
        else
            supervisor_finish(&box.supervisor);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
        while (count > 0)
            close(held[--count]);
        CHECK(box.result.status == STATUS_OK || box.result.status == STATUS_INTERNAL_ERROR);
        worked = box.result.status == STATUS_OK;
        if (!worked)
            CHECK(box.result.error.errnum == EMFILE || box.result.error.errnum == ENFILE);
        result_release(&box.result);
        arena_free(&box.arena);
        CHECK_INT(open_descriptors(), before);
    }
    CHECK(worked);
}

TEST(root_becomes_a_user_of_its_own_for_the_run)
{
    char dir[] = "/tmp/cordon-sup-XXXXXX";
    if (geteuid() != 0)
        test_skip("only root changes its user");
    prepare(PROFILE_STAGE);
    CHECK(test_directory(dir) != NULL);
    CHECK_INT(policy_add_bind(&box.policy.rw, &box.arena, dir, "/data", false, NULL), 0);
    CHECK_INT(start("tr -s ' ' </proc/self/uid_map; echo x > /data/made"), 0);
    finish();
    char want[64];
    snprintf(want, sizeof want, " 65534 %u 1\n", box.plan.uid_host);
    CHECK(box.plan.uid_host != 0);
    char made[64];
    struct stat st;
    snprintf(made, sizeof made, "%s/made", dir);
    CHECK_INT(stat(made, &st), 0);
    CHECK_INT(st.st_uid, 0); /* mapped back: the caller owns what was made for it */
    unlink(made);
    rmdir(dir);
    check_end(STATUS_OK, want);
}
