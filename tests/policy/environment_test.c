#include "policy/environment.h"

#include <stdio.h>

#include "../harness.h"

static struct arena arena = {.max = 1 << 22};

/* The environment as one line, in its order. */
static const char *built(const struct policy *policy, char *const *caller)
{
    static char line[1024];
    char **env = policy_environment(policy, caller, &arena);
    CHECK(env != NULL);
    line[0] = '\0';
    for (; *env != NULL; env++) {
        strcat(line, *env);
        strcat(line, "|");
    }
    return line;
}

#define CALLER(...) ((char *[]){__VA_ARGS__, NULL})

TEST(a_star_at_the_end_stands_for_the_rest)
{
    static const struct {
        const char *pattern;
        const char *name;
        bool matches;
    } cases[] = {{"A", "A", true},    {"A", "AB", false},   {"AB", "A", false},  {"A*", "A", true},
                 {"A*", "ABC", true}, {"A*", "B", false},   {"AB*", "A", false}, {"A*B", "A*B", true},
                 {"A*B", "AxB", false}, {"A**", "A*x", true}, {"A**", "Ax", false}, {"*", "", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(policy_name_matches(cases[i].pattern, cases[i].name) == cases[i].matches);
}

TEST(only_listed_names_pass_and_fixed_ones_are_the_sandboxs_own)
{
    struct policy policy;
    policy_init(&policy, PROFILE_STAGE);
    CHECK_STR(
        built(&policy, CALLER("SECRET=1", "RUST_LOG=v", "HOME=/x", "PATH=/bin", "=odd", "odd")),
        "RUST_LOG=v|PATH=/bin|HOME=/work|USER=nobody|");
    CHECK_STR(built(&policy, CALLER("PATHX=1", "PAT=1")), "HOME=/work|USER=nobody|");
}

TEST(deny_beats_allow)
{
    struct policy policy;
    policy_init(&policy, PROFILE_MODULE);
    CHECK_STR(built(&policy, CALLER("APCORE_LOG=1", "APCORE_AUTH_KEY=s", "APCOREX=1")),
              "APCORE_LOG=1|HOME=/work|TMPDIR=/work|");
}

TEST(a_default_yields_to_the_caller_and_set_does_not)
{
    struct policy policy;
    policy_init(&policy, PROFILE_LIMITS);
    CHECK_STR(built(&policy, CALLER("PYTHONHASHSEED=7", "PYTHONDONTWRITEBYTECODE=")),
              "PYTHONHASHSEED=7|PYTHONDONTWRITEBYTECODE=1|");
    CHECK_STR(built(&policy, CALLER("A=b=c")),
              "A=b=c|PYTHONHASHSEED=0|PYTHONDONTWRITEBYTECODE=1|");
}

TEST(loader_variables_pass_by_name_only)
{
    struct policy policy;
    policy_init(&policy, PROFILE_STAGE);
    policy.env.set.count = 0;
    policy.env.allow.count = 0;
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "LD_*", NULL), 0);
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "PYTHON*", NULL), 0);
    char *const *caller =
        CALLER("LD_PRELOAD=x", "LD_LIBRARY_PATH=y", "PYTHONPATH=z", "PYTHONUTF8=1");
    CHECK_STR(built(&policy, caller), "PYTHONUTF8=1|");
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "LD_PRELOAD", NULL), 0);
    CHECK_STR(built(&policy, caller), "LD_PRELOAD=x|PYTHONUTF8=1|");
    policy.env.inherit = true; /* the caller's own programs */
    CHECK_STR(built(&policy, caller),
              "LD_PRELOAD=x|LD_LIBRARY_PATH=y|PYTHONPATH=z|PYTHONUTF8=1|");
}

TEST(a_name_given_twice_passes_once)
{
    struct policy policy;
    policy_init(&policy, PROFILE_STAGE);
    policy.env.set.count = 0;
    CHECK_STR(built(&policy, CALLER("PATH=/a", "PATH=/b")), "PATH=/a|");
}
