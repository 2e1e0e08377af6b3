#include "wire/policy_json.h"

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

static void accepted(const char *text, enum policy_form form)
{
    if (read_text(text) < 0)
        test_fail(__FILE__, __LINE__, "%s '%s': %s", text, err.subject, err.why);
    CHECK_INT(source.form, form);
}

static void refused(const char *text, const char *pointer)
{
    if (read_text(text) == 0)
        test_fail(__FILE__, __LINE__, "accepted: %s", text);
    CHECK_STR(err.subject, pointer);
}

static const char *written(void)
{
    static struct buf out;
    buf_free(&out);
    out = BUF_INIT(1 << 20);
    policy_write_form(&policy, source.form, &out);
    return buf_string(&out);
}

static const char legacy[] =
    "{\"ro_binds\": [{\"host\": \"/nix/store\", \"sandbox\": \"/nix/store\"}],"
    "\"network\": false, \"env_allowlist\": []}";

TEST(the_noether_form_extends_stage)
{
    accepted(legacy, FORM_NOETHER);
    CHECK_INT(policy.profile, PROFILE_STAGE);
    CHECK_INT(policy.ro.count, 1);
    CHECK(policy.ro.items[0].optional); /* most hosts have no Nix store */
    CHECK_INT(policy.rw.count, 0);
    CHECK_INT(policy.work, WORK_PRIVATE);
    CHECK_INT(policy.net, NET_NONE);
    CHECK_INT(policy.env.allow.count, 0);
    CHECK_INT(policy.env.set.count, 2); /* HOME and USER, always */
}

TEST(unset_fields_of_the_noether_form_are_not_written)
{
    static const char want[] = "{\n  \"ro_binds\": [\n    {\n      \"host\": \"/nix/store\",\n"
                               "      \"sandbox\": \"/nix/store\"\n    }\n  ],\n"
                               "  \"network\": false,\n  \"env_allowlist\": []\n}\n";
    accepted(legacy, FORM_NOETHER);
    CHECK_STR(written(), want);
    accepted("{\"env_allowlist\": [], \"work_host\": null, \"rw_binds\": [], \"network\": false,"
             "\"ro_binds\": [{\"sandbox\": \"/nix/store\", \"host\": \"/nix/store\"}]}",
             FORM_NOETHER);
    CHECK_STR(written(), want);
}

TEST(the_noether_form_keeps_every_field)
{
    static const char full[] =
        "{\n  \"ro_binds\": [],\n  \"rw_binds\": [\n    {\n      \"host\": "
        "\"/home/user/project\",\n"
        "      \"sandbox\": \"/work/project\"\n    },\n    {\n      \"host\": \"/tmp/output\",\n"
        "      \"sandbox\": \"/tmp/output\"\n    }\n  ],\n  \"work_host\": \"/tmp/work\",\n"
        "  \"network\": true,\n  \"env_allowlist\": [\n    \"PATH\",\n    \"API_KEY\"\n  ]\n}\n";
    accepted(full, FORM_NOETHER);
    CHECK_STR(written(), full);
    CHECK_INT(policy.net, NET_HOST);
    CHECK_STR(policy.work_host, "/tmp/work");
    /* Read and written as it is; to run it would hide a bind, and that is refused. */
    CHECK_INT(policy_validate(&policy, &err), -EINVAL);
    CHECK_STR(err.subject, "/fs/rw/0");
}

TEST(the_noether_form_has_required_keys)
{
    refused("{\"ro_binds\": [], \"network\": false}", "");
    CHECK_STR(err.why, "1:1: the key \"env_allowlist\" is missing");
    refused("{\"network\": false, \"env_allowlist\": []}", "");
    refused("{\"rw_binds\": []}", "");
    refused("{\"ro_binds\": [], \"network\": false, \"other\": 1}", "/other");
}

TEST(pairs_are_refused_with_the_right_shape)
{
    refused("{\"ro_binds\": [[\"/a\", \"/b\"]], \"network\": false, \"env_allowlist\": []}",
            "/ro_binds/0");
    CHECK_STR(err.why, "1:15: a bind is an object, not a pair");
    CHECK(strstr(err.remedy, "\"host\"") != NULL);
    refused("{\"ro_binds\": [\"/a\"], \"network\": false, \"env_allowlist\": []}", "/ro_binds/0");
    refused("{\"ro_binds\": [{\"host\": \"/a\"}], \"network\": false, \"env_allowlist\": []}",
            "/ro_binds/0");
    refused("{\"ro_binds\": [], \"network\": 0, \"env_allowlist\": []}", "/network");
}

TEST(a_complete_noether_document_tolerates_unknown_keys_with_a_warning)
{
    accepted("{\"ro_binds\": [{\"host\": \"/a\", \"sandbox\": \"/a\", \"extra\": 1}], \"network\": "
             "false,"
             "\"env_allowlist\": [], \"future\": {\"a\": [1]}, \"fs\": 1}",
             FORM_NOETHER);
    CHECK_INT(source.warning_count, 3);
    CHECK_STR(source.warnings[0], "1:47: unknown key '/ro_binds/0/extra' has no effect");
    CHECK(strstr(source.warnings[1], "future") != NULL);
}

TEST(the_sandbox_policy_form_extends_limits)
{
    accepted("{\"wall_time_s\": 5}", FORM_SANDBOX_POLICY);
    CHECK_INT(policy.profile, PROFILE_LIMITS);
    CHECK_INT(policy.limits.wall_ms, 5000);
    CHECK_STR(written(), "{\n  \"wall_time_s\": 5,\n  \"cpu_time_s\": 20,\n"
                         "  \"mem_bytes\": 536870912,\n  \"pids_max\": 32,\n  \"nofile\": 512,\n"
                         "  \"output_bytes\": 1048576,\n  \"enforce_network\": false,\n"
                         "  \"allow_partial\": false\n}\n");
    accepted("{\"enforce_network\": true, \"allow_partial\": true}", FORM_SANDBOX_POLICY);
    CHECK_INT(policy.net, NET_NONE);
    CHECK_INT(policy.on_forbidden, FORBIDDEN_KILL_SOCKETS);
    CHECK(policy.allow_partial);
    accepted(written(), FORM_SANDBOX_POLICY);
    CHECK_INT(policy.on_forbidden, FORBIDDEN_KILL_SOCKETS);
}

TEST(the_sandbox_policy_form_is_strict)
{
    refused("{\"wall_time_s\": 1, \"wall_tim\": 2}", "/wall_tim");
    CHECK_STR(err.remedy, "did you mean \"wall_time_s\"?");
    refused("{\"wall_time_s\": -1}", "/wall_time_s");
    refused("{\"wall_time_s\": 1.5}", "/wall_time_s");
    refused("{\"wall_time_s\": 9223372036854775807}", "/wall_time_s");
    refused("{\"mem_bytes\": 0}", "/mem_bytes");
    refused("{\"mem_bytes\": null}", "/mem_bytes");
    refused("{\"pids_max\": \"many\"}", "/pids_max");
}

TEST(a_mix_extends_stage_and_needs_nothing)
{
    accepted("{\"rw_binds\": [{\"host\": \"/srv/o\", \"sandbox\": \"/o\"}], \"wall_time_s\": 9}",
             FORM_MIXED);
    CHECK_INT(policy.profile, PROFILE_STAGE);
    CHECK_INT(policy.limits.wall_ms, 9000);
    CHECK_INT(policy.net, NET_NONE);
    accepted(written(), FORM_MIXED);
    CHECK_INT(policy.rw.count, 1);
    CHECK_INT(policy.limits.wall_ms, 9000);
    CHECK_INT(policy.env.allow.count, 11);
}

TEST(a_base_that_the_caller_names_takes_the_place_of_the_forms_own)
{
    static const char text[] = "{\"enforce_network\": true, \"pids_max\": 16}";
    source = (struct policy_source){.profile = PROFILE_STAGE};
    CHECK_INT(policy_read(&policy, &arena, text, strlen(text), &source, &err), 0);
    CHECK_INT(policy.profile, PROFILE_STAGE);
    CHECK_INT(policy.fs_mode, FS_VIEW);
    CHECK_INT(policy.limits.pids, 16);
}

TEST(a_mix_may_not_contradict_itself)
{
    refused(
        "{\"ro_binds\": [], \"network\": true, \"env_allowlist\": [], \"enforce_network\": true}",
        "/enforce_network");
}
