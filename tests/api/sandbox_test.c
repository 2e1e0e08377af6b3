/* Runs by the public interface: in one call, and step by step. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"

TEST(a_run_gives_output_code_and_ledger)
{
    struct cordon_policy *policy = stage();
    struct cordon_result *result = run_script(policy, "echo out; echo err >&2; exit 3");
    check_status(result, "NONZERO_EXIT");
    check_output(result, "out\n");
    size_t len = 0;
    CHECK(memcmp(cordon_result_stderr(result, &len), "err\n", 4) == 0 && len == 4);
    CHECK_INT(cordon_result_exit_code(result), 3);
    CHECK_INT(cordon_result_rc(result), 3);
    CHECK_INT(cordon_result_signal(result), 0);
    CHECK(cordon_result_error(result) == NULL);
    struct cordon_enforcement e;
    CHECK_INT(cordon_result_enforced(result, "network", &e), 0);
    CHECK(e.applied);
    CHECK_STR(e.requested, "\"none\"");
    CHECK_INT(cordon_result_enforced(result, "teleport", &e), -ENOENT);
    CHECK(strstr(cordon_result_json(result), "\"status\": \"NONZERO_EXIT\"") != NULL ||
          strstr(cordon_result_json(result), "\"status\":\"NONZERO_EXIT\"") != NULL);
    cordon_result_free(result);
    cordon_result_free(NULL);
    cordon_policy_free(policy);
}

TEST(a_command_that_does_not_exist_is_a_result_not_a_missing_one)
{
    struct cordon_policy *policy = stage();
    char *const argv[] = {(char[]){"no-such-command"}, NULL};
    struct cordon_result *result = cordon_run(policy, argv, NULL, NULL);
    check_status(result, "SPAWN_FAILED");
    CHECK_INT(cordon_result_rc(result), 127);
    CHECK_INT(cordon_result_error(result)->kind, CORDON_ERROR_NOT_FOUND);
    CHECK_INT(cordon_result_exit_code(result), -1);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(a_missing_bind_source_is_a_result_that_names_it)
{
    struct cordon_policy *policy = stage();
    CHECK_INT(cordon_policy_add_ro(policy, "/no/such/place", "/data", NULL), 0);
    struct cordon_result *result = run_script(policy, "true");
    check_status(result, "INTERNAL_ERROR");
    CHECK_STR(cordon_result_error(result)->subject, "/no/such/place");
    struct cordon_enforcement e;
    CHECK_INT(cordon_result_enforced(result, "filesystem", &e), 0);
    CHECK(!e.applied);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(input_of_any_size_arrives_whole)
{
    struct cordon_policy *policy = stage();
    static char data[300 * 1000];
    memset(data, 'x', sizeof data);
    struct cordon_run_options options = {.size = sizeof options, .input = data, .input_len = sizeof data};
    char *const argv[] = {(char[]){"wc"}, (char[]){"-c"}, NULL};
    struct cordon_result *result = cordon_run(policy, argv, &options, NULL);
    check_output(result, "300000\n");
    cordon_result_free(result);
    options.input_len = 0;
    result = cordon_run(policy, argv, &options, NULL);
    check_output(result, "0\n");
    cordon_result_free(result);
    cordon_policy_free(policy);
}

/* A caller that does not ignore SIGPIPE must not die of a payload that does not read. */
TEST(a_payload_that_does_not_read_costs_the_caller_no_signal)
{
    struct cordon_policy *policy = stage();
    static char data[1000 * 1000];
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    struct cordon_run_options options = {.size = sizeof options, .input = data, .input_len = sizeof data};
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exec <&-; sleep 0.2; echo done"}, NULL};
    struct cordon_result *result = cordon_run(policy, argv, &options, NULL);
    check_status(result, "OK");
    check_output(result, "done\n");
    cordon_result_free(result);
    sigset_t pending;
    CHECK_INT(sigpending(&pending), 0);
    CHECK_INT(sigismember(&pending, SIGPIPE), 0);
    cordon_policy_free(policy);
}

TEST(only_the_environment_that_was_given_counts)
{
    struct cordon_policy *policy = stage();
    char *const env[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"LANG=xx"}, (char[]){"SECRET=1"}, NULL};
    const struct cordon_run_options options = {.size = sizeof options, .env = env};
    CHECK_INT(cordon_policy_set_env(policy, "A", "b", NULL), 0);
    CHECK_INT(setenv("LC_ALL", "from the process", 1), 0);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"echo $LANG $LC_ALL $A $SECRET"}, NULL};
    struct cordon_result *result = cordon_run(policy, argv, &options, NULL);
    check_output(result, "xx b\n");
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(steps_never_block_and_the_descriptor_says_when)
{
    struct cordon_policy *policy = stage();
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"sleep 0.3; echo late"}, NULL};
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, NULL, NULL);
    CHECK(sandbox != NULL);
    cordon_policy_free(policy); /* may go now */
    unsigned steps = 0;
    while (cordon_sandbox_step(sandbox) == 0) {
        struct pollfd ready = {.fd = cordon_sandbox_fd(sandbox), .events = POLLIN};
        CHECK_INT(poll(&ready, 1, 20 * 1000), 1);
        steps++;
    }
    CHECK(steps > 0 && steps < 1000); /* woken when there is something, not in circles */
    CHECK_INT(cordon_sandbox_step(sandbox), 1);
    struct cordon_result *result = cordon_sandbox_wait(sandbox);
    check_output(result, "late\n");
    cordon_result_free(result);
}

TEST(output_can_be_seen_while_the_command_runs)
{
    struct cordon_policy *policy = stage();
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"},
                          (char[]){"echo early; echo aside >&2; sleep 60"}, NULL};
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, NULL, NULL);
    CHECK(sandbox != NULL);
    size_t out = 0;
    size_t err = 0;
    while (out < 6 || err < 6) {
        struct pollfd ready = {.fd = cordon_sandbox_fd(sandbox), .events = POLLIN};
        CHECK_INT(poll(&ready, 1, 30000), 1);
        CHECK_INT(cordon_sandbox_step(sandbox), 0);
        cordon_sandbox_stdout(sandbox, &out);
        cordon_sandbox_stderr(sandbox, &err);
    }
    CHECK(memcmp(cordon_sandbox_stdout(sandbox, &out), "early\n", 6) == 0 && out == 6);
    CHECK(memcmp(cordon_sandbox_stderr(sandbox, &err), "aside\n", 6) == 0 && err == 6);
    cordon_sandbox_kill(sandbox);
    cordon_result_free(cordon_sandbox_wait(sandbox));
    cordon_policy_free(policy);
}

TEST(a_step_returns_at_once_while_nothing_happens)
{
    struct cordon_policy *policy = stage();
    char *const argv[] = {(char[]){"sleep"}, (char[]){"20"}, NULL};
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, NULL, NULL);
    alarm(10); /* a step that waited for the end would be killed here */
    for (int k = 0; k < 1000; k++)
        CHECK_INT(cordon_sandbox_step(sandbox), 0);
    cordon_sandbox_kill(sandbox);
    struct cordon_result *result = cordon_sandbox_wait(sandbox);
    check_status(result, "KILLED_KILL");
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(a_killed_sandbox_says_that_it_was_killed)
{
    struct cordon_policy *policy = stage();
    char dir[] = "/tmp/cordon-test-XXXXXX";
    char mark[64];
    CHECK(test_directory(dir) != NULL);
    snprintf(mark, sizeof mark, "%s/mark", dir);
    CHECK_INT(cordon_policy_add_rw(policy, dir, "/data", NULL), 0);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"echo begun; touch /data/mark; sleep 20"}, NULL};
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, NULL, NULL);
    while (access(mark, F_OK) != 0) { /* it runs */
        CHECK_INT(cordon_sandbox_step(sandbox), 0);
        usleep(1000);
    }
    unlink(mark);
    rmdir(dir);
    cordon_sandbox_kill(sandbox);
    cordon_sandbox_kill(sandbox); /* again is fine */
    struct cordon_result *result = cordon_sandbox_wait(sandbox);
    check_status(result, "KILLED_KILL");
    CHECK_INT(cordon_result_rc(result), 137);
    CHECK_INT(cordon_result_signal(result), SIGKILL);
    check_output(result, "begun\n");
    struct cordon_enforcement e;
    CHECK_INT(cordon_result_enforced(result, "processes", &e), 0);
    CHECK(e.applied);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(a_sandbox_that_was_killed_before_it_began_ends_as_well)
{
    struct cordon_policy *policy = stage();
    char *const argv[] = {(char[]){"true"}, NULL};
    for (int k = 0; k < 20; k++) {
        struct cordon_sandbox *sandbox = cordon_start(policy, argv, NULL, NULL);
        cordon_sandbox_kill(sandbox);
        struct cordon_result *result = cordon_sandbox_wait(sandbox);
        CHECK(strcmp(cordon_result_status(result), "KILLED_KILL") == 0 ||
              strcmp(cordon_result_status(result), "OK") == 0);
        cordon_result_free(result);
    }
    cordon_policy_free(policy);
}

TEST(a_wall_limit_ends_a_run_that_nobody_watches)
{
    struct cordon_policy *policy = stage();
    CHECK_INT(cordon_policy_set_limit(policy, "wall_ms", 300, NULL), 0);
    CHECK_INT(cordon_policy_set_limit(policy, "grace_ms", 0, NULL), 0);
    struct cordon_result *result = run_script(policy, "trap '' TERM; sleep 20");
    check_status(result, "TIMEOUT");
    CHECK_INT(cordon_result_rc(result), 124);
    CHECK(cordon_result_duration_ms(result) >= 300);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

/* A daemon closes 0 to 2; new pipes then get those numbers. */
TEST(a_caller_without_standard_streams_gets_the_same_answer)
{
    static char data[] = "input";
    const struct cordon_run_options options = {.size = sizeof options, .input = data, .input_len = 5};
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"cat; echo out; echo err >&2"}, NULL};
    struct cordon_policy *policy = stage();
    for (int which = 1; which < 8; which++) {
        int kept[3];
        for (int fd = 0; fd < 3; fd++) {
            kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
            if ((which >> fd & 1) != 0)
                close(fd);
        }
        struct cordon_result *with = cordon_run(policy, argv, &options, NULL);
        struct cordon_result *without = cordon_run(policy, argv, NULL, NULL);
        for (int fd = 0; fd < 3; fd++) {
            dup2(kept[fd], fd);
            close(kept[fd]);
        }
        check_status(with, "OK");
        check_output(with, "inputout\n");
        size_t len = 0;
        CHECK(memcmp(cordon_result_stderr(with, &len), "err\n", 4) == 0 && len == 4);
        check_status(without, "OK");
        check_output(without, "out\n");
        cordon_result_free(with);
        cordon_result_free(without);
    }
    cordon_policy_free(policy);
}

TEST(a_given_trace_id_is_kept)
{
    struct cordon_policy *policy = stage();
    const struct cordon_run_options options = {.size = sizeof options, .trace_id = "0123456789abcdef0123456789abcdef"};
    char *const argv[] = {(char[]){"true"}, NULL};
    struct cordon_result *result = cordon_run(policy, argv, &options, NULL);
    CHECK(strstr(cordon_result_json(result), "0123456789abcdef0123456789abcdef") != NULL);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(a_trace_id_that_is_none_is_refused_and_not_cut)
{
    static const char *const wrong[] = {"", "mine", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdef0"};
    struct cordon_policy *policy = stage();
    char *const argv[] = {(char[]){"true"}, NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct cordon_error err = {0};
        const struct cordon_run_options run = {.size = sizeof run, .trace_id = wrong[i]};
        const struct cordon_call_options call = {.size = sizeof call, .trace_id = wrong[i]};
        CHECK(cordon_run(policy, argv, &run, &err) == NULL);
        CHECK_STR(err.why, "the trace id is not 32 lower-case hex digits");
        err = (struct cordon_error){0};
        CHECK(cordon_call("a.b", "null", 4, &call, &err) == NULL);
        CHECK_INT(err.kind, CORDON_ERROR_USAGE);
        CHECK_STR(err.why, "the trace id is not 32 lower-case hex digits");
    }
    cordon_policy_free(policy);
}

/* A path is bytes; only a document has to be UTF-8. */
TEST(bytes_that_are_not_utf8_are_taken_as_they_are)
{
    char dir[] = "/tmp/cordon-bytes-XXXXXX";
    char path[64];
    struct cordon_policy *policy = stage();
    CHECK(test_directory(dir) != NULL && chmod(dir, 0755) == 0);
    snprintf(path, sizeof path, "%s/caf\xe9", dir);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs("text", f) >= 0 && fclose(f) == 0 && chmod(path, 0644) == 0);
    CHECK_INT(cordon_policy_add_ro(policy, path, "/caf\xe9", NULL), 0);
    CHECK_INT(cordon_policy_set_env(policy, "NAME", "caf\xe9", NULL), 0);
    struct cordon_result *result = run_script(policy, "printf %s \"$NAME\"; cat \"/$NAME\"");
    check_output(result, "caf\xe9text");
    cordon_result_free(result);
    cordon_policy_free(policy);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(dir), 0);
}

/* With all that it leaves out, and a line for each word, a document grows: it was read, and so it runs. */
TEST(a_policy_may_be_longer_than_a_document)
{
    enum { BINDS = 8000, ROOM = 1024 * 1024 };
    struct cordon_error err = {0};
    char *text = malloc(ROOM);
    CHECK(text != NULL);
    size_t len = (size_t)snprintf(text, ROOM, "{\"version\":1,\"fs\":{\"ro\":[");
    for (int i = 0; i < BINDS; i++)
        len += (size_t)snprintf(text + len, ROOM - len,
                                "%s{\"host\":\"/no/such/place/of/any/host/that/we/have/seen/%04d\","
                                "\"sandbox\":\"/srv/%04d\",\"optional\":true}",
                                i == 0 ? "" : ",", i, i);
    len += (size_t)snprintf(text + len, ROOM - len, "]}}");
    CHECK(len < ROOM);
    struct cordon_policy *policy = cordon_policy_parse(text, len, &err);
    CHECK(policy != NULL);
    char *normal = cordon_policy_json(policy);
    CHECK(normal != NULL && strlen(normal) > ROOM);
    struct cordon_result *result = run_script(policy, "echo ran");
    check_output(result, "ran\n");
    cordon_result_free(result);
    cordon_policy_free(policy);
    free(normal);
    free(text);
}

/* As of the command: what is tolerated in a document is not forgotten. */
TEST(warnings_about_the_policy_are_in_the_result)
{
    static const char text[] = "{\"ro_binds\": [], \"network\": false, \"env_allowlist\": [\"PATH\", \"PYTHONPATH\"],"
                               " \"networks\": true}";
    struct cordon_policy *policy = cordon_policy_parse(text, sizeof text - 1, NULL);
    CHECK(policy != NULL);
    struct cordon_result *result = run_script(policy, "true");
    check_status(result, "OK");
    const char *json = cordon_result_json(result);
    CHECK(strstr(json, "unknown key '/networks' has no effect") != NULL);
    CHECK(strstr(json, "'PYTHONPATH' is a loader variable and passes") != NULL);
    CHECK(strstr(json, "(policy /env/allow/1)") != NULL);
    cordon_result_free(result);
    cordon_policy_free(policy);
}
