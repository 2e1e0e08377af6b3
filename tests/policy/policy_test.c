#include "policy/policy.h"

#include "../harness.h"

static struct arena arena = {.max = 1 << 24};

static const char *normal(const char *path)
{
    return policy_normalize_path(&arena, path);
}

TEST(paths_are_normalised_lexically)
{
    CHECK_STR(normal("/"), "/");
    CHECK_STR(normal("//a///b/"), "/a/b");
    CHECK_STR(normal("/a/./b/../c"), "/a/c");
    CHECK_STR(normal("/../.."), "/");
    CHECK_STR(normal("/a/.."), "/");
    CHECK_STR(normal("/a/..b/.c"), "/a/..b/.c");
    CHECK_STR(normal("/a/../../b"), "/b");
}

TEST(beneath_is_about_whole_components)
{
    CHECK(policy_path_beneath("/a/b", "/a"));
    CHECK(policy_path_beneath("/a", "/a"));
    CHECK(policy_path_beneath("/a", "/"));
    CHECK(!policy_path_beneath("/ab", "/a"));
    CHECK(!policy_path_beneath("/", "/a"));
}

TEST(a_bind_needs_absolute_paths)
{
    struct policy_binds list = {0};
    struct cordon_error err = {0};
    CHECK_INT(policy_add_bind(&list, &arena, "relative", "/x", false, &err), -EINVAL);
    CHECK_STR(err.subject, "relative");
    CHECK(err.remedy[0] != '\0');
    CHECK_INT(policy_add_bind(&list, &arena, "/x", "relative", false, &err), -EINVAL);
    CHECK_INT(list.count, 0);
    CHECK_INT(policy_add_bind(&list, &arena, "/x/../y", "/z/", true, &err), 0);
    CHECK_STR(list.items[0].host, "/y");
    CHECK_STR(list.items[0].sandbox, "/z");
}

TEST(lists_have_a_maximum)
{
    struct policy_binds binds = {0};
    struct policy_names names = {0};
    struct cordon_error err = {0};
    for (int i = 0; i < POLICY_MAX_BINDS; i++)
        CHECK_INT(policy_add_bind(&binds, &arena, "/a", "/b", false, &err), 0);
    CHECK_INT(policy_add_bind(&binds, &arena, "/a", "/b", false, &err), -E2BIG);
    for (int i = 0; i < POLICY_MAX_NAMES; i++)
        CHECK_INT(policy_add_name(&names, &arena, "N", &err), 0);
    CHECK_INT(policy_add_name(&names, &arena, "N", &err), -E2BIG);
}

TEST(words_go_both_ways)
{
    CHECK_INT(policy_words_parse(&policy_net_words, "loopback"), NET_LOOPBACK);
    CHECK_INT(policy_words_parse(&policy_net_words, "some"), -1);
    CHECK_INT(policy_words_parse(&policy_net_words, ""), -1);
    CHECK_STR(policy_net_name(NET_HOST), "host");
    CHECK_STR(policy_forbidden_name(FORBIDDEN_KILL_SOCKETS), "kill_sockets");
    CHECK_STR(policy_backend_name((enum policy_backend)77), "?");
    char list[64];
    policy_words_list(&policy_uid_words, list, sizeof list);
    CHECK_STR(list, "nobody, caller");
}
