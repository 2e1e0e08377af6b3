#include "module/manifest.h"

#include "module/answer.h"
#include "module/request.h"
#include "wire/policy_json.h"

#include "../harness.h"

static struct arena arena = {.max = 1 << 24};
static struct manifest m;
static struct cordon_error err;

static int read_text(const char *text)
{
    err = (struct cordon_error){0};
    return manifest_read(&m, &arena, "a.m", text, strlen(text), &err);
}

static void refused(const char *text, const char *pointer, const char *why)
{
    CHECK_INT(read_text(text), -EINVAL);
    CHECK_INT(err.kind, CORDON_ERROR_MODULE);
    CHECK_INT(err.layer, CORDON_LAYER_MODULE);
    CHECK_STR(err.subject, pointer);
    if (strncmp(err.why, why, strlen(why)) != 0)
        test_fail(__FILE__, __LINE__, "%s: %s", text, err.why);
}

TEST(reads_a_command_module)
{
    CHECK_INT(read_text("{\"id\": \"a.m\", \"command\": [\"python3\", \"\"], \"description\": \"d\"}"), 0);
    CHECK_STR(m.id, "a.m");
    CHECK_STR(m.description, "d");
    CHECK_INT(m.command_count, 2);
    CHECK_STR(m.command[0], "python3");
    CHECK_STR(m.command[1], "");
    CHECK(m.command[2] == NULL && m.library == NULL && m.effects == NULL && m.limits == NULL);
}

TEST(reads_a_library_module)
{
    CHECK_INT(read_text("{\"id\": \"a.m\", \"library\": \"x.so\"}"), 0);
    CHECK_STR(m.library, "x.so");
    CHECK(m.command == NULL);
}

TEST(what_is_wrong_is_named_by_pointer_line_and_column)
{
    refused("{\"id\": \"a.m\", \"command\": [\"x\", 1]}", "/command/1", "1:32: expected a string");
    refused("{\"id\": \"a.m\",\n\"library\": []}", "/library", "2:12: expected a string");
    refused("{\"id\": \"a.m\", \"library\": \"a/b\"}", "/library", "1:26: not the name of a file");
    refused("{\"id\": \"a.m\", \"library\": \"..\"}", "/library", "1:26: not the name of a file");
    refused("{\"id\": \"a.m\", \"library\": \"x\", \"limits\": {\"wall_ms\": -1}}", "/limits/wall_ms", "1:53: a negative number");
    refused("{\"id\": \"a.m\", \"library\": \"x\", \"effects\": [1]}", "/effects/0", "1:43: expected");
    refused("{\"id\": \"a.x\", \"library\": \"x\"}", "/id", "1:8: not the name");
    refused("{\"id\": \"a.m\", \"id\": \"a.m\"}", "/id", "1:15: duplicate key");
    refused("null", "", "1:1: expected an object");
}

TEST(a_failed_read_leaves_what_was_there)
{
    m = (struct manifest){.id = "before"};
    refused("{\"id\": \"a.m\"}", "", "1:1: exactly one of");
    CHECK_STR(m.id, "before");
}

TEST(what_it_asks_for_goes_onto_the_callers_policy)
{
    struct policy policy;
    policy_init(&policy, PROFILE_MODULE);
    CHECK_INT(read_text("{\"id\": \"a.m\", \"library\": \"x\", \"effects\": [{\"effect\": \"Network\"},"
                        "{\"effect\": \"FsWrite\", \"path\": \"/srv/out\"}], \"limits\": {\"pids\": 3}}"),
              0);
    CHECK_INT(manifest_ask(&m, &policy, &arena, &err), 0);
    CHECK_INT(policy.net, NET_HOST);
    CHECK_INT(policy.rw.count, 1);
    CHECK_INT(policy.limits.pids, 3);
    CHECK_INT(policy.limits.wall_ms, 300000);
}

TEST(ids)
{
    static const char *const good[] = {"a", "a.b", "a1_.b_2", "z_"};
    static const char *const bad[] = {"", ".", "..", "a.", ".a", "a..b", "A", "1", "_a", "a/b", "../a", "a-b", "a b", "\xc3\xa9"};
    char longest[130] = {0};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(module_id_wrong(good[i]) == NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(module_id_wrong(bad[i]) != NULL);
    memset(longest, 'a', 128);
    CHECK(module_id_wrong(longest) == NULL);
    longest[128] = 'a';
    CHECK(module_id_wrong(longest) != NULL);
}

/* ---- what is granted ---- */

static struct module_request request;

static int ask(const char *text, const struct module_terms *terms, const char *root_path)
{
    const struct module_root root = {.fd = -1, .path = root_path};
    struct module module = {.dir = "/srv/ext/a.m"};
    CHECK_INT(read_text(text), 0);
    module.manifest = m;
    return module_request(&request, &arena, &root, &module, terms, &err);
}

TEST(a_request_is_granted_within_the_callers_policy_or_ceiling_and_nowhere_else)
{
    static const char network[] = "{\"id\": \"a.m\", \"command\": [\"x\"], \"effects\": [{\"effect\": \"Network\"}]}";
    struct policy own;
    struct policy ceiling;
    policy_init(&own, PROFILE_MODULE);
    policy_init(&ceiling, PROFILE_MODULE);
    struct module_terms terms = {.policy = &own, .runner = "/none"};
    CHECK_INT(ask(network, &terms, "/srv/ext"), -EPERM);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK_STR(err.subject, "/net");
    terms.ceiling = &ceiling;
    CHECK_INT(ask(network, &terms, "/srv/ext"), -EPERM);
    ceiling.net = NET_HOST;
    CHECK_INT(ask(network, &terms, "/srv/ext"), 0);
    CHECK_INT(request.policy.net, NET_HOST);
    CHECK_INT(own.net, NET_NONE);
    CHECK_INT(own.ro.count, 0); /* the caller's own is as it was */
}

TEST(the_policy_shows_the_root_and_denies_credentials)
{
    struct policy own;
    policy_init(&own, PROFILE_MODULE);
    own.env.deny = (struct policy_names){0};
    const struct module_terms terms = {.policy = &own, .runner = "/none"};
    CHECK_INT(ask("{\"id\": \"a.m\", \"command\": [\"./x\", \"{module}\"]}", &terms, "/srv/ext"), 0);
    CHECK_STR(request.command[0], "/srv/ext/a.m/x");
    CHECK_STR(request.command[1], "/srv/ext/a.m");
    CHECK_INT(request.policy.ro.count, 1);
    CHECK_STR(request.policy.ro.items[0].sandbox, "/srv/ext");
    CHECK_INT(request.policy.env.deny.count, 1);
    CHECK_STR(request.policy.env.deny.items[0], "APCORE_AUTH_*");
}

TEST(a_root_beneath_work_is_shown_elsewhere)
{
    struct policy own;
    policy_init(&own, PROFILE_MODULE);
    const struct module_terms terms = {.policy = &own, .runner = "/work/libexec/runner"};
    CHECK_INT(ask("{\"id\": \"a.m\", \"library\": \"x.so\"}", &terms, "/work/ext"), 0);
    CHECK_STR(request.policy.ro.items[0].host, "/work/ext");
    CHECK_STR(request.policy.ro.items[0].sandbox, "/extensions");
    CHECK_STR(request.command[0], "/cordon-module-runner");
    CHECK_STR(request.command[1], "--internal-sandbox-runner");
    CHECK_STR(request.command[2], "a.m");
    CHECK_STR(request.command[3], "/extensions/a.m/x.so");
}

TEST(the_callers_timeout_is_the_last_word)
{
    static const char asks[] = "{\"id\": \"a.m\", \"command\": [\"x\"], \"limits\": {\"wall_ms\": 60000}}";
    static const char silent[] = "{\"id\": \"a.m\", \"command\": [\"x\"]}";
    struct policy own;
    uint64_t timeout = 5000;
    policy_init(&own, PROFILE_MODULE);
    struct module_terms terms = {.policy = &own, .runner = "/none", .timeout_ms = &timeout};
    CHECK_INT(ask(asks, &terms, "/srv/ext"), 0);
    CHECK_INT(request.policy.limits.wall_ms, 5000);
    timeout = 900000;
    CHECK_INT(ask(asks, &terms, "/srv/ext"), 0);
    CHECK_INT(request.policy.limits.wall_ms, 60000);
    CHECK_INT(ask(silent, &terms, "/srv/ext"), 0);
    CHECK_INT(request.policy.limits.wall_ms, 900000);
    terms.timeout_ms = NULL;
    CHECK_INT(ask(silent, &terms, "/srv/ext"), 0);
    CHECK_INT(request.policy.limits.wall_ms, 300000);
}

/* ---- how a failure is told ---- */

TEST(four_kinds_of_failure)
{
    static const struct {
        enum status status;
        int kind;
    } table[] = {
        {STATUS_OK, CORDON_ERROR_NONE},           {STATUS_TIMEOUT, CORDON_ERROR_TIMEOUT},
        {STATUS_NONZERO_EXIT, CORDON_ERROR_EXIT}, {STATUS_SIGNALED, CORDON_ERROR_EXIT},
        {STATUS_MEM_LIMIT, CORDON_ERROR_EXIT},    {STATUS_OUTPUT_LIMIT, CORDON_ERROR_EXIT},
        {STATUS_SPAWN_FAILED, CORDON_ERROR_SPAWN}, {STATUS_INTERNAL_ERROR, CORDON_ERROR_SPAWN},
        {STATUS_OUTPUT_PARSE_FAILED, CORDON_ERROR_ANSWER},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct result result;
        result_init(&result);
        result.status = table[i].status;
        result_reason(&result, "why");
        module_failure(&result, "a.m", &err);
        CHECK_INT(err.kind, table[i].kind);
        if (err.kind != CORDON_ERROR_NONE)
            CHECK_STR(err.why, "why");
    }
}
