/* The plans of the other backends: what they may claim, and what they refuse. */
#include <errno.h>

#include "invent.h"
#include "sys/landlock.h"

static int compile_by(struct invented *i, enum policy_backend by)
{
    const struct plan_request request = {
        .policy = &i->policy, .host = &i->host, .backend = by, .command = i->command, .caller_env = i->env};
    i->err = (struct cordon_error){0};
    return plan_compile(&i->plan, &i->arena, &request, &i->err);
}

static struct invented with_bwrap(void)
{
    struct invented i = invented(PROFILE_STAGE);
    i.host.bwrap = "/usr/bin/bwrap";
    i.host.landlock_abi = 7;
    return i;
}

TEST(bwrap_claims_what_the_first_tier_does_but_landlock)
{
    struct invented i = with_bwrap();
    CHECK_INT(compile_by(&i, BACKEND_BWRAP), 0);
    CHECK_INT(i.plan.landlock_abi, 0); /* it would forbid bwrap its mounts */
    CHECK(i.plan.own_tree && i.plan.pidns && i.plan.netns && i.plan.gate && !i.plan.bare);
    CHECK_STR(i.plan.claims[CAP_FILESYSTEM].mechanism, "mount namespace");
    for (int c = 0; c < CAPABILITY_ALWAYS; c++)
        CHECK(i.plan.claims[c].mechanism != NULL);
    /* Nothing that rests on the filter holds while somebody inside is without it. */
    CHECK((i.plan.claims[CAP_SYSCALLS].proof & PROOF_INNER_SEALED) != 0);
    CHECK((i.plan.claims[CAP_NETWORK].proof & PROOF_INNER_SEALED) != 0);
    CHECK((i.plan.claims[CAP_PRIVILEGES].proof & PROOF_INNER_SEALED) != 0);
    arena_free(&i.arena);
}

TEST(bwrap_without_a_filter_claims_no_privileges)
{
    struct invented i = with_bwrap();
    i.policy.seccomp = SECCOMP_OFF;
    i.policy.net = NET_HOST;
    CHECK_INT(compile_by(&i, BACKEND_BWRAP), -EOPNOTSUPP);
    CHECK(i.plan.claims[CAP_PRIVILEGES].mechanism == NULL);
    arena_free(&i.arena);
}

TEST(root_becomes_somebody_else_before_bwrap)
{
    struct invented i = with_bwrap();
    i.host.uid = i.host.gid = 0;
    CHECK_INT(compile_by(&i, BACKEND_BWRAP), 0);
    CHECK(i.plan.switch_user);
    CHECK_INT(i.plan.uid_host, 0x70000001);
    CHECK_INT(i.plan.uid_inside, PLAN_NOBODY);
    arena_free(&i.arena);
}

TEST(posix_claims_two_and_is_refused_without_an_allowance)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile_by(&i, BACKEND_POSIX), -EOPNOTSUPP);
    CHECK_INT(i.err.kind, CORDON_ERROR_PARTIAL);
    i.policy.allow_partial = true;
    CHECK_INT(compile_by(&i, BACKEND_POSIX), 0);
    CHECK(!i.plan.use_cgroup && !i.plan.watch_memory && i.plan.step_count == 0);
    for (int c = 0; c < CAPABILITY_COUNT; c++) {
        const bool held = c == CAP_OPEN_FILES || c == CAP_OUTPUT;
        CHECK((i.plan.claims[c].mechanism != NULL) == held);
        CHECK(held || i.plan.claims[c].why != NULL);
    }
    i.host.raises_limits = true;
    CHECK_INT(compile_by(&i, BACKEND_POSIX), 0);
    CHECK(i.plan.claims[CAP_OPEN_FILES].mechanism == NULL);
    CHECK_INT(compile_by(&i, BACKEND_NATIVE), 0);
    CHECK(i.plan.claims[CAP_OPEN_FILES].mechanism != NULL); /* no capability is left there */
    arena_free(&i.arena);
}

TEST(none_accepts_everything_but_a_requirement)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile_by(&i, BACKEND_NONE), 0);
    CHECK(i.plan.rlimit_count == 0);
    CHECK(i.plan.claims[CAP_OPEN_FILES].mechanism == NULL);
    CHECK_INT(policy_add_name(&i.policy.require, &i.arena, "open_files", NULL), 0);
    CHECK_INT(compile_by(&i, BACKEND_NONE), -EOPNOTSUPP);
    arena_free(&i.arena);
}

TEST(without_mounts_a_bind_stays_where_it_is)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.allow_partial = true;
    bind_in(&i, &i.policy.ro, "/srv/in", "/srv/in");
    CHECK_INT(compile_by(&i, BACKEND_POSIX), 0);
    bind_in(&i, &i.policy.ro, "/srv/in", "/data");
    CHECK_INT(compile_by(&i, BACKEND_POSIX), -EOPNOTSUPP);
    CHECK_STR(i.err.subject, "/data");
    arena_free(&i.arena);
}

TEST(a_directory_of_the_hosts_stands_for_work)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.allow_partial = true;
    strcpy(i.host.work_dir, "/tmp/work-1");
    CHECK_INT(compile_by(&i, BACKEND_POSIX), 0);
    CHECK_STR(i.plan.cwd, "/tmp/work-1");
    bool home = false;
    for (char *const *e = i.plan.envp; *e != NULL; e++)
        home = home || strcmp(*e, "HOME=/tmp/work-1") == 0;
    CHECK(home);
    arena_free(&i.arena);
}

TEST(what_only_native_has_is_refused_by_name)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(policy_add_name(&i.policy.hide, &i.arena, "/etc/x", NULL), 0);
    CHECK_INT(compile_by(&i, BACKEND_POSIX), -EINVAL);
    CHECK_INT(i.err.kind, CORDON_ERROR_POLICY);
    CHECK_STR(i.err.subject, "hide");
    CHECK_STR(i.err.why, "only the native backend has it");
    arena_free(&i.arena);
}
