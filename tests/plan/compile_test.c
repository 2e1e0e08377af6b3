/* The compiler as a whole: identity, refusals, purity, and what happens when memory runs out. */
#include "base/buf.h"
#include "invent.h"

TEST(nobody_is_the_default_and_root_never_stays_root)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.uid_inside, 65534);
    CHECK_INT(i.plan.uid_host, 1000);
    CHECK(!i.plan.switch_user && i.plan.drop_caps);
    i.policy.uid = UID_CALLER;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.uid_inside, 1000);
    CHECK_INT(i.plan.gid_inside, 1000);
    i.host.uid = i.host.gid = 0;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.uid_inside, 0); /* its own number, but ... */
    CHECK(i.plan.switch_user);
    CHECK_INT(i.plan.uid_host, 0x70000001);
    CHECK_INT(i.plan.gid_host, 0x70000001);
    arena_free(&i.arena);
}

TEST(a_refused_plan_still_fills_the_ledgers_side)
{
    struct invented i = invented(PROFILE_AGENT);
    i.host.cwd = "/";
    CHECK_INT(compile(&i), -EINVAL);
    CHECK(i.plan.claims[CAP_PROCESSES].requested);
    for (int c = 0; c < CAPABILITY_COUNT; c++) {
        struct plan_words words;
        plan_describe(&i.plan, (enum capability)c, &words);
        CHECK(words.details[0] != '\0' && words.requested[0] != '\0');
    }
    arena_free(&i.arena);
}

static void print_into(struct invented *i, struct buf *out)
{
    CHECK_INT(compile(i), 0);
    plan_print(&i->plan, out);
    CHECK(!out->failed);
}

TEST(the_same_input_gives_the_same_plan)
{
    for (int p = 0; p < PROFILE_COUNT; p++) {
        struct invented a = invented((enum policy_profile)p);
        struct invented b = invented((enum policy_profile)p);
        BUF_AUTO first = BUF_INIT(1 << 20);
        BUF_AUTO second = BUF_INIT(1 << 20);
        print_into(&a, &first);
        print_into(&b, &second);
        CHECK_INT(first.len, second.len);
        CHECK(memcmp(first.data, second.data, first.len) == 0);
        arena_free(&a.arena);
        arena_free(&b.arena);
    }
}

/* With room for everything but the last few allocations: never a crash, never half a plan. */
static void starve(enum policy_profile profile, size_t binds)
{
    char path[64];
    bool worked = false;
    for (size_t cap = 1024; cap <= 4u * 1024 * 1024; cap += cap < 128 * 1024 ? 1024 : 64 * 1024) {
        struct invented i = invented(profile);
        struct arena list = ARENA_INIT(INVENTED_ARENA);
        static char runtime[] = "XDG_RUNTIME_DIR=/var/somewhere";
        i.env[0] = runtime;
        for (size_t k = 0; k < binds; k++) {
            snprintf(path, sizeof path, "/opt/d/e/%zu/%s", k, k % 2 == 0 ? "a/b" : "c");
            CHECK_INT(policy_add_bind(k % 3 == 0 ? &i.policy.ro : &i.policy.rw, &list, path, path, false, NULL), 0);
        }
        i.arena.max = cap;
        int r = compile(&i);
        CHECK(r == 0 || r == -ENOMEM);
        CHECK(!(worked && r < 0)); /* more memory never makes it worse */
        if (r < 0) {
            CHECK_INT(i.err.errnum, ENOMEM);
            CHECK_STR(i.err.what, "make the plan");
        }
        worked = worked || r == 0;
        arena_free(&i.arena);
        arena_free(&list);
    }
    CHECK(worked);
}

TEST(too_little_memory_is_an_error_at_every_size)
{
    for (int p = 0; p < PROFILE_COUNT; p++)
        starve((enum policy_profile)p, 0);
    starve(PROFILE_STAGE, 700);
    starve(PROFILE_AGENT, 100);
}

/* Memory that runs out in small pieces: a cap says no only by whole chunks. */
TEST(memory_that_runs_out_at_any_moment_is_an_error)
{
    bool worked = false;
    for (size_t left = 0; !worked && left < 64 * 1024; left += 16) {
        struct invented i = invented(PROFILE_TEST);
        static char runtime[5000] = "XDG_RUNTIME_DIR=/var/"; /* a large piece, and small ones after it */
        memset(runtime + strlen("XDG_RUNTIME_DIR=/var/"), 'x', 4000);
        i.env[0] = runtime;
        i.policy.env.inherit = false;
        CHECK(arena_alloc(&i.arena, 16) != NULL); /* the first chunk */
        static char room[64 * 1024];
        memset(room, 0, sizeof room);
        i.arena.next = room; /* exactly this much, and no more chunk */
        i.arena.room = left;
        i.arena.max = i.arena.used;
        int r = compile(&i);
        CHECK(r == 0 || r == -ENOMEM);
        worked = r == 0;
        if (worked) /* whole: nothing was left out because the last bytes were missing */
            CHECK(step_at(&i.plan, runtime + strlen("XDG_RUNTIME_DIR=/")) > 0);
        arena_free(&i.arena);
    }
    CHECK(worked);
}
