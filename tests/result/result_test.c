#include "result/result.h"

#include <signal.h>

#include "../harness.h"

static struct result r;

static void begin(enum status status)
{
    result_init(&r);
    r.status = status;
}

static void exits(int child, int normalized)
{
    CHECK_INT(result_exit_child(&r), child);
    CHECK_INT(result_exit_normalized(&r), normalized);
}

TEST(a_fresh_result_claims_nothing)
{
    result_init(&r);
    CHECK_INT(r.status, STATUS_INTERNAL_ERROR);
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        CHECK(!r.ledger.entries[i].applied);
        CHECK_STR(ledger_requested(&r.ledger.entries[i]), "null");
        CHECK_STR(ledger_mechanism(&r.ledger.entries[i]), "none");
    }
    exits(125, 1);
    result_release(&r);
}

TEST(the_table_of_exit_statuses)
{
    static const struct {
        enum status status;
        int both;
    } table[] = {{STATUS_OK, 0},           {STATUS_TIMEOUT, 124},     {STATUS_CPU_LIMIT, 152},
                 {STATUS_MEM_LIMIT, 137},  {STATUS_KILLED_TERM, 143}, {STATUS_KILLED_KILL, 137},
                 {STATUS_FORBIDDEN_SYSCALL, 159}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        begin(table[i].status);
        exits(table[i].both, table[i].both);
    }
}

TEST(the_childs_own_ending_shows_through)
{
    begin(STATUS_NONZERO_EXIT);
    r.exited = true;
    r.exit_code = 3;
    exits(3, 3);
    begin(STATUS_SIGNALED);
    r.signal = SIGSEGV;
    exits(139, 139);
}

TEST(statuses_beyond_the_older_table)
{
    begin(STATUS_OUTPUT_LIMIT);
    r.signal = SIGKILL;
    exits(153, 137);
    begin(STATUS_OUTPUT_PARSE_FAILED);
    r.exited = true;
    exits(65, 1);
    begin(STATUS_SPAWN_FAILED);
    r.error.kind = CORDON_ERROR_NOT_FOUND;
    exits(127, 1);
    r.error.kind = CORDON_ERROR_NOT_EXECUTABLE;
    exits(126, 1);
}

TEST(a_hidden_violation_is_not_a_success)
{
    begin(STATUS_POLICY_VIOLATION);
    r.exited = true;
    exits(1, 1);
    r.exit_code = 7;
    exits(7, 7);
}

TEST(a_usage_error_exits_2_and_a_failed_set_up_125)
{
    begin(STATUS_INTERNAL_ERROR);
    r.error.kind = CORDON_ERROR_POLICY;
    CHECK_INT(result_exit_child(&r), 2);
    r.error.kind = CORDON_ERROR_SETUP;
    CHECK_INT(result_exit_child(&r), 125);
}

TEST(the_callers_signal_decides)
{
    begin(STATUS_KILLED_TERM);
    r.signal = SIGTERM;
    r.caller_signal = SIGINT;
    CHECK_INT(result_exit_child(&r), 130);
}

TEST(reasons_are_cut_and_warnings_have_a_maximum)
{
    begin(STATUS_OK);
    static char lengthy[1000];
    memset(lengthy, 'x', sizeof lengthy - 1);
    result_reason(&r, "%s", lengthy);
    CHECK_INT(strlen(r.reason), sizeof r.reason - 1);
    for (int i = 0; i < 20; i++)
        result_warn(&r, "warning %d", i);
    CHECK_INT(r.warning_count, RESULT_WARNINGS);
    CHECK_STR(r.warnings[15], "warning 15");
}

TEST(a_document_leaves_room_for_what_the_run_has_to_say)
{
    begin(STATUS_OK);
    for (int i = 0; i < 100; i++)
        result_warn_document(&r, "an odd key");
    CHECK_INT(r.warning_count, 8);
    CHECK_STR(r.warnings[6], "an odd key");
    CHECK_STR(r.warnings[7], "there is more to be said of the policy: cordon policy check does");
    result_warn(&r, "nothing is isolated");
    CHECK_STR(r.warnings[8], "nothing is isolated");
}

TEST(status_names)
{
    for (int i = 0; i < STATUS_COUNT; i++)
        CHECK(status_name((enum status)i)[0] >= 'A');
    CHECK_STR(status_name(STATUS_FORBIDDEN_SYSCALL), "FORBIDDEN_SYSCALL");
}
