/* The ledger's side: what is claimed, by which proofs, and what makes a run partial. */
#include "invent.h"

static void check_claim(const struct invented *i, enum capability c, const char *how, uint32_t proof)
{
    CHECK(i->plan.claims[c].requested);
    CHECK_STR(mechanism(i, c), how);
    CHECK_INT(i->plan.claims[c].proof, proof);
    CHECK(i->plan.claims[c].why == NULL);
}

TEST(every_claim_of_the_default_profile_names_its_proofs)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    check_claim(&i, CAP_WALL_TIME, "supervisor timer", PROOF_TIMER | PROOF_PIDNS);
    check_claim(&i, CAP_CPU_TIME, "sampling", PROOF_WATCHER | PROOF_SECCOMP);
    check_claim(&i, CAP_MEMORY, "watcher", PROOF_WATCHER | PROOF_SECCOMP | PROOF_SMALL_PAGES);
    check_claim(&i, CAP_PIDS, "rlimit", PROOF_NPROC | PROOF_USERNS | PROOF_IDENTITY);
    check_claim(&i, CAP_OPEN_FILES, "rlimit", PROOF_NOFILE);
    check_claim(&i, CAP_OUTPUT, "supervisor", 0);
    check_claim(&i, CAP_FILESYSTEM, "mount namespace, landlock", PROOF_MOUNTNS | PROOF_READONLY | PROOF_LANDLOCK);
    check_claim(&i, CAP_NETWORK, "network namespace, seccomp", PROOF_NETNS | PROOF_NET_QUIET | PROOF_SECCOMP);
    check_claim(&i, CAP_SYSCALLS, "seccomp", PROOF_SECCOMP);
    check_claim(&i, CAP_PRIVILEGES, "user namespace",
                PROOF_USERNS | PROOF_NO_CAPS | PROOF_BOUNDING | PROOF_NO_NEW_PRIVS | PROOF_IDENTITY | PROOF_NO_NESTING);
    check_claim(&i, CAP_ENVIRONMENT, "rebuilt", PROOF_INIT_SEALED);
    check_claim(&i, CAP_PROCESSES, "pid namespace", PROOF_PIDNS | PROOF_EMPTY);
    check_claim(&i, CAP_IPC, "ipc and network namespace, keyring", PROOF_IPCNS | PROOF_NETNS | PROOF_KEYRING);
    check_claim(&i, CAP_DEVICES, "minimal /dev", PROOF_DEVICES | PROOF_MOUNTNS);
    arena_free(&i.arena);
}

TEST(the_payload_never_starts_without_the_proofs_that_can_be_had_before_it_does)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    uint32_t all = 0;
    for (int c = 0; c < CAPABILITY_COUNT; c++)
        all |= i.plan.claims[c].proof;
    CHECK_INT(i.plan.must, all & ~(uint32_t)(PROOF_EMPTY | PROOF_TIMER));
    i.policy.allow_partial = true; /* then the ledger alone tells */
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.must, 0);
    arena_free(&i.arena);
}

TEST(each_landlock_abi_is_used_as_far_as_it_goes)
{
    for (int abi = 0; abi <= 7; abi++) {
        struct invented i = invented(PROFILE_STAGE);
        i.host.landlock_abi = abi;
        i.policy.net = NET_HOST; /* where the scope of ABI 6 shows */
        CHECK_INT(compile(&i), 0);
        CHECK_INT(i.plan.landlock_abi, abi);
        CHECK_STR(mechanism(&i, CAP_FILESYSTEM), abi == 0 ? "mount namespace" : "mount namespace, landlock");
        CHECK_INT((i.plan.must & PROOF_LANDLOCK) != 0, abi > 0);
        CHECK_INT(plan_scopes_sockets(&i.plan), abi >= 6);
        CHECK_STR(mechanism(&i, CAP_IPC),
                  abi >= 6 ? "ipc namespace, landlock scope, keyring" : "ipc namespace, keyring");
        arena_free(&i.arena);
    }
}

TEST(the_hosts_network_is_no_claim_and_not_partial)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.net = NET_HOST;
    CHECK_INT(compile(&i), 0);
    CHECK(!i.plan.netns && i.plan.host_sockets);
    CHECK(!i.plan.claims[CAP_NETWORK].requested);
    CHECK((i.plan.must & (PROOF_NETNS | PROOF_NET_QUIET)) == 0);
    i.policy.net = NET_LOOPBACK;
    CHECK_INT(compile(&i), 0);
    CHECK(i.plan.netns && i.plan.loopback && !i.plan.host_sockets);
    arena_free(&i.arena);
}

/* AF_VSOCK goes past a network namespace; only the filter refuses it. */
TEST(no_network_without_a_filter_is_refused)
{
    struct invented i = invented(PROFILE_STAGE);
    give_cgroups(&i, CGROUP_V2);
    i.policy.seccomp = SECCOMP_OFF;
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_STR(i.err.subject, "network");
    CHECK(strstr(i.err.why, "AF_VSOCK") != NULL);
    i.policy.allow_partial = true;
    CHECK_INT(compile(&i), 0);
    CHECK(!i.plan.claims[CAP_SYSCALLS].requested);
    arena_free(&i.arena);
}

/* What each switch takes away; everything else must stay. */
static void check_switch(uint32_t off, uint32_t off_capabilities, uint32_t lost)
{
    struct invented i = invented(PROFILE_STAGE);
    give_cgroups(&i, CGROUP_V2); /* so that limits do not hang on the filter */
    i.host.off = off;
    i.host.off_capabilities = off_capabilities;
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_INT(i.err.kind, CORDON_ERROR_PARTIAL);
    i.policy.allow_partial = true;
    CHECK_INT(compile(&i), 0);
    for (int c = 0; c < CAPABILITY_ALWAYS; c++) {
        const bool gone = i.plan.claims[c].mechanism == NULL;
        if (gone != ((lost >> c & 1) != 0))
            test_fail(__FILE__, __LINE__, "off %#x/%#x: %s is %s", off, off_capabilities,
                      capability_name((enum capability)c), gone ? "lost" : "claimed");
        CHECK(!gone || (i.plan.claims[c].proof == 0 && i.plan.claims[c].why != NULL));
    }
    arena_free(&i.arena);
}

TEST(a_switch_takes_away_exactly_its_claims)
{
    check_switch(1u << OFF_MOUNTS, 0, 1u << CAP_FILESYSTEM | 1u << CAP_DEVICES);
    check_switch(1u << OFF_NETNS, 0, 1u << CAP_NETWORK);
    check_switch(1u << OFF_IPCNS, 0, 1u << CAP_IPC);
    check_switch(1u << OFF_KEYRING, 0, 1u << CAP_IPC);
    check_switch(1u << OFF_SECCOMP, 0, 1u << CAP_SYSCALLS | 1u << CAP_NETWORK | 1u << CAP_IPC);
    check_switch(1u << OFF_RLIMITS, 0, 1u << CAP_OPEN_FILES);
    check_switch(1u << OFF_CAPABILITIES, 0, 1u << CAP_PRIVILEGES);
    check_switch(1u << OFF_WIPE, 0, 1u << CAP_ENVIRONMENT);
    for (unsigned c = 0; c < CAPABILITY_ALWAYS; c++) {
        uint32_t lost = 1u << c;
        if (c == CAP_FILESYSTEM)
            lost |= 1u << CAP_DEVICES;
        if (c == CAP_SYSCALLS)
            lost |= 1u << CAP_NETWORK | 1u << CAP_IPC;
        check_switch(0, 1u << c, lost);
    }
}

TEST(a_claim_that_a_test_switched_off_says_so)
{
    struct invented i = invented(PROFILE_STAGE);
    i.host.off_capabilities = 1u << CAP_PROCESSES;
    CHECK_INT(compile(&i), -EOPNOTSUPP);
    CHECK_STR(i.err.subject, "processes");
    CHECK_STR(i.err.why, "switched off for a test");
    CHECK(!i.plan.pidns);
    arena_free(&i.arena);
}

TEST(landlock_and_the_watcher_have_somebody_behind_them)
{
    struct invented i = invented(PROFILE_STAGE);
    give_cgroups(&i, CGROUP_V1);
    i.host.off = 1u << OFF_LANDLOCK | 1u << OFF_WATCHER;
    CHECK_INT(compile(&i), 0); /* mounts and cgroups carry it alone */
    CHECK_STR(mechanism(&i, CAP_FILESYSTEM), "mount namespace");
    CHECK_INT(i.plan.landlock_abi, 0);
    arena_free(&i.arena);
}

static int require(struct invented *i, const char *what)
{
    i->policy.require = (struct policy_names){0};
    CHECK_INT(policy_add_name(&i->policy.require, &i->arena, what, NULL), 0);
    return compile(i);
}

TEST(a_requirement_is_a_capability_or_a_rung_of_it)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(require(&i, "memory"), 0);
    CHECK_INT(require(&i, "memory:watcher"), 0);
    CHECK_INT(require(&i, "filesystem:landlock"), 0);
    CHECK_INT(require(&i, "filesystem:mount"), 0);
    static const char *const parts[] = {"memory:w", "memory:watch", "memory:", "memory:watchers", "filesystem:m",
                                        "filesystem:land", "filesystem:lock", "filesystem:mount namespace"};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        CHECK_INT(require(&i, parts[k]), -EOPNOTSUPP);
    CHECK_INT(require(&i, "memory:cgroup2"), -EOPNOTSUPP);
    CHECK_INT(i.err.kind, CORDON_ERROR_PARTIAL);
    CHECK_STR(i.err.what, "satisfy requirement");
    CHECK_STR(i.err.subject, "memory:cgroup2");
    CHECK_STR(i.err.why, "this host would use watcher");
    give_cgroups(&i, CGROUP_V2);
    CHECK_INT(require(&i, "memory:cgroup2"), 0);
    CHECK_INT(require(&i, "teleport"), -EOPNOTSUPP);
    CHECK_STR(i.err.why, "there is no such capability");
    i.policy.limits.mem_bytes = POLICY_UNLIMITED;
    CHECK_INT(require(&i, "memory"), -EOPNOTSUPP);
    CHECK_STR(i.err.why, "the policy does not ask for this capability");
    arena_free(&i.arena);
}

TEST(a_requirement_holds_although_the_rest_may_be_partial)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.allow_partial = true;
    i.host.off = 1u << OFF_WATCHER;
    CHECK_INT(require(&i, "network"), 0);
    const uint32_t proofs = i.plan.claims[CAP_NETWORK].proof;
    CHECK(proofs != 0 && (i.plan.must & proofs) == proofs); /* a step that does not work is no run */
    CHECK_INT(require(&i, "memory"), -EOPNOTSUPP);
    CHECK_STR(i.err.why, "no memory cgroup that this caller may write, and no watcher");
    arena_free(&i.arena);
}
