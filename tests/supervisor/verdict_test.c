/* Every status by invented evidence, and who wins where several apply. */
#include "supervisor/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../harness.h"
#include "../plan/invent.h"

/* A run of the default profile that has ended well; each test takes something away. */
static struct {
    struct invented made;
    struct shared shared;
    struct supervisor s;
    struct result result;
} run;

static void ended_well(void)
{
    arena_free(&run.made.arena); /* of the row before */
    memset(&run, 0, sizeof run);
    run.made = invented(PROFILE_STAGE);
    CHECK_INT(compile(&run.made), 0);
    run.shared = (struct shared){.executing = true, .ended = true, .proof = ~0u, .processes = 1};
    run.s.plan = &run.made.plan;
    run.s.spawn.shared = &run.shared;
    run.s.init_gone = true;
    run.s.wishes.ledger = true;
    result_init(&run.result);
}

static void concludes(enum status status, int rc, const char *reason)
{
    verdict(&run.s, &run.result);
    if (run.result.status != status)
        test_fail(__FILE__, __LINE__, "%s (%s), expected %s", status_name(run.result.status),
                  run.result.reason, status_name(status));
    CHECK_INT(run.result.rc, rc);
    CHECK_STR(run.result.reason, reason);
    arena_free(&run.made.arena);
}

static int exited(int code)
{
    return code << 8;
}

TEST(ok_has_no_reason)
{
    ended_well();
    concludes(STATUS_OK, 0, "");
    CHECK(run.result.exited);
}

TEST(an_exit_code_is_the_childs)
{
    ended_well();
    run.shared.status = exited(42);
    concludes(STATUS_NONZERO_EXIT, 42, "exited with 42");
    CHECK_INT(run.result.exit_code, 42);
}

TEST(signals_have_their_own_names)
{
    ended_well();
    run.shared.status = SIGSEGV;
    concludes(STATUS_SIGNALED, 139, "ended by SIGSEGV (signal 11)");
    ended_well();
    run.shared.status = SIGTERM;
    concludes(STATUS_KILLED_TERM, 143, "ended by SIGTERM (signal 15)");
    ended_well();
    run.shared.status = SIGKILL; /* by whomever: no evidence of a limit */
    concludes(STATUS_KILLED_KILL, 137, "ended by SIGKILL (signal 9)");
}

TEST(sigsys_is_forbidden_only_where_a_killing_filter_is_loaded)
{
    ended_well();
    run.shared.status = SIGSYS;
    concludes(STATUS_SIGNALED, 159, "ended by SIGSYS (signal 31)");
    ended_well();
    run.shared.status = SIGSYS;
    run.made.plan.on_forbidden = FORBIDDEN_KILL;
    concludes(STATUS_FORBIDDEN_SYSCALL, 159,
              "ended by SIGSYS (signal 31) for a forbidden system call (on_forbidden: kill)");
    ended_well();
    run.shared.status = SIGSYS;
    run.made.plan.on_forbidden = FORBIDDEN_KILL_SOCKETS;
    concludes(STATUS_FORBIDDEN_SYSCALL, 159,
              "ended by SIGSYS (signal 31) for a forbidden socket (on_forbidden: kill_sockets)");
    ended_well();
    run.shared.status = SIGSYS;
    run.made.plan.on_forbidden = FORBIDDEN_KILL;
    run.made.plan.seccomp = SECCOMP_OFF;
    concludes(STATUS_SIGNALED, 159, "ended by SIGSYS (signal 31)");
}

TEST(a_timeout_is_what_the_timer_says)
{
    ended_well();
    run.s.timed_out = true;
    run.shared.status = SIGTERM;
    concludes(STATUS_TIMEOUT, 124, "wall time of 30000 ms reached");
}

TEST(memory_needs_an_event_or_the_watcher)
{
    ended_well();
    run.s.oom = true;
    run.shared.status = SIGKILL;
    concludes(STATUS_MEM_LIMIT, 137, "memory limit of 536870912 bytes reached (oom event of the cgroup)");
    ended_well();
    run.shared.hit = HIT_MEMORY;
    run.shared.status = SIGKILL;
    concludes(STATUS_MEM_LIMIT, 137, "memory limit of 536870912 bytes reached (seen by the watcher)");
}

TEST(an_oom_event_counts_although_the_payload_exited_well)
{
    ended_well();
    run.s.oom = true; /* a child of its was killed */
    concludes(STATUS_MEM_LIMIT, 137, "memory limit of 536870912 bytes reached (oom event of the cgroup)");
}

TEST(cpu_needs_a_measured_use_that_reached_the_limit)
{
    ended_well();
    run.s.cpu_hit = true;
    run.shared.status = SIGKILL;
    concludes(STATUS_CPU_LIMIT, 152, "cpu time of 20000 ms reached");
    ended_well();
    run.shared.hit = HIT_CPU;
    run.shared.status = SIGKILL;
    concludes(STATUS_CPU_LIMIT, 152, "cpu time of 20000 ms reached");
    ended_well();
    run.shared.status = SIGXCPU;
    run.s.cpu_us = 20 * 1000 * 1000;
    concludes(STATUS_CPU_LIMIT, 152, "cpu time of 20000 ms reached");
    ended_well();
    run.shared.status = SIGXCPU; /* somebody sent it */
    run.s.cpu_us = 20 * 1000 * 1000 - 1;
    concludes(STATUS_SIGNALED, 152, "ended by SIGXCPU (signal 24)");
    ended_well();
    run.made.plan.cpu_ms = POLICY_UNLIMITED;
    run.shared.status = SIGXCPU;
    run.s.cpu_us = UINT64_MAX;
    concludes(STATUS_SIGNALED, 152, "ended by SIGXCPU (signal 24)");
}

TEST(an_overflow_names_the_stream)
{
    ended_well();
    run.s.overflow = 1;
    run.s.killed = true;
    run.shared.ended = false;
    concludes(STATUS_OUTPUT_LIMIT, 153, "more than 1048576 bytes on standard output");
    ended_well();
    run.s.overflow = 2;
    concludes(STATUS_OUTPUT_LIMIT, 153, "more than 1048576 bytes on standard error");
}

TEST(a_signal_to_the_caller_is_named)
{
    ended_well();
    run.result.caller_signal = SIGTERM;
    run.shared.status = SIGTERM;
    concludes(STATUS_KILLED_TERM, 143, "the caller sent SIGTERM (signal 15)");
    ended_well();
    run.result.caller_signal = SIGINT;
    concludes(STATUS_SIGNALED, 130, "the caller sent SIGINT (signal 2)");
}

TEST(a_kill_by_the_caller_is_no_failure_of_ours)
{
    ended_well();
    run.s.killed = true;
    run.shared.ended = false;
    concludes(STATUS_KILLED_KILL, 137, "killed by the caller");
    CHECK_INT(run.result.signal, SIGKILL);
    CHECK_INT(run.result.error.kind, CORDON_ERROR_NONE);
}

TEST(what_fails_because_the_caller_ended_it_is_no_failure)
{
    ended_well();
    run.result.caller_signal = SIGTERM;
    run.shared = (struct shared){.failed = true};
    err_set(&run.shared.error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, ESRCH, "set limit", "RLIMIT_CORE");
    concludes(STATUS_KILLED_TERM, 143, "the caller sent SIGTERM (signal 15)");
    CHECK_INT(run.result.error.kind, CORDON_ERROR_NONE);
    CHECK(!run.result.ledger.entries[CAP_FILESYSTEM].applied);
}

TEST(a_kill_that_came_after_the_end_changes_nothing)
{
    ended_well();
    run.s.killed = true;
    run.shared.status = exited(3);
    concludes(STATUS_NONZERO_EXIT, 3, "exited with 3");
}

TEST(an_init_that_was_killed_from_outside_took_the_payload_with_it)
{
    ended_well();
    run.shared.ended = false;
    concludes(STATUS_KILLED_KILL, 137, "ended by SIGKILL (signal 9) to the whole sandbox, from outside");
    CHECK(run.result.ledger.entries[CAP_FILESYSTEM].applied); /* it had run, and held */
    ended_well();
    run.shared.ended = run.shared.executing = false; /* even before it was ready */
    concludes(STATUS_INTERNAL_ERROR, 1, "process: set up the sandbox 'init was killed from outside'");
}

TEST(an_init_that_crashed_is_not_said_to_have_been_killed)
{
    ended_well();
    run.shared.ended = false;
    run.s.init_signal = SIGSEGV;
    concludes(STATUS_KILLED_KILL, 137, "init was ended by SIGSEGV (signal 11), and the whole sandbox with it");
    ended_well();
    run.shared.ended = run.shared.executing = false;
    run.s.init_signal = SIGSEGV;
    concludes(STATUS_INTERNAL_ERROR, 1, "process: set up the sandbox 'init was ended by SIGSEGV (signal 11)'");
}

TEST(a_command_that_is_missing_or_no_program_never_ran)
{
    ended_well();
    run.shared.exec_errno = ENOENT;
    concludes(STATUS_SPAWN_FAILED, 127, "the command was not found inside the sandbox");
    CHECK_INT(run.result.error.kind, CORDON_ERROR_NOT_FOUND);
    CHECK_STR(run.result.error.subject, "true");
    ended_well();
    run.shared.exec_errno = EACCES;
    concludes(STATUS_SPAWN_FAILED, 126, "the command cannot be executed");
    CHECK_INT(run.result.error.kind, CORDON_ERROR_NOT_EXECUTABLE);
    ended_well();
    run.shared.exec_errno = ENOEXEC;
    concludes(STATUS_SPAWN_FAILED, 126, "the command cannot be executed");
    CHECK(strstr(run.result.error.why, "not a program") != NULL);
    ended_well();
    run.shared.exec_errno = ENOENT;
    run.shared.interpreter = true;
    concludes(STATUS_SPAWN_FAILED, 127, "the command was not found inside the sandbox");
    CHECK(strstr(run.result.error.why, "interpreter") != NULL);
}

TEST(the_process_that_gave_up_says_why)
{
    ended_well();
    run.shared.failed = true;
    err_set(&run.shared.error, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, EPERM, "mount", "/x");
    err_set(&run.shared.payload_error, CORDON_ERROR_SETUP, CORDON_LAYER_NETWORK, EIO, "later", "");
    run.shared.payload_failed = true;
    verdict(&run.s, &run.result);
    CHECK_INT(run.result.status, STATUS_INTERNAL_ERROR);
    CHECK_INT(run.result.error.layer, CORDON_LAYER_MOUNTS);
    arena_free(&run.made.arena);
    ended_well();
    run.shared.failed = true; /* init gave up because the payload process did */
    run.shared.payload_failed = true;
    err_set(&run.shared.payload_error, CORDON_ERROR_SETUP, CORDON_LAYER_NETWORK, EIO, "later", "");
    verdict(&run.s, &run.result);
    CHECK_INT(run.result.error.layer, CORDON_LAYER_NETWORK);
    arena_free(&run.made.arena);
}

/* The design's order: each row adds what beats all rows before it. */
TEST(the_stronger_evidence_wins)
{
    static const enum status order[] = {STATUS_KILLED_KILL, STATUS_OUTPUT_LIMIT, STATUS_CPU_LIMIT,
                                        STATUS_MEM_LIMIT, STATUS_TIMEOUT, STATUS_INTERNAL_ERROR};
    for (size_t most = 0; most < sizeof order / sizeof order[0]; most++) {
        ended_well();
        run.shared.status = SIGKILL;
        run.s.overflow = most >= 1 ? 1 : 0;
        run.s.cpu_hit = most >= 2;
        run.s.oom = most >= 3;
        run.s.timed_out = most >= 4;
        if (most >= 5) {
            run.shared.failed = true;
            err_set(&run.shared.error, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, EPERM, "mount", "/x");
        }
        verdict(&run.s, &run.result);
        CHECK_STR(status_name(run.result.status), status_name(order[most]));
        CHECK(strstr(run.result.reason, " and ") == NULL); /* one reason, never two */
        arena_free(&run.made.arena);
    }
}

TEST(the_ledger_claims_only_what_was_proven)
{
    ended_well();
    run.shared.proof = ~(uint32_t)PROOF_LANDLOCK;
    concludes(STATUS_OK, 0, "PARTIAL_ENFORCEMENT");
    CHECK(!run.result.ledger.entries[CAP_FILESYSTEM].applied);
    CHECK(run.result.ledger.entries[CAP_NETWORK].applied);
    ended_well();
    run.shared.failed = true; /* proven, but nothing ran */
    run.shared.executing = false;
    err_set(&run.shared.error, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, EPERM, "mount", "/x");
    verdict(&run.s, &run.result);
    for (int c = 0; c < CAPABILITY_COUNT; c++)
        CHECK(!run.result.ledger.entries[c].applied);
    arena_free(&run.made.arena);
}

TEST(nothing_survives_is_proven_by_the_end_of_init_alone)
{
    ended_well();
    run.shared.proof = ~(uint32_t)(PROOF_EMPTY | PROOF_TIMER);
    concludes(STATUS_OK, 0, "");
    CHECK(run.result.ledger.entries[CAP_PROCESSES].applied);
    ended_well();
    run.shared.proof = ~(uint32_t)(PROOF_EMPTY | PROOF_TIMER);
    run.s.init_gone = false;
    verdict(&run.s, &run.result);
    CHECK(!run.result.ledger.entries[CAP_PROCESSES].applied);
    arena_free(&run.made.arena);
}

TEST(who_dies_long_after_the_limit_did_not_keep_it)
{
    static const uint64_t in_time_us = (30000 + 2000) * UINT64_C(1000) + 4000000;
    for (int late = 0; late < 2; late++) {
        ended_well();
        run.shared.proof = ~(uint32_t)(PROOF_EMPTY | PROOF_TIMER);
        run.s.timed_out = true;
        run.s.started_us = 7000000;
        run.s.ended_us = run.s.started_us + in_time_us + (late ? 2000000 : 0);
        concludes(STATUS_TIMEOUT, 124, "wall time of 30000 ms reached");
        CHECK_INT(run.result.ledger.entries[CAP_WALL_TIME].applied, late == 0);
        CHECK(run.result.ledger.entries[CAP_PROCESSES].applied);
    }
}

TEST(a_partial_run_says_so_where_it_ended_well)
{
    ended_well();
    run.made.plan.claims[CAP_MEMORY].mechanism = NULL;
    concludes(STATUS_OK, 0, "PARTIAL_ENFORCEMENT");
    ended_well();
    run.made.plan.claims[CAP_MEMORY].mechanism = NULL;
    run.s.timed_out = true;
    concludes(STATUS_TIMEOUT, 124, "wall time of 30000 ms reached");
}

TEST(what_it_used_is_the_larger_measure)
{
    ended_well();
    run.s.cpu_us = 1234567;
    run.s.max_rss_bytes = 1000;
    run.shared.mem_peak = 2000;
    run.shared.processes = 7;
    run.shared.keys_shared = true;
    concludes(STATUS_OK, 0, "");
    CHECK_INT(run.result.cpu_ms, 1234);
    CHECK_INT(run.result.max_rss_bytes, 2000);
    CHECK_INT(run.result.processes, 7);
    CHECK_INT(run.result.warning_count, 1);
}
