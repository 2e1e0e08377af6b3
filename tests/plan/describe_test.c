/* The words of the ledger and of --dry-run. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "invent.h"

static struct plan_words words(const struct invented *i, enum capability c)
{
    struct plan_words out;
    plan_describe(&i->plan, c, &out);
    return out;
}

static void says(const struct invented *i, enum capability c, const char *part)
{
    struct plan_words w = words(i, c);
    if (strstr(w.details, part) == NULL)
        test_fail(__FILE__, __LINE__, "%s says \"%s\", not \"%s\"", capability_name(c), w.details, part);
}

TEST(what_was_asked_for_is_the_value_itself)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    CHECK_STR(words(&i, CAP_WALL_TIME).requested, "30000");
    CHECK_STR(words(&i, CAP_MEMORY).requested, "536870912");
    CHECK_STR(words(&i, CAP_PIDS).requested, "32");
    CHECK_STR(words(&i, CAP_FILESYSTEM).requested, "\"view\"");
    CHECK_STR(words(&i, CAP_NETWORK).requested, "\"none\"");
    CHECK_STR(words(&i, CAP_SYSCALLS).requested, "\"default\"");
    CHECK_STR(words(&i, CAP_PRIVILEGES).requested, "true");
    CHECK_STR(words(&i, CAP_IPC).requested, "\"private\"");
    CHECK_STR(words(&i, CAP_CPU_RATE).requested, "null");
    i.policy.limits.cpus = 1.25;
    give_cgroups(&i, CGROUP_V2);
    CHECK_INT(compile(&i), 0);
    CHECK_STR(words(&i, CAP_CPU_RATE).requested, "1.25");
    arena_free(&i.arena);
}

TEST(what_nobody_asked_for_is_null)
{
    struct invented i = invented(PROFILE_TEST);
    CHECK_INT(compile(&i), 0);
    CHECK_STR(words(&i, CAP_MEMORY).requested, "null");
    CHECK_STR(words(&i, CAP_MEMORY).details, "not asked for");
    CHECK_STR(words(&i, CAP_NETWORK).requested, "null");
    CHECK_STR(words(&i, CAP_FILESYSTEM).requested, "\"guard\"");
    arena_free(&i.arena);
}

/* Every rung says its own tolerance. */
TEST(details_say_how_well_a_limit_holds)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_WALL_TIME, "SIGTERM at 30000 ms, everything inside is killed 2000 ms later");
    says(&i, CAP_CPU_TIME, "sampled");
    says(&i, CAP_CPU_TIME, "SIGCHLD ignored");
    says(&i, CAP_MEMORY, "64 MiB over the limit are possible");
    says(&i, CAP_MEMORY, "shared memory without a file are refused");
    says(&i, CAP_PIDS, "RLIMIT_NPROC");
    says(&i, CAP_OPEN_FILES, "for each process");
    says(&i, CAP_OUTPUT, "more is counted and dropped; output that passes through is not cut");
    give_cgroups(&i, CGROUP_V2);
    i.host.cgroup.controllers[CGROUP_MEMORY].route = CGROUP_ROUTE_ANCESTOR;
    i.policy.limits.output_given = true;
    i.policy.limits.on_overflow = OVERFLOW_KILL;
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_CPU_TIME, "100 ms on each core");
    says(&i, CAP_MEMORY, "enforced by the kernel");
    says(&i, CAP_MEMORY, "limits of the caller's own do not hold inside");
    says(&i, CAP_PIDS, "threads too");
    CHECK_STR(words(&i, CAP_OUTPUT).details, "each stream; more ends the run");
    arena_free(&i.arena);
}

TEST(details_say_what_a_guard_leaves_open)
{
    struct invented i = invented(PROFILE_LIMITS);
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_ENVIRONMENT, "all variables but the denied ones");
    says(&i, CAP_IPC, "sockets and fifos outside /run can");
    bind_in(&i, &i.policy.ro, "/run/user", "/run/user");
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_IPC, "sockets and fifos can");
    arena_free(&i.arena);
}

TEST(details_say_what_is_weaker)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_FILESYSTEM, "it does not check truncate() before ABI 3");
    says(&i, CAP_PRIVILEGES, "supplementary groups that stay: 3");
    CHECK(strstr(words(&i, CAP_PRIVILEGES).details, "handler") == NULL);
    i.host.crash_handler = true;
    says(&i, CAP_PRIVILEGES, "a crash starts the host's handler");
    i.host.landlock_abi = 0;
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_FILESYSTEM, "there is no second layer");
    i.host.landlock_abi = 6;
    i.policy.net = NET_HOST;
    bind_in(&i, &i.policy.ro, "/srv", "/srv");
    CHECK_INT(compile(&i), 0);
    CHECK_STR(words(&i, CAP_FILESYSTEM).details, "Landlock ABI 6 is the second layer");
    says(&i, CAP_IPC, "abstract sockets outside cannot be reached");
    says(&i, CAP_IPC, "unix sockets and fifos inside the listed binds can be reached");
    i.host.landlock_abi = 5;
    CHECK_INT(compile(&i), 0);
    CHECK_STR(words(&i, CAP_IPC).requested, "\"private, but abstract sockets of the host's network\"");
    i.host.uid = 0;
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_PRIVILEGES, "a host uid that only this run uses");
    arena_free(&i.arena);
}

TEST(a_guard_says_that_named_sockets_stay_reachable)
{
    struct invented i = invented(PROFILE_TEST);
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_IPC, "unix sockets and fifos outside /run can still be reached");
    arena_free(&i.arena);
}

TEST(loopback_and_killing_filters_are_named)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.net = NET_LOOPBACK;
    i.policy.on_forbidden = FORBIDDEN_KILL_SOCKETS;
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_NETWORK, "an own loopback interface and no other");
    says(&i, CAP_SYSCALLS, "a forbidden call fails, a socket kills");
    i.plan.bwrap = "/usr/bin/bwrap"; /* by it, too */
    says(&i, CAP_SYSCALLS, "a forbidden call fails, a socket kills; ptrace");
    i.policy.on_forbidden = FORBIDDEN_KILL;
    CHECK_INT(compile(&i), 0);
    says(&i, CAP_SYSCALLS, "a forbidden call kills");
    arena_free(&i.arena);
}

TEST(the_printed_plan_has_a_line_for_every_step_and_claim)
{
    struct invented i = invented(PROFILE_STAGE);
    BUF_AUTO out = BUF_INIT(1 << 20);
    static char bell[] = "a\a\x1b[31mb";
    i.command[1] = bell;
    bind_in(&i, &i.policy.rw, "/srv/x\ny", "/data/x\ny");
    CHECK_INT(compile(&i), 0);
    plan_print(&i.plan, &out);
    const char *text = buf_string(&out);
    CHECK(text != NULL && !out.failed);
    CHECK(strstr(text, "command   true a\\x07\\x1b[31mb\n") != NULL); /* ruling 16.15 */
    CHECK(strstr(text, "directory /work\n") != NULL);
    CHECK(strstr(text, "uid 65534 gid 65534 inside, uid 1000 gid 1000 on the host\n") != NULL);
    CHECK(strstr(text, "spaces    user mount pid uts ipc cgroup net\n") != NULL);
    CHECK(strstr(text, "  HOME=/work\n") != NULL);
    CHECK(strstr(text, "  bind      /usr <- /usr ro\n") != NULL);
    CHECK(strstr(text, "  bind      /data/x\\ny <- /srv/x\\ny\n") != NULL);
    CHECK(strstr(text, "  bind      /etc/ld.so.cache <- /etc/ld.so.cache ro if present\n") != NULL);
    CHECK(strstr(text, "  link      /bin -> usr/bin\n") != NULL);
    CHECK(strstr(text, "  tmpfs     /tmp 67108864 bytes\n") != NULL);
    CHECK(strstr(text, "  proc      /proc\n") != NULL);
    for (int c = 0; c < CAPABILITY_ALWAYS; c++) {
        char line[64];
        snprintf(line, sizeof line, "\n  %-12s ", capability_name((enum capability)c));
        CHECK(strstr(text, line) != NULL);
    }
    for (const char *p = text; *p != '\0'; p++)
        CHECK(*p == '\n' || (unsigned char)*p >= ' ');
    arena_free(&i.arena);
}
