/* cordon_call(): the value, and each way to fail, in the sandbox and without one. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"

static char root[] = "/tmp/cordon-call-XXXXXX";
static struct cordon_error err;

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", root, dir, name);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* A module whose manifest has this behind its id. */
static void module(const char *id, const char *manifest)
{
    char path[PATH_MAX];
    char text[1024];
    if (strcmp(root, "/tmp/cordon-call-XXXXXX") == 0) /* a single X may be one of the random letters */
        CHECK(test_directory(root) != NULL && chmod(root, 0755) == 0);
    snprintf(path, sizeof path, "%s/%s", root, id);
    CHECK(mkdir(path, 0755) == 0 && chmod(path, 0755) == 0);
    snprintf(text, sizeof text, "{\"id\": \"%s\", %s}", id, manifest);
    write_file(id, "module.json", text);
}

static void script(const char *id, const char *shell)
{
    char text[512];
    snprintf(text, sizeof text, "\"command\": [\"sh\", \"-c\", \"%s\"]", shell);
    module(id, text);
}

/* The library of the build, beside its manifest. */
static void library(const char *id)
{
    char command[2 * PATH_MAX];
    module(id, "\"library\": \"x.so\"");
    snprintf(command, sizeof command, "cp %s %s/%s/x.so", SUM_LIBRARY, root, id);
    CHECK_INT(system(command), 0);
}

static void done(struct cordon_result *result)
{
    char command[64];
    cordon_result_free(result);
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK_INT(system(command), 0);
}

static struct cordon_result *call(const char *id, const char *input, struct cordon_call_options options)
{
    options.size = sizeof options;
    options.extensions = root;
    options.runner = RUNNER;
    err.kind = -1;
    return cordon_call(id, input, strlen(input), &options, &err);
}
#define DEFAULTS ((struct cordon_call_options){0})

static void check_value(const struct cordon_result *result, const char *want)
{
    size_t len = 0;
    if (result == NULL)
        test_fail(__FILE__, __LINE__, "no result: %s '%s': %s", err.what, err.subject, err.why);
    const char *value = cordon_result_value(result, &len);
    if (value == NULL || len != strlen(want) || memcmp(value, want, len) != 0)
        test_fail(__FILE__, __LINE__, "value is %.*s (%s)", (int)len, value == NULL ? "" : value, err.why);
    CHECK_INT(err.kind, CORDON_ERROR_NONE);
}

static void check_failure(const struct cordon_result *result, int kind, const char *status)
{
    size_t len = 1;
    CHECK_INT(err.kind, kind);
    CHECK_STR(err.what, "call module");
    CHECK(err.why[0] != '\0');
    CHECK(result != NULL && cordon_result_value(result, &len) == NULL && len == 0);
    check_status(result, status);
}

TEST(a_command_answers)
{
    script("a.echo", "cat");
    struct cordon_result *result = call("a.echo", "{\"a\": [1, 2]}", DEFAULTS);
    check_value(result, "{\"a\":[1,2]}");
    CHECK_STR(cordon_result_module_id(result), "a.echo");
    CHECK(strstr(cordon_result_json(result), "\"value\":{\"a\":[1,2]},\"module_id\":\"a.echo\"") != NULL);
    struct cordon_enforcement e;
    CHECK_INT(cordon_result_enforced(result, "filesystem", &e), 0);
    CHECK(e.applied);
    done(result);
}

TEST(a_library_answers_inside_and_in_process)
{
    library("a.sum");
    struct cordon_result *result = call("a.sum", "[40, 2]", DEFAULTS);
    check_value(result, "{\"sum\":42}");
    cordon_result_free(result);
    result = call("a.sum", "[40, 2]", (struct cordon_call_options){.no_sandbox = 1});
    check_value(result, "{\"sum\":42}");
    CHECK(strstr(cordon_result_json(result), "\"backend\":{\"kind\":\"none\",\"effective\":false}") != NULL);
    struct cordon_enforcement e;
    CHECK_INT(cordon_result_enforced(result, "filesystem", &e), 0);
    CHECK(!e.applied);
    done(result);
}

/* Refused before anything of the module's has run. */
static void check_refused_directly(struct cordon_call_options options)
{
    options.no_sandbox = 1;
    CHECK(call("a.echo", "1", options) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_USAGE);
}

TEST(without_a_sandbox_what_it_would_keep_is_refused)
{
    script("a.echo", "cat");
    static const char text[] = "{\"version\": 1, \"require\": [\"network\"]}";
    struct cordon_policy *ceiling = cordon_policy_new("module", &err);
    struct cordon_policy *demanding = cordon_policy_parse(text, strlen(text), &err);
    CHECK(ceiling != NULL && demanding != NULL);
    check_refused_directly((struct cordon_call_options){.within = ceiling});
    check_refused_directly((struct cordon_call_options){.policy = demanding});
    check_refused_directly((struct cordon_call_options){.timeout_ms = 5000});
    struct cordon_result *result =
        call("a.echo", "1", (struct cordon_call_options){.no_sandbox = 1, .policy = ceiling});
    check_value(result, "1");
    cordon_policy_free(ceiling);
    cordon_policy_free(demanding);
    done(result);
}

TEST(without_a_sandbox_nothing_is_called_where_isolation_is_demanded)
{
    char *const offered[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    script("a.echo", "cat");
    library("a.sum");
    setenv("CORDON_REQUIRE_ISOLATION", "1", 1);
    CHECK(call("a.echo", "1", (struct cordon_call_options){.no_sandbox = 1}) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK(call("a.sum", "[1]", (struct cordon_call_options){.no_sandbox = 1, .env = offered}) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    struct cordon_result *result = call("a.echo", "1", DEFAULTS);
    check_value(result, "1");
    done(result);
}

TEST(a_call_that_is_not_waited_for_answers_too)
{
    module("test.later", "\"command\": [\"cat\"]");
    const struct cordon_call_options options = {.size = sizeof options, .extensions = root};
    struct cordon_sandbox *sandbox = cordon_call_start("test.later", "[1]", 3, &options, &err);
    CHECK(sandbox != NULL);
    struct cordon_result *result = cordon_sandbox_wait(sandbox);
    CHECK_STR(cordon_result_status(result), "OK");
    size_t len = 0;
    CHECK(strncmp(cordon_result_value(result, &len), "[1]", 3) == 0 && len == 3);
    CHECK_STR(cordon_result_module_id(result), "test.later");
    cordon_result_free(result);

    const struct cordon_call_options direct = {.size = sizeof direct, .extensions = root, .no_sandbox = 1};
    CHECK(cordon_call_start("test.later", "[1]", 3, &direct, &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_USAGE);
    CHECK(cordon_call_start("test.none", "[1]", 3, &options, &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_MODULE);
    done(NULL);
}

TEST(a_timeout_is_a_timeout)
{
    script("a.sleep", "sleep 60");
    struct cordon_result *result = call("a.sleep", "null", (struct cordon_call_options){.timeout_ms = 300});
    check_failure(result, CORDON_ERROR_TIMEOUT, "TIMEOUT");
    done(result);
}

TEST(a_status_is_an_exit)
{
    script("a.three", "echo why >&2; exit 3");
    struct cordon_result *result = call("a.three", "null", DEFAULTS);
    check_failure(result, CORDON_ERROR_EXIT, "NONZERO_EXIT");
    CHECK_INT(cordon_result_exit_code(result), 3);
    cordon_result_free(result);
    result = call("a.three", "null", (struct cordon_call_options){.no_sandbox = 1});
    check_failure(result, CORDON_ERROR_EXIT, "NONZERO_EXIT");
    size_t len = 0;
    CHECK(memcmp(cordon_result_stderr(result, &len), "why\n", 4) == 0);
    done(result);
}

TEST(text_is_no_answer)
{
    script("a.text", "echo hello");
    struct cordon_result *result = call("a.text", "null", DEFAULTS);
    check_failure(result, CORDON_ERROR_ANSWER, "OUTPUT_PARSE_FAILED");
    cordon_result_free(result);
    result = call("a.text", "null", (struct cordon_call_options){.no_sandbox = 1});
    check_failure(result, CORDON_ERROR_ANSWER, "OUTPUT_PARSE_FAILED");
    done(result);
}

TEST(what_cannot_be_started_is_a_spawn_failure)
{
    module("a.none", "\"command\": [\"no-such-program\"]");
    struct cordon_result *result = call("a.none", "null", DEFAULTS);
    check_failure(result, CORDON_ERROR_SPAWN, "SPAWN_FAILED");
    cordon_result_free(result);
    result = call("a.none", "null", (struct cordon_call_options){.no_sandbox = 1});
    check_failure(result, CORDON_ERROR_SPAWN, "SPAWN_FAILED");
    done(result);
}

TEST(the_rest_has_no_result)
{
    static const struct {
        const char *id, *input;
        int kind;
    } table[] = {
        {"a.nothing", "{}", CORDON_ERROR_MODULE}, {"../x", "{}", CORDON_ERROR_USAGE},
        {"a.wrong", "{}", CORDON_ERROR_MODULE},   {"a.echo", "{", CORDON_ERROR_USAGE},
        {"a.echo", "", CORDON_ERROR_USAGE},       {"a.asks", "{}", CORDON_ERROR_POLICY},
    };
    script("a.echo", "cat");
    module("a.wrong", "\"command\": 1");
    module("a.asks", "\"command\": [\"cat\"], \"effects\": [{\"effect\": \"Network\"}]");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        CHECK(call(table[i].id, table[i].input, DEFAULTS) == NULL);
        CHECK_INT(err.kind, table[i].kind);
    }
    done(NULL);
}

TEST(a_ceiling_grants_what_the_policy_does_not)
{
    module("a.asks", "\"command\": [\"cat\"], \"effects\": [{\"effect\": \"Network\"}]");
    struct cordon_policy *within = cordon_policy_new("module", NULL);
    CHECK_INT(cordon_policy_set_net(within, "host", NULL), 0);
    struct cordon_result *result = call("a.asks", "[]", (struct cordon_call_options){.within = within});
    check_value(result, "[]");
    cordon_result_free(result);
    result = call("a.asks", "[]", (struct cordon_call_options){.policy = within});
    check_value(result, "[]");
    cordon_policy_free(within);
    done(result);
}

TEST(the_environment_is_the_callers_choice_and_credentials_stay)
{
    char *const env[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"APCORE_X=1"}, (char[]){"APCORE_AUTH_X=2"}, NULL};
    script("a.env", "printf '\\\"%s\\\"' $APCORE_X$APCORE_AUTH_X$HOME");
    struct cordon_result *result = call("a.env", "null", (struct cordon_call_options){.env = env});
    check_value(result, "\"1/work\"");
    done(result);
}

TEST(options_of_an_older_program_are_taken_as_far_as_they_go)
{
    struct cordon_call_options options = {.size = offsetof(struct cordon_call_options, policy),
                                          .extensions = root,
                                          .trace_id = "not looked at"};
    script("a.echo", "cat");
    struct cordon_result *result = cordon_call("a.echo", "[]", 2, &options, &err);
    check_value(result, "[]");
    done(result);
}
