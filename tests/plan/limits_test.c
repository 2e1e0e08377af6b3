/* The ladders: which rung carries each limit on which host. */
#include "invent.h"

TEST(no_tree_is_writable_that_shows_the_cgroup_of_the_run)
{
    static const char *const trees[] = {"/", "/sys", "/sys/fs/cgroup", "/sys/fs/cgroup/memory/mine"};
    for (size_t k = 0; k < sizeof trees / sizeof trees[0]; k++) {
        struct invented i = invented(PROFILE_STAGE);
        bind_in(&i, &i.policy.rw, trees[k], "/tree");
        CHECK_INT(compile(&i), 0); /* nothing there is the caller's to write */
        give_cgroups(&i, CGROUP_V1);
        CHECK_INT(compile(&i), -EINVAL);
        CHECK_STR(i.err.subject, trees[k]);
        i.host.uid = i.host.gid = 0; /* whose command is another user */
        CHECK_INT(compile(&i), 0);
        arena_free(&i.arena);
    }
    struct invented i = invented(PROFILE_STAGE);
    give_cgroups(&i, CGROUP_V2);
    bind_in(&i, &i.policy.rw, "/sys/fs/cgroups", "/tree");
    bind_in(&i, &i.policy.ro, "/sys", "/sys");
    CHECK_INT(compile(&i), 0);
    i.policy.work = WORK_HOST;
    i.policy.work_host = "/sys/fs";
    CHECK_INT(compile(&i), -EINVAL);
    arena_free(&i.arena);
}

TEST(cgroups_carry_every_limit_where_there_are_some)
{
    static const enum cgroup_version versions[] = {CGROUP_V1, CGROUP_V2};
    static const char *const names[] = {"cgroup1", "cgroup2"};
    for (size_t k = 0; k < 2; k++) {
        struct invented i = invented(PROFILE_STAGE);
        give_cgroups(&i, versions[k]);
        i.policy.limits.cpus = 1.5;
        CHECK_INT(compile(&i), 0);
        CHECK_STR(mechanism(&i, CAP_MEMORY), names[k]);
        CHECK_STR(mechanism(&i, CAP_PIDS), names[k]);
        CHECK_STR(mechanism(&i, CAP_CPU_TIME), names[k]);
        CHECK_STR(mechanism(&i, CAP_CPU_RATE), names[k]);
        CHECK(i.plan.use_cgroup);
        CHECK(!i.plan.watch_memory && !i.plan.watch_cpu && !i.plan.deny_memfd);
        CHECK_INT(i.plan.cgroup.mem_bytes, i.policy.limits.mem_bytes);
        CHECK_INT(i.plan.cgroup.pids, i.policy.limits.pids + 1); /* init is one of them */
        CHECK_INT(i.plan.cgroup.cpu_quota_us, 150000);
        CHECK_INT(i.plan.nproc, 0);
        CHECK((i.plan.must & PROOF_CGROUP) != 0);
        CHECK((i.plan.must & (PROOF_WATCHER | PROOF_NPROC)) == 0);
        arena_free(&i.arena);
    }
}

TEST(without_cgroups_a_watcher_and_rlimits_take_over)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    CHECK_STR(mechanism(&i, CAP_MEMORY), "watcher");
    CHECK_STR(mechanism(&i, CAP_PIDS), "rlimit");
    CHECK_STR(mechanism(&i, CAP_CPU_TIME), "sampling");
    CHECK(!i.plan.use_cgroup && i.plan.watch_memory && i.plan.watch_cpu);
    CHECK(i.plan.deny_memfd); /* memory that no page table shows */
    CHECK_INT(i.plan.nproc, 33);
    CHECK((i.plan.must & PROOF_WATCHER) != 0 && (i.plan.must & PROOF_NPROC) != 0);
    arena_free(&i.arena);
}

TEST(huge_pages_that_no_filter_refuses_are_beyond_a_limit_on_memory)
{
    for (int pages = 0; pages < 2; pages++) {
        for (int filter = 0; filter < 2; filter++) {
            struct invented i = invented(PROFILE_STAGE);
            give_cgroups(&i, CGROUP_V2);
            i.host.huge_pages = pages;
            i.policy.seccomp = filter ? SECCOMP_DEFAULT : SECCOMP_OFF;
            i.policy.allow_partial = true;
            CHECK_INT(compile(&i), 0);
            CHECK_STR(mechanism(&i, CAP_MEMORY), pages && !filter ? "none" : "cgroup2");
            arena_free(&i.arena);
        }
    }
}

TEST(a_hybrid_host_uses_each_controller_where_it_is)
{
    struct invented i = invented(PROFILE_STAGE);
    i.host.cgroup.controllers[CGROUP_MEMORY].version = CGROUP_V1;
    i.host.cgroup.controllers[CGROUP_CPUACCT].version = CGROUP_V2;
    CHECK_INT(compile(&i), 0);
    CHECK_STR(mechanism(&i, CAP_MEMORY), "cgroup1");
    CHECK_STR(mechanism(&i, CAP_CPU_TIME), "cgroup2");
    CHECK_STR(mechanism(&i, CAP_PIDS), "rlimit");
    CHECK(!i.plan.watch_memory && !i.plan.watch_cpu && i.plan.use_cgroup);
    arena_free(&i.arena);
}

TEST(cgroups_that_were_switched_off_are_not_used)
{
    struct invented i = invented(PROFILE_STAGE);
    give_cgroups(&i, CGROUP_V2);
    i.host.off = 1u << OFF_CGROUP;
    CHECK_INT(compile(&i), 0);
    CHECK_STR(mechanism(&i, CAP_MEMORY), "watcher");
    CHECK(!i.plan.use_cgroup);
    arena_free(&i.arena);
}

TEST(no_rung_at_all_refuses_the_run_by_the_name_of_the_limit)
{
    struct invented i = invented(PROFILE_STAGE);
    i.host.off = 1u << OFF_WATCHER;
    i.policy.limits.cpu_ms = POLICY_UNLIMITED;
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_INT(i.err.kind, CORDON_ERROR_PARTIAL);
    CHECK_STR(i.err.what, "enforce");
    CHECK_STR(i.err.subject, "memory");
    CHECK_STR(i.err.why, "no memory cgroup that this caller may write, and no watcher");
    CHECK(strstr(i.err.remedy, "--allow-partial") != NULL);
    arena_free(&i.arena);
}

TEST(the_watcher_alone_is_not_enough_where_no_filter_refuses_memfds)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.seccomp = SECCOMP_OFF;
    i.policy.net = NET_HOST; /* its filter is not what this is about */
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_STR(i.err.subject, "cpu_time");
    i.policy.limits.cpu_ms = POLICY_UNLIMITED;
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_STR(i.err.subject, "memory");
    give_cgroups(&i, CGROUP_V2);
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_STR(i.err.subject, "ipc"); /* nor is the caller's keyring out of reach */
    arena_free(&i.arena);
}

TEST(a_share_of_the_cores_needs_a_cgroup)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.limits.cpus = 0.5;
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_STR(i.err.subject, "cpu_rate");
    arena_free(&i.arena);
}

TEST(what_is_unlimited_is_neither_asked_for_nor_watched)
{
    struct invented i = invented(PROFILE_TEST);
    give_cgroups(&i, CGROUP_V2);
    CHECK_INT(compile(&i), 0);
    CHECK(!i.plan.use_cgroup && !i.plan.watch_memory && !i.plan.watch_cpu);
    static const enum capability limits[] = {CAP_WALL_TIME, CAP_CPU_TIME, CAP_MEMORY, CAP_PIDS,
                                             CAP_OPEN_FILES, CAP_OUTPUT, CAP_CPU_RATE};
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
        CHECK(!i.plan.claims[limits[k]].requested);
        CHECK_STR(mechanism(&i, limits[k]), "none");
        CHECK_STR(i.plan.claims[limits[k]].why, "not asked for");
    }
    CHECK_INT(i.plan.wall_ms, POLICY_UNLIMITED);
    arena_free(&i.arena);
}
