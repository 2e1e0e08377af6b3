/* Which names are hidden in which tree. */
#include "invent.h"

static const struct host_mount mounts[] = {
    {"8:1", "/", "/"}, {"8:2", "/", "/srv"}, {"8:3", "/", "/srv/in/disk"}, {"8:2", "/in", "/mnt/again"}};

static struct invented hiding(const char *pattern)
{
    struct invented i = invented(PROFILE_STAGE);
    i.host.mounts = mounts;
    i.host.mount_count = sizeof mounts / sizeof mounts[0];
    CHECK_INT(policy_add_name(&i.policy.hide, &i.arena, pattern, NULL), 0);
    return i;
}

/* The hide that holds in the tree at a target; NULL: none. */
static const struct plan_hide *at(const struct invented *i, const char *target)
{
    for (size_t k = 0; k < i->plan.hide_count; k++) {
        if (strcmp(i->plan.hides[k].target, target) == 0)
            return &i->plan.hides[k];
    }
    return NULL;
}

TEST(a_path_is_hidden_where_it_is_named)
{
    struct invented i = hiding("/data/.env");
    bind_in(&i, &i.policy.ro, "/srv/in", "/data");
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.hide_count, 1);
    CHECK(at(&i, "data")->overlay);
    CHECK((i.plan.claims[CAP_FILESYSTEM].proof & PROOF_HIDDEN) != 0);
    arena_free(&i.arena);
}

TEST(a_name_that_is_covered_needs_the_filter_which_refuses_snapshots)
{
    struct invented i = hiding("/data/.env");
    bind_in(&i, &i.policy.ro, "/srv/in", "/data");
    i.policy.seccomp = SECCOMP_OFF;
    i.policy.allow_partial = true;
    CHECK_INT(compile(&i), 0);
    CHECK(i.plan.claims[CAP_FILESYSTEM].mechanism != NULL); /* an overlay is no part of the file system */
    arena_free(&i.arena);

    i = hiding("/data/.env");
    bind_in(&i, &i.policy.rw, "/srv/in", "/data");
    CHECK_INT(compile(&i), 0);
    CHECK((i.plan.claims[CAP_FILESYSTEM].proof & PROOF_SECCOMP) != 0);
    arena_free(&i.arena);

    i = hiding("/data/.env");
    bind_in(&i, &i.policy.rw, "/srv/in", "/data");
    i.policy.seccomp = SECCOMP_OFF;
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    arena_free(&i.arena);
}

TEST(and_in_every_other_tree_of_the_same_files)
{
    struct invented i = hiding("/data/a/.env");
    bind_in(&i, &i.policy.ro, "/srv/in", "/data");
    bind_in(&i, &i.policy.ro, "/srv", "/above");
    bind_in(&i, &i.policy.ro, "/srv/in/a", "/part");
    bind_in(&i, &i.policy.ro, "/srv/in/b", "/beside");
    bind_in(&i, &i.policy.rw, "/mnt/again", "/mounted");
    CHECK_INT(compile(&i), 0);
    CHECK_STR(at(&i, "above")->prefix, "in");
    CHECK_STR(at(&i, "part")->prefix, "");
    CHECK(at(&i, "beside") == NULL);
    CHECK(!at(&i, "mounted")->overlay); /* by the mount table only */
    arena_free(&i.arena);
}

TEST(a_bind_that_may_be_missing_hides_nothing)
{
    struct invented i = hiding("/data/a/.env");
    bind_in(&i, &i.policy.ro, "/srv/in", "/data");
    bind_in(&i, &i.policy.ro, "/none", "/data/a");
    CHECK_INT(compile(&i), 0);
    CHECK(at(&i, "data") == NULL && at(&i, "data/a") != NULL); /* what is there covers */
    i.policy.ro.items[1].optional = true;
    i.plan.hide_count = 0;
    CHECK_INT(compile(&i), 0);
    CHECK(at(&i, "data") != NULL && at(&i, "data/a") != NULL);
    arena_free(&i.arena);
}

TEST(a_glob_goes_on_in_a_bind_whose_root_is_in_the_midst_of_it)
{
    static const char *const places[][2] = {{"/srv/in/secrets", "/data"}, {"/srv/in", "/secrets"}};
    for (size_t k = 0; k < 2; k++) { /* by its name on the host, and by the one inside */
        struct invented i = hiding("**/secrets/key");
        bind_in(&i, &i.policy.ro, places[k][0], places[k][1]);
        CHECK_INT(compile(&i), 0);
        glob_states states = at(&i, places[k][1] + 1)->states;
        CHECK(glob_follow(at(&i, places[k][1] + 1)->glob, &states, "key"));
        arena_free(&i.arena);
    }
    struct invented i = hiding("**/secrets/key");
    bind_in(&i, &i.policy.ro, "/srv/in/secrets/key", "/data");
    CHECK(compile(&i) < 0);
    CHECK_STR(i.err.why, "nothing of a bind would be left");
    arena_free(&i.arena);
    i = hiding("**/srv"); /* above the bind: nobody sees it */
    bind_in(&i, &i.policy.ro, "/srv/in", "/srv/in");
    CHECK_INT(compile(&i), 0);
    arena_free(&i.arena);
}

TEST(mounts_inside_a_read_only_tree_come_on_top_of_the_overlay)
{
    struct invented i = hiding("**/.env");
    bind_in(&i, &i.policy.ro, "/srv/in", "/data");
    CHECK_INT(compile(&i), 0);
    CHECK_STR(step(&i.plan, "data/disk")->source, "/srv/in/disk");
    CHECK_INT(step(&i.plan, "data/disk")->flags, STEP_RDONLY | STEP_LISTED | STEP_OPTIONAL | STEP_INNER);
    CHECK(step_at(&i.plan, "data/disk") > step_at(&i.plan, "data"));
    CHECK(at(&i, "data/disk") != NULL);
    CHECK(at(&i, "usr") == NULL); /* the toolchain is nobody's tree of secrets */
    arena_free(&i.arena);
}

TEST(mounts_inside_a_writable_tree_are_searched_as_well)
{
    struct invented i = hiding("/data/disk/key");
    bind_in(&i, &i.policy.rw, "/srv/in", "/data");
    CHECK_INT(compile(&i), 0);
    CHECK_STR(step(&i.plan, "data/disk")->source, "/srv/in/disk");
    CHECK_INT(step(&i.plan, "data/disk")->flags, STEP_LISTED | STEP_OPTIONAL | STEP_INNER);
    CHECK(at(&i, "data/disk") != NULL && !at(&i, "data/disk")->overlay);
    arena_free(&i.arena);
}

TEST(a_glob_where_no_overlay_can_be_is_partial)
{
    struct invented i = hiding("**/.env");
    bind_in(&i, &i.policy.rw, "/srv/out", "/srv/out");
    CHECK(compile(&i) < 0);
    CHECK_INT(i.err.kind, CORDON_ERROR_PARTIAL);
    i.policy.allow_partial = true;
    CHECK_INT(compile(&i), 0);
    CHECK_STR(mechanism(&i, CAP_FILESYSTEM), "none");
    arena_free(&i.arena);
}

static void refuses(const char *pattern, const char *second)
{
    struct invented i = hiding(pattern);
    bind_in(&i, &i.policy.ro, "/srv/in", "/data");
    if (second != NULL)
        bind_in(&i, &i.policy.ro, second, "/second");
    CHECK(compile(&i) < 0);
    CHECK_INT(i.err.kind, CORDON_ERROR_POLICY);
    CHECK_STR(i.err.subject, pattern);
    arena_free(&i.arena);
}

TEST(contradictions_are_refused)
{
    refuses("/data", NULL);
    refuses("/bin/sh", NULL); /* beneath a link */
    refuses("/data/key", "/srv/in/key");
    refuses("/data/dir", "/srv/in/dir/deeper");
    refuses("/data/*.pem", "/srv/in/a.pem");
}
