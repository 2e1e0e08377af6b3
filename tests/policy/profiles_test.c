#include "policy/policy.h"

#include "../harness.h"

#define MIB (UINT64_C(1024) * 1024)

static struct policy policy;

static void check_list(const struct policy_names *list, const char *const *want, size_t count)
{
    CHECK_INT(list->count, count);
    for (size_t i = 0; i < count; i++)
        CHECK_STR(list->items[i], want[i]);
}

TEST(every_profile_is_valid_and_has_a_name)
{
    for (int i = 0; i < PROFILE_COUNT; i++) {
        struct cordon_error err = {0};
        policy_init(&policy, (enum policy_profile)i);
        CHECK_INT(policy.profile, i);
        CHECK_INT(policy_validate(&policy, &err), 0);
        CHECK_INT(policy_words_parse(&policy_profile_words, policy_profile_name((enum policy_profile)i)), i);
        CHECK(policy_profile_about((enum policy_profile)i)[0] != '\0');
    }
}

TEST(stage_is_the_tight_default)
{
    static const char *const eleven[] = {
        "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "NIX_PATH", "NIX_SSL_CERT_FILE",
        "SSL_CERT_FILE", "NOETHER_LOG_LEVEL", "RUST_LOG"};
    policy_init(&policy, PROFILE_STAGE);
    check_list(&policy.env.allow, eleven, 11);
    CHECK(policy.fs_mode == FS_VIEW && policy.system_ro && policy.work == WORK_PRIVATE);
    CHECK(policy.net == NET_NONE && policy.uid == UID_NOBODY && !policy.env.inherit);
    CHECK_INT(policy.limits.wall_ms, 30000);
    CHECK_INT(policy.limits.cpu_ms, 20000);
    CHECK_INT(policy.limits.mem_bytes, 512 * MIB);
    CHECK_INT(policy.limits.pids, 32);
    CHECK_INT(policy.limits.nofile, 512);
    CHECK_INT(policy.limits.output_bytes, MIB);
    CHECK(policy.limits.on_overflow == OVERFLOW_TRUNCATE);
    CHECK_INT(policy.rw.count + policy.ro.count, 0);
    CHECK_STR(policy.env.set.items[0].value, "/work");
    CHECK_STR(policy.env.set.items[1].value, "nobody");
}

TEST(module_has_more_time_and_kills_on_overflow)
{
    policy_init(&policy, PROFILE_MODULE);
    CHECK_INT(policy.limits.wall_ms, 300000);
    CHECK(policy.limits.cpu_ms == POLICY_UNLIMITED);
    CHECK_INT(policy.limits.pids, 64);
    CHECK_INT(policy.limits.output_bytes, 64 * MIB);
    CHECK(policy.limits.on_overflow == OVERFLOW_KILL);
    CHECK(policy.uid == UID_NOBODY && policy.net == NET_NONE);
}

TEST(limits_has_the_documented_numbers_and_the_hosts_tree)
{
    policy_init(&policy, PROFILE_LIMITS);
    CHECK(policy.fs_mode == FS_GUARD && policy.rw_cwd && policy.private_tmp);
    CHECK(policy.net == NET_HOST && policy.uid == UID_CALLER && policy.env.inherit);
    CHECK_INT(policy.limits.wall_ms, 30000);
    CHECK_INT(policy.limits.cpu_ms, 20000);
    CHECK_INT(policy.limits.mem_bytes, 512 * MIB);
    CHECK_INT(policy.limits.pids, 32);
    CHECK_INT(policy.limits.nofile, 512);
    CHECK_INT(policy.limits.output_bytes, MIB);
    CHECK(!policy.allow_partial);
}

TEST(test_has_no_limits_and_a_read_only_tmp)
{
    policy_init(&policy, PROFILE_TEST);
    CHECK(policy.fs_mode == FS_GUARD && !policy.rw_cwd && !policy.private_tmp);
    CHECK(policy.limits.wall_ms == POLICY_UNLIMITED && policy.limits.pids == POLICY_UNLIMITED);
}

TEST(agent_has_its_directory_and_protects_what_runs_later)
{
    policy_init(&policy, PROFILE_AGENT);
    CHECK(policy.fs_mode == FS_VIEW && policy.rw_cwd && policy.uid == UID_CALLER);
    CHECK_INT(policy.limits.pids, 512);
    bool hooks = false;
    for (size_t i = 0; i < policy.protect.count; i++)
        hooks |= strcmp(policy.protect.items[i], ".git/hooks") == 0;
    CHECK(hooks);
}

TEST(changing_a_policy_leaves_the_profile_alone)
{
    struct arena arena = ARENA_INIT(1 << 20);
    policy_init(&policy, PROFILE_STAGE);
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "MINE", NULL), 0);
    CHECK_INT(policy_add_var(&policy.env.set, &arena, "HOME", "/elsewhere", NULL), 0);
    CHECK_STR(policy.env.allow.items[11], "MINE");
    CHECK_STR(policy.env.set.items[0].value, "/elsewhere");
    CHECK_INT(policy.env.set.count, 2);

    struct policy again;
    policy_init(&again, PROFILE_STAGE);
    CHECK_INT(again.env.allow.count, 11);
    CHECK_STR(again.env.set.items[0].value, "/work");
    arena_free(&arena);
}
