/*
 * What could not be made is NULL, and a caller may hand it on before looking. Each function of the
 * headers that takes an object takes that one, too, and says so.
 */
#include "box.h"

#include <errno.h>
#include <sys/resource.h>

static char *const command[] = {(char[]){"true"}, NULL};

static void refused(const struct cordon_error *err, const char *why)
{
    CHECK_INT(err->kind, CORDON_ERROR_USAGE);
    CHECK_INT(err->errnum, EINVAL);
    CHECK_STR(err->why, why);
}

#define NO_POLICY(call)               \
    do {                              \
        err = (struct cordon_error){0}; \
        CHECK_INT(call, -EINVAL);     \
        refused(&err, "no policy");   \
    } while (0)

TEST(no_policy_can_be_neither_changed_nor_run)
{
    struct cordon_error err = {0};
    NO_POLICY(cordon_policy_add_ro(NULL, "/usr", NULL, &err));
    NO_POLICY(cordon_policy_add_rw(NULL, "/usr", NULL, &err));
    NO_POLICY(cordon_policy_allow_env(NULL, "A", &err));
    NO_POLICY(cordon_policy_set_env(NULL, "A", "b", &err));
    NO_POLICY(cordon_policy_set_limit(NULL, "pids", 1, &err));
    NO_POLICY(cordon_policy_set_net(NULL, "none", &err));
    cordon_policy_allow_partial(NULL, 1);
    CHECK(cordon_policy_json(NULL) == NULL);
    cordon_policy_free(NULL);
    CHECK(cordon_run(NULL, command, NULL, &err) == NULL);
    refused(&err, "no policy");
    err = (struct cordon_error){0};
    CHECK(cordon_start(NULL, command, NULL, &err) == NULL);
    refused(&err, "no policy");
    CHECK(cordon_run(NULL, command, NULL, NULL) == NULL); /* nor need there be room for the error */
}

TEST(no_word_changes_nothing)
{
    struct cordon_policy *policy = stage();
    struct cordon_error err = {0};
    char *before = cordon_policy_json(policy);
    CHECK(cordon_policy_new(NULL, &err) == NULL);
    refused(&err, "no profile");
    CHECK(cordon_policy_parse(NULL, 0, &err) == NULL);
    refused(&err, "no document");
    CHECK_INT(cordon_policy_add_ro(policy, NULL, NULL, &err), -EINVAL);
    CHECK_INT(cordon_policy_add_rw(policy, NULL, "/x", &err), -EINVAL);
    CHECK_INT(cordon_policy_allow_env(policy, NULL, &err), -EINVAL);
    CHECK_INT(cordon_policy_set_env(policy, NULL, "b", &err), -EINVAL);
    CHECK_INT(cordon_policy_set_env(policy, "A", NULL, &err), -EINVAL);
    CHECK_INT(cordon_policy_set_limit(policy, NULL, 1, &err), -EINVAL);
    CHECK_INT(cordon_policy_set_net(policy, NULL, &err), -EINVAL);
    char *after = cordon_policy_json(policy);
    CHECK_STR(after, before);
    CHECK(cordon_call(NULL, "null", 4, NULL, &err) == NULL);
    refused(&err, "no module id");
    CHECK(cordon_call_start(NULL, "null", 4, NULL, &err) == NULL);
    CHECK(cordon_call("a.b", NULL, 0, NULL, &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_USAGE);
    free(before);
    free(after);
    cordon_policy_free(policy);
}

TEST(no_sandbox_is_over_and_gives_no_result)
{
    size_t len = 1;
    CHECK_INT(cordon_sandbox_fd(NULL), -1);
    CHECK_INT(cordon_sandbox_step(NULL), 1);
    CHECK_STR(cordon_sandbox_stdout(NULL, &len), "");
    CHECK_INT(len, 0);
    CHECK_STR(cordon_sandbox_stderr(NULL, &len), "");
    cordon_sandbox_kill(NULL);
    CHECK(cordon_sandbox_wait(NULL) == NULL);
}

TEST(no_result_is_never_a_good_one)
{
    struct cordon_enforcement entry = {.applied = 1};
    char text[64];
    size_t len = 1;
    check_status(NULL, "INTERNAL_ERROR");
    CHECK_INT(cordon_result_rc(NULL), 1);
    CHECK_STR(cordon_result_reason(NULL), "there is no result");
    CHECK_INT(cordon_result_exit_code(NULL), -1);
    CHECK_INT(cordon_result_signal(NULL), 0);
    CHECK_INT(cordon_result_duration_ms(NULL), 0);
    CHECK_STR(cordon_result_stdout(NULL, &len), "");
    CHECK_INT(len, 0);
    CHECK_STR(cordon_result_stderr(NULL, &len), "");
    CHECK_INT(cordon_result_enforced(NULL, "network", &entry), 0);
    CHECK_INT(entry.applied, 0);
    CHECK_STR(entry.requested, "null");
    CHECK_INT(cordon_result_error(NULL)->errnum, EINVAL);
    CHECK(cordon_result_json(NULL) == NULL);
    CHECK(cordon_result_value(NULL, &len) == NULL);
    CHECK_INT(len, 0);
    CHECK(cordon_result_module_id(NULL) == NULL);
    cordon_result_free(NULL);
    CHECK_INT(cordon_error_format(NULL, text, sizeof text), 0); /* cordon_result_error() of a run */
    CHECK_STR(text, "");
}

#define NO_ROOT(call)                                     \
    do {                                                  \
        struct cordon_root_error err = {0};               \
        CHECK_INT(call, -EINVAL);                         \
        CHECK_STR(err.code, "ERR_INVALID_ARG_VALUE");     \
        CHECK(strstr(err.message, "there is no root") != NULL); \
    } while (0)

TEST(no_root_has_no_files)
{
    struct cordon_root_data data;
    struct cordon_root_stat st;
    struct cordon_root_entries entries;
    bool there;
    NO_ROOT(cordon_root_read_file(NULL, "a", 0, &data, &err));
    NO_ROOT(cordon_root_lock_file(NULL, "a", 1, &err));
    NO_ROOT(cordon_root_stat(NULL, "a", &st, &err));
    NO_ROOT(cordon_root_lstat(NULL, "a", &st, &err));
    NO_ROOT(cordon_root_exists(NULL, "a", &there, &err));
    NO_ROOT(cordon_root_readlink(NULL, "a", &data, &err));
    NO_ROOT(cordon_root_realpath(NULL, "a", &data, &err));
    NO_ROOT(cordon_root_get_listing(NULL, "a", &entries, &err));
    NO_ROOT(cordon_root_readdir(NULL, "a", true, &entries, &err));
}

TEST(no_root_is_changed)
{
    const char *names[] = {"a"};
    NO_ROOT(cordon_root_append_file(NULL, "a", "x", 1, &err));
    NO_ROOT(cordon_root_write_file(NULL, "a", "x", 1, true, &err));
    NO_ROOT(cordon_root_write_patch(NULL, "a", "[]", 2, "", false, &err));
    NO_ROOT(cordon_root_write_file_delta(NULL, "a", "xy", 2, "x", 1, 1, false, &err));
    NO_ROOT(cordon_root_write_file_delta(NULL, "a", "xy", 2, NULL, 0, 1024, false, &err));
    NO_ROOT(cordon_root_truncate(NULL, "a", 0, &err));
    NO_ROOT(cordon_root_chmod(NULL, "a", 0600, &err));
    NO_ROOT(cordon_root_utimes(NULL, "a", 0, 0, &err));
    NO_ROOT(cordon_root_mkdir(NULL, "a", true, 0777, &err));
    NO_ROOT(cordon_root_rmdir(NULL, "a", true, &err));
    NO_ROOT(cordon_root_unlink(NULL, "a", &err));
    NO_ROOT(cordon_root_rename(NULL, "a", "b", &err));
    NO_ROOT(cordon_root_move(NULL, "a", "b", true, &err));
    NO_ROOT(cordon_root_link(NULL, "a", "b", &err));
    NO_ROOT(cordon_root_symlink(NULL, "a", "b", &err));
    NO_ROOT(cordon_root_copy_file(NULL, "a", "b", &err));
    NO_ROOT(cordon_root_cp(NULL, "a", "b", NULL, &err));
    NO_ROOT(cordon_root_cp_list(NULL, names, 1, "b", NULL, &err));
    NO_ROOT(cordon_root_rm(NULL, names, 1, NULL, &err));
    NO_ROOT(cordon_root_rm(NULL, names, 0, NULL, &err));
    CHECK_INT(cordon_root_unlink(NULL, "a", NULL), -EINVAL);
}

TEST(no_root_has_no_events_and_no_tools)
{
    struct cordon_root_watch *watch = NULL;
    struct cordon_root_sync_event event;
    struct cordon_root_tool_result result;
    struct cordon_root_counters counters = {.calls = 1};
    const char *args[] = {"."};
    NO_ROOT(cordon_root_watch_open(NULL, "a", NULL, &watch, &err));
    NO_ROOT(cordon_root_sync_fs_watch(NULL, "a", true, &err));
    NO_ROOT(cordon_root_sync_next(NULL, -1, &event, &err));
    NO_ROOT(cordon_root_tool(NULL, "find", args, 1, NULL, &result, &err));
    cordon_root_counters(NULL, &counters);
    CHECK_INT(counters.calls, 0);
    cordon_root_close(NULL);
}

TEST(no_options_open_no_root)
{
    struct cordon_root *root = NULL;
    struct cordon_root_error err = {0};
    CHECK_INT(cordon_root_open(NULL, &root, &err), -EINVAL);
    CHECK_STR(err.code, "ERR_INVALID_ARG_VALUE");
}

TEST(no_watch_has_ended)
{
    struct cordon_root_event event;
    struct cordon_root_error err = {0};
    CHECK_INT(cordon_root_watch_next(NULL, -1, &event, &err), -EINVAL);
    CHECK_STR(err.message, "there is no watch");
    CHECK(cordon_root_watch_done(NULL));
    CHECK_INT(cordon_root_watch_queue_size(NULL), 0);
    cordon_root_watch_ignore(NULL, 1);
    cordon_root_watch_end(NULL);
    cordon_root_watch_close(NULL);
}

TEST(options_whose_size_was_forgotten_are_refused)
{
    struct cordon_policy *policy = stage();
    struct cordon_error err = {0};
    const struct cordon_run_options run = {.input = "precious", .input_len = 8};
    const struct cordon_call_options call = {.policy = policy};
    CHECK(cordon_run(policy, command, &run, &err) == NULL);
    refused(&err, "the size of the options is not set");
    err = (struct cordon_error){0};
    CHECK(cordon_call("a.b", "null", 4, &call, &err) == NULL);
    refused(&err, "the size of the options is not set");
    cordon_policy_free(policy);
}

TEST(options_of_a_program_that_knows_fewer_are_taken_as_far_as_they_go)
{
    struct cordon_policy *policy = stage();
    const struct cordon_run_options options = {.size = offsetof(struct cordon_run_options, env),
                                               .input = "precious",
                                               .input_len = 8,
                                               .env = (char *const *)1};
    char *const argv[] = {(char[]){"cat"}, NULL};
    struct cordon_result *result = cordon_run(policy, argv, &options, NULL);
    check_status(result, "OK");
    check_output(result, "precious");
    cordon_result_free(result);
    cordon_policy_free(policy);
}

/* No descriptor is not no memory. */
TEST(input_that_cannot_be_kept_says_why)
{
    struct cordon_policy *policy = stage();
    struct cordon_error err = {0};
    const struct cordon_run_options options = {.size = sizeof options, .input = "precious", .input_len = 8};
    struct rlimit before;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK(cordon_run(policy, command, &options, &err) == NULL);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0); /* a sanitizer opens files at the end */
    CHECK_INT(err.kind, CORDON_ERROR_SETUP);
    CHECK_INT(err.errnum, EMFILE);
    cordon_policy_free(policy);
}
