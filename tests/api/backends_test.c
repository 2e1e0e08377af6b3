/* Backends by the library: on hosts that refuse, and by the name in a document. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "box.h"

#define DENIED (SECCOMP_RET_ERRNO | EPERM)
#define IF_CALL(number, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, yes, no)

/* This process, and whoever it starts, is on a host that refuses what native needs; `all`: bwrap too. */
static void refuse_namespaces(bool all)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        IF_CALL(SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, DENIED),
        IF_CALL(SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, all ? DENIED : SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void check_backend(const struct cordon_result *result, const char *kind)
{
    char word[64];
    snprintf(word, sizeof word, "\"backend\":{\"kind\":\"%s\"", kind);
    CHECK(strstr(cordon_result_json(result), word) != NULL);
}

TEST(a_host_that_refuses_namespaces_gets_the_second_tier)
{
    refuse_namespaces(true);
    struct cordon_policy *policy = stage();
    struct cordon_result *result = run_script(policy, "echo ran");
    check_status(result, "INTERNAL_ERROR"); /* refused: nobody allowed less */
    CHECK_INT(cordon_result_error(result)->kind, CORDON_ERROR_PARTIAL);
    cordon_result_free(result);

    cordon_policy_allow_partial(policy, 1);
    result = run_script(policy, "echo ran");
    check_status(result, "OK");
    check_output(result, "ran\n");
    check_backend(result, "native");
    struct cordon_enforcement e;
    CHECK_INT(cordon_result_enforced(result, "filesystem", &e), 0);
    CHECK(!e.applied);
    CHECK_STR(e.mechanism, "landlock, seccomp");
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(the_input_of_a_refused_attempt_is_not_lost)
{
    refuse_namespaces(true);
    struct cordon_policy *policy = stage();
    cordon_policy_allow_partial(policy, 1);
    char *const argv[] = {(char[]){"cat"}, NULL};
    const struct cordon_run_options options = {.size = sizeof options, .input = "precious", .input_len = 8};
    struct cordon_result *result = cordon_run(policy, argv, &options, NULL);
    check_output(result, "precious");
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(auto_takes_bwrap_where_only_native_is_refused)
{
    if (access("/usr/bin/bwrap", X_OK) < 0)
        test_skip("no bwrap is installed");
    refuse_namespaces(false);
    struct cordon_policy *policy = stage();
    struct cordon_result *result = run_script(policy, "echo ran");
    check_status(result, "OK");
    check_output(result, "ran\n");
    check_backend(result, "bwrap");
    CHECK(strstr(cordon_result_json(result), "\"bwrap_path\":\"/usr/bin/bwrap\"") != NULL);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

static struct cordon_result *by_document(const char *json, const char *script)
{
    struct cordon_policy *policy = cordon_policy_parse(json, strlen(json), NULL);
    CHECK(policy != NULL);
    struct cordon_result *result = run_script(policy, script);
    cordon_policy_free(policy);
    return result;
}

TEST(posix_and_none_by_the_name_in_a_document)
{
    struct cordon_result *result =
        by_document("{\"version\": 1, \"backend\": \"posix\", \"allow_partial\": true}", "echo ran; exit 4");
    check_status(result, "NONZERO_EXIT");
    check_output(result, "ran\n");
    check_backend(result, "posix");
    cordon_result_free(result);

    result = by_document("{\"version\": 1, \"backend\": \"posix\"}", "echo ran");
    check_status(result, "INTERNAL_ERROR");
    cordon_result_free(result);

    result = by_document("{\"version\": 1, \"backend\": \"none\"}", "echo ran");
    check_output(result, "ran\n");
    check_backend(result, "none");
    CHECK(strstr(cordon_result_json(result), "isolates nothing") != NULL);
    cordon_result_free(result);
}

TEST(isolation_that_this_process_demands_is_demanded_whatever_environment_is_given)
{
    static const char json[] = "{\"version\": 1, \"backend\": \"none\"}";
    struct cordon_policy *policy = cordon_policy_parse(json, sizeof json - 1, NULL);
    char *const argv[] = {(char[]){"echo"}, (char[]){"ran"}, NULL};
    char *const offered[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    const struct cordon_run_options options = {.size = sizeof options, .env = offered};
    struct cordon_result *result = cordon_run(policy, argv, &options, NULL);
    check_output(result, "ran\n");
    cordon_result_free(result);
    setenv("CORDON_REQUIRE_ISOLATION", "1", 1);
    result = cordon_run(policy, argv, &options, NULL);
    check_status(result, "INTERNAL_ERROR");
    CHECK_INT(cordon_result_error(result)->kind, CORDON_ERROR_POLICY);
    cordon_result_free(result);
    cordon_policy_free(policy);
}

TEST(steps_without_a_descriptor_come_to_an_end)
{
    static const char json[] = "{\"version\": 1, \"backend\": \"none\"}";
    struct cordon_policy *policy = cordon_policy_parse(json, sizeof json - 1, NULL);
    char *const argv[] = {(char[]){"echo"}, (char[]){"ran"}, NULL};
    struct cordon_sandbox *sandbox = cordon_start(policy, argv, NULL, NULL);
    CHECK(sandbox != NULL);
    CHECK_INT(cordon_sandbox_fd(sandbox), -1);
    while (!cordon_sandbox_step(sandbox))
        usleep(1000);
    struct cordon_result *result = cordon_sandbox_wait(sandbox);
    check_output(result, "ran\n");
    cordon_result_free(result);
    cordon_policy_free(policy);
}
