#include "wire/policy_json.h"

#include <stdio.h>

#include "../harness.h"

static struct arena arena = {.max = POLICY_ARENA_BYTES};
static struct policy policy;
static struct policy_source source;
static struct cordon_error err;

static int read_text(const char *text)
{
    source = POLICY_SOURCE_INIT;
    err = (struct cordon_error){0};
    return policy_read(&policy, &arena, text, strlen(text), &source, &err);
}

static void accepted(const char *text)
{
    if (read_text(text) < 0)
        test_fail(__FILE__, __LINE__, "%s '%s': %s", text, err.subject, err.why);
}

static void refused(const char *text, const char *pointer, const char *why)
{
    if (read_text(text) == 0)
        test_fail(__FILE__, __LINE__, "accepted: %s", text);
    CHECK_STR(err.subject, pointer);
    CHECK_STR(err.why, why);
    CHECK_STR(err.what, "read policy");
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
}

static const char *written(void)
{
    static struct buf out;
    buf_free(&out);
    out = BUF_INIT(1 << 20);
    policy_write_v1(&policy, &out);
    return buf_string(&out);
}

TEST(an_empty_document_is_the_tight_default)
{
    accepted("{}");
    CHECK_INT(source.form, FORM_V1);
    CHECK_INT(policy.profile, PROFILE_STAGE);
    accepted("{\"version\": 1}");
    CHECK_INT(policy.net, NET_NONE);
}

TEST(every_field_is_read)
{
    accepted("{\"version\": 1, \"extends\": \"stage\","
             "\"fs\": {\"mode\": \"view\", \"system_ro\": false, \"rw\": [\"/srv/out/\", "
             "{\"host\": \"/srv/a\", \"sandbox\": \"/data\", \"optional\": true}],"
             "\"ro\": [\"/srv/in\"], \"hide\": [\"/srv/in/./.env\", \"**/.env\"],"
             "\"work\": {\"host\": \"/srv/job\"}, \"tmp_bytes\": 8192, \"private_tmp\": false,"
             "\"rw_cwd\": true, \"protect\": [\".git/hooks\"]},"
             "\"net\": \"loopback\","
             "\"env\": {\"inherit\": true, \"allow\": [\"A\", \"B_*\"], \"deny\": [\"B_C\"],"
             "\"set\": {\"TZ\": \"UTC\"}, \"default\": {\"X\": \"0\"}},"
             "\"limits\": {\"wall_ms\": 1, \"cpu_ms\": null, \"mem_bytes\": 1048576, \"pids\": 2,"
             "\"nofile\": 16, \"output_bytes\": 50, \"on_overflow\": \"kill\", \"grace_ms\": 0,"
             "\"cpus\": 1.5},"
             "\"proc\": {\"uid\": \"caller\", \"seccomp\": \"strict\", \"on_forbidden\": \"kill\","
             "\"cwd\": \"/data\"},"
             "\"backend\": \"bwrap\", \"require\": [\"memory:cgroup2\"], \"allow_partial\": true}");
    CHECK(!policy.system_ro && !policy.private_tmp && policy.rw_cwd && policy.allow_partial);
    CHECK_STR(policy.rw.items[0].host, "/srv/out");
    CHECK_STR(policy.rw.items[1].sandbox, "/data");
    CHECK(policy.rw.items[1].optional && !policy.rw.items[0].optional);
    CHECK_STR(policy.hide.items[0], "/srv/in/.env");
    CHECK_STR(policy.hide.items[1], "**/.env");
    CHECK(policy.work == WORK_HOST && policy.net == NET_LOOPBACK && policy.env.inherit);
    CHECK_STR(policy.work_host, "/srv/job");
    CHECK_INT(policy.tmp_bytes, 8192);
    CHECK_INT(policy.env.allow.count, 2);
    CHECK_INT(policy.env.set.count, 3); /* merged with HOME and USER */
    CHECK_INT(policy.env.fallback.count, 1);
    CHECK_INT(policy.limits.wall_ms, 1);
    CHECK(policy.limits.cpu_ms == POLICY_UNLIMITED);
    CHECK_INT(policy.limits.grace_ms, 0);
    CHECK_INT((int)(policy.limits.cpus * 1000), 1500);
    CHECK(policy.uid == UID_CALLER && policy.seccomp == SECCOMP_STRICT);
    CHECK(policy.on_forbidden == FORBIDDEN_KILL && policy.backend == BACKEND_BWRAP);
    CHECK_STR(policy.cwd, "/data");
    CHECK_STR(policy.require.items[0], "memory:cgroup2");
}

TEST(extends_replaces_lists_and_merges_objects)
{
    accepted("{\"version\": 1, \"extends\": \"module\", \"env\": {\"allow\": [\"PATH\"]},"
             "\"limits\": {\"pids\": 8}}");
    CHECK_INT(policy.env.allow.count, 1);
    CHECK_INT(policy.env.deny.count, 1);
    CHECK_INT(policy.limits.pids, 8);
    CHECK_INT(policy.limits.wall_ms, 300000);
    CHECK_INT(source.profile, PROFILE_MODULE);
}

TEST(zero_is_the_profiles_default_for_times)
{
    accepted(
        "{\"version\": 1, \"extends\": \"module\", \"limits\": {\"wall_ms\": 0, \"cpu_ms\": 0}}");
    CHECK_INT(policy.limits.wall_ms, 300000);
    CHECK(policy.limits.cpu_ms == POLICY_UNLIMITED);
}

TEST(refusals_say_where_and_why)
{
    refused("{\"version\": 1,\n\"nett\": 1}", "/nett", "2:1: unknown key");
    CHECK_STR(err.remedy, "did you mean \"net\"?");
    refused("{\"version\": 1, \"fs\": {\"moode\": 1}}", "/fs/moode", "1:23: unknown key");
    refused("{\"version\": 1, \"limits\": {\"pids\": \"8\"}}", "/limits/pids",
            "1:35: expected an integer, found a string");
    refused("{\"version\": 1, \"limits\": {\"pids\": -1}}", "/limits/pids",
            "1:35: a negative number");
    refused("{\"version\": 1, \"limits\": {\"pids\": 1.5}}", "/limits/pids",
            "1:35: expected an integer, found a number");
    refused("{\"version\": 1, \"limits\": {\"pids\": 9999999999}}", "/limits/pids",
            "1:35: out of range: 1 to 4194301");
    refused("{\"version\": 1, \"net\": \"some\"}", "/net", "1:23: unknown word");
    CHECK_STR(err.remedy, "allowed words: none, loopback, host");
    refused("{\"version\": 2}", "/version", "1:13: this version of the document is not known");
    refused("{\"version\": \"1\"}", "/version", "1:13: expected an integer, found a string");
    refused("{\"version\": 1, \"extends\": \"mine\"}", "/extends", "1:27: unknown word");
    refused("{\"version\": 1, \"fs\": {\"ro\": [\"~/x\"]}}", "/fs/ro/0",
            "1:30: the path is not absolute");
    refused("{\"version\": 1, \"fs\": {\"ro\": [[\"/a\", \"/b\"]]}}", "/fs/ro/0",
            "1:30: a bind is an object, not a pair");
    refused("{\"version\": 1, \"fs\": {\"ro\": [{\"sandbox\": \"/b\"}]}}", "/fs/ro/0",
            "1:30: the bind has no \"host\"");
    refused("{\"version\": 1, \"fs\": {\"work\": \"host\"}}", "/fs/work", "1:31: unknown word");
    refused("{\"version\": 1, \"require\": [\"memry\"]}", "/require/0", "1:28: unknown capability or mechanism");
    refused("{\"version\": 1, \"env\": {\"set\": {\"a/b=\": \"\"}}}", "/env/set/a~1b=",
            "1:40: 'a/b=' as a name of a variable contains '='");
    refused("[]", "", "1:1: expected an object, found a list");
    refused("", "", "1:1: unexpected end of the document");
    refused("{\"fs\": {}}", "/fs", "1:2: a key of version 1 in a document without \"version\"");
    CHECK_STR(err.remedy, "add \"version\": 1");
}

TEST(a_refused_document_leaves_the_policy_alone)
{
    accepted("{\"version\": 1, \"limits\": {\"pids\": 7}}");
    CHECK(read_text("{\"version\": 1, \"limits\": {\"pids\": 9, \"nofile\": 0}}") < 0);
    CHECK_INT(policy.limits.pids, 7);
}

TEST(a_document_and_the_caller_agree_on_the_base)
{
    static const char limits[] = "{\"version\": 1, \"extends\": \"limits\"}";
    source = (struct policy_source){.profile = PROFILE_AGENT};
    CHECK_INT(policy_read(&policy, &arena, limits, strlen(limits), &source, &err), -EINVAL);
    source = (struct policy_source){.profile = PROFILE_LIMITS};
    CHECK_INT(policy_read(&policy, &arena, limits, strlen(limits), &source, &err), 0);
    source = (struct policy_source){.profile = -1, .fallback = PROFILE_TEST};
    CHECK_INT(policy_read(&policy, &arena, "{}", 2, &source, &err), 0);
    CHECK_INT(policy.profile, PROFILE_TEST);
}

TEST(guard_mode_brings_no_work_along)
{
    accepted("{\"version\": 1, \"fs\": {\"mode\": \"guard\"}}");
    CHECK_INT(policy.work, WORK_NONE);
    CHECK_INT(policy_validate(&policy, &err), 0);
}

TEST(normalising_twice_changes_nothing)
{
    static char once[1 << 16];
    for (int i = 0; i < PROFILE_COUNT; i++) {
        policy_init(&policy, (enum policy_profile)i);
        policy.limits.cpus = i * 0.25;
        snprintf(once, sizeof once, "%s", written());
        accepted(once);
        CHECK_STR(written(), once);
        CHECK_INT(policy.profile, i);
    }
}

TEST(the_canonical_form_is_pinned)
{
    policy_init(&policy, PROFILE_MODULE);
    CHECK_STR(written(), "{\n"
                         "  \"version\": 1,\n"
                         "  \"extends\": \"module\",\n"
                         "  \"fs\": {\n"
                         "    \"mode\": \"view\",\n"
                         "    \"system_ro\": true,\n"
                         "    \"rw\": [],\n"
                         "    \"ro\": [],\n"
                         "    \"hide\": [],\n"
                         "    \"work\": \"private\",\n"
                         "    \"tmp_bytes\": 67108864,\n"
                         "    \"private_tmp\": true,\n"
                         "    \"rw_cwd\": false,\n"
                         "    \"protect\": []\n"
                         "  },\n"
                         "  \"net\": \"none\",\n"
                         "  \"env\": {\n"
                         "    \"inherit\": false,\n"
                         "    \"allow\": [\n"
                         "      \"PATH\",\n"
                         "      \"LANG\",\n"
                         "      \"LC_ALL\",\n"
                         "      \"APCORE_*\"\n"
                         "    ],\n"
                         "    \"deny\": [\n"
                         "      \"APCORE_AUTH_*\"\n"
                         "    ],\n"
                         "    \"set\": {\n"
                         "      \"HOME\": \"/work\",\n"
                         "      \"TMPDIR\": \"/work\"\n"
                         "    },\n"
                         "    \"default\": {}\n"
                         "  },\n"
                         "  \"limits\": {\n"
                         "    \"wall_ms\": 300000,\n"
                         "    \"cpu_ms\": null,\n"
                         "    \"mem_bytes\": 536870912,\n"
                         "    \"pids\": 64,\n"
                         "    \"nofile\": 512,\n"
                         "    \"output_bytes\": 67108864,\n"
                         "    \"on_overflow\": \"kill\",\n"
                         "    \"grace_ms\": 2000,\n"
                         "    \"cpus\": null\n"
                         "  },\n"
                         "  \"proc\": {\n"
                         "    \"uid\": \"nobody\",\n"
                         "    \"seccomp\": \"default\",\n"
                         "    \"on_forbidden\": \"errno\",\n"
                         "    \"cwd\": null\n"
                         "  },\n"
                         "  \"backend\": \"auto\",\n"
                         "  \"require\": [],\n"
                         "  \"allow_partial\": false\n"
                         "}\n");
}

TEST(the_digest_names_the_policy)
{
    char a[65];
    char b[65];
    policy_init(&policy, PROFILE_STAGE);
    CHECK_INT(policy_sha256(&policy, a), 0);
    CHECK_INT(policy_sha256(&policy, b), 0);
    CHECK_STR(a, b);
    policy.limits.wall_ms++;
    CHECK_INT(policy_sha256(&policy, b), 0);
    CHECK(strcmp(a, b) != 0);
}

TEST(two_thousand_binds_are_read)
{
    static char text[200000];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"version\": 1, \"fs\": {\"ro\": [");
    for (int i = 0; i < 2000; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"/srv/%d\"", i > 0 ? "," : "", i);
    snprintf(text + n, sizeof text - n, "]}}");
    accepted(text);
    CHECK_INT(policy.ro.count, 2000);
    CHECK_INT(policy_validate(&policy, &err), 0);
}
