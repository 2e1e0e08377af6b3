#include "result/ledger.h"

#include "../plan/invent.h"

TEST(capability_names_go_both_ways)
{
    for (int i = 0; i < CAPABILITY_COUNT; i++)
        CHECK_INT(capability_parse(capability_name((enum capability)i)), i);
    CHECK_INT(capability_parse("warp_drive"), -1);
    CHECK_STR(capability_name(CAP_WALL_TIME), "wall_time");
    CHECK_STR(capability_name((enum capability)99), "?");
}

TEST(a_requirement_is_a_capability_with_or_without_a_mechanism)
{
    CHECK(capability_requirement("memory"));
    CHECK(capability_requirement("memory:cgroup2"));
    CHECK(capability_requirement("ipc:namespace"));
    CHECK(!capability_requirement("memory:"));
    CHECK(!capability_requirement("memory:frob"));
    CHECK(!capability_requirement("memory:landlock")); /* of another one */
    CHECK(!capability_requirement("memory:a b"));
    CHECK(!capability_requirement(":cgroup2"));
    CHECK(!capability_requirement(""));
    CHECK(!capability_requirement("memoryyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"));
    char remedy[256];
    capability_remedy("memry:cgroup2", remedy, sizeof remedy);
    CHECK(strstr(remedy, "\"memory\"") != NULL);
    capability_remedy("warp_drive", remedy, sizeof remedy);
    CHECK(strstr(remedy, "wall_time") != NULL);
    capability_remedy("memory:frob", remedy, sizeof remedy);
    CHECK(strstr(remedy, "cgroup2, cgroup1, watcher") != NULL);
}

/* A plan may be worded while it begins, fail, and be followed by another that is refused. */
TEST(words_made_ahead_are_of_the_plan_that_ran_or_made_anew)
{
    static struct ledger ledger;
    struct invented first = invented(PROFILE_STAGE);
    struct invented second = invented(PROFILE_LIMITS);
    CHECK_INT(compile(&first), 0);
    CHECK_INT(compile(&second), 0);
    ledger_word(&ledger, &first.plan);
    ledger_fill(&ledger, &second.plan, 0, false);
    CHECK_STR(ledger_requested(&ledger.entries[CAP_FILESYSTEM]), "\"guard\"");
    ledger_word(&ledger, &first.plan);
    ledger_fill(&ledger, &first.plan, ~0u, true);
    CHECK_STR(ledger_requested(&ledger.entries[CAP_FILESYSTEM]), "\"view\"");
    CHECK(ledger.entries[CAP_FILESYSTEM].applied);
    ledger_fill(&ledger, &second.plan, ~0u, true); /* nobody worded this one ahead */
    CHECK_STR(ledger_requested(&ledger.entries[CAP_FILESYSTEM]), "\"guard\"");
}
