/* The plan of the tier without namespaces: rules, directory, environment, claims, refusals. */
#include "../harness.h"
#include "base/arena.h"
#include "plan/plan.h"
#include "sys/landlock.h"

static struct arena arena = {.max = 16 << 20};
static struct cordon_error error;
static const char *top[] = {"/dev", "/etc", "/home", "/proc", "/usr", NULL};

/* A kernel and a caller that refuse user namespaces and have everything else. */
static struct host refusing(void)
{
    struct host host = {.uid = 1000, .gid = 1000, .landlock_abi = 7, .cores = 2, .cwd = "/home/me/project"};
    host.home[0] = "/home/me";
    host.refused.userns = true;
    host.refused.top = top;
    strcpy(host.work_dir, "/tmp/cordon-1000/work-1");
    err_set(&host.refused.error, CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, EPERM, "make namespaces", "clone3");
    err_remedy(&host.refused.error, "sysctl -w kernel.something=1");
    return host;
}

static int compile(struct plan *plan, const struct policy *policy, const struct host *host, char **env)
{
    static char *command[] = {"true", NULL};
    static char *none[] = {NULL};
    const struct plan_request request = {
        .policy = policy, .host = host, .command = command, .caller_env = env == NULL ? none : env};
    return plan_compile(plan, &arena, &request, &error);
}

static struct policy partial(enum policy_profile profile)
{
    struct policy policy;
    policy_init(&policy, profile);
    policy.allow_partial = true;
    return policy;
}

static uint64_t access_to(const struct plan *plan, const char *path)
{
    uint64_t access = 0;
    for (size_t i = 0; i < plan->rule_count; i++) {
        if (strcmp(plan->rules[i].path, path) == 0)
            access |= plan->rules[i].access;
    }
    return access;
}

static const char *variable(const struct plan *plan, const char *name)
{
    const size_t len = strlen(name);
    for (char *const *e = plan->envp; *e != NULL; e++) {
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    }
    return NULL;
}

TEST(a_host_that_refuses_nothing_has_a_plan_with_namespaces)
{
    struct host host = refusing();
    struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    host.refused.userns = false;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(!plan.bare && plan.pidns && plan.netns && !plan.host_proc && !plan.gate && plan.work_dir == NULL);
}

TEST(no_namespace_and_no_step_is_left)
{
    const struct host host = refusing();
    const struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.bare && plan.gate && plan.step_count == 0);
    CHECK(!plan.pidns && !plan.netns && !plan.ipcns && !plan.cgroupns && !plan.own_tree && plan.host_proc);
    CHECK_INT(plan.uid_inside, 1000);
    CHECK_INT(plan.nproc, 0); /* it would count everything of the user's */
    CHECK_INT(plan.gate_tasks, 32);
}

TEST(the_view_has_the_system_the_work_directory_and_nothing_of_the_caller)
{
    const struct host host = refusing();
    const struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK_INT(access_to(&plan, "/usr"), LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
    CHECK((access_to(&plan, "/tmp/cordon-1000/work-1") & LL_WRITE_FILE) != 0);
    CHECK_INT(access_to(&plan, "/"), 0);
    CHECK_INT(access_to(&plan, "/proc"), 0);
    CHECK_INT(access_to(&plan, "/tmp"), 0);
    CHECK_INT(access_to(&plan, "/dev"), 0);
    CHECK((access_to(&plan, "/dev/urandom") & LL_WRITE_FILE) == 0); /* the canary */
    CHECK_INT(access_to(&plan, "/etc/resolv.conf"), 0);
}

TEST(guard_mode_reads_everything_but_devices)
{
    const struct host host = refusing();
    const struct policy policy = partial(PROFILE_LIMITS);
    struct plan plan;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK_INT(access_to(&plan, "/"), LL_READ_DIR);
    CHECK((access_to(&plan, "/home") & LL_READ_FILE) != 0 && (access_to(&plan, "/home") & LL_WRITE_FILE) == 0);
    CHECK_INT(access_to(&plan, "/dev"), 0);
    CHECK((access_to(&plan, "/home/me/project") & LL_WRITE_FILE) != 0);
}

TEST(what_is_listed_may_hold_device_nodes)
{
    const struct host host = refusing();
    struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_DEVICES].mechanism != NULL);
    policy.work = WORK_HOST;
    policy.work_host = "/srv/work";
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_DEVICES].mechanism == NULL && plan.claims[CAP_DEVICES].instead != NULL);
    policy = partial(PROFILE_AGENT); /* the caller's directory */
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_DEVICES].mechanism == NULL);
}

TEST(guard_mode_lacks_nothing)
{
    const struct host host = refusing();
    struct policy policy;
    struct plan plan;
    policy_init(&policy, PROFILE_LIMITS);
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
}

TEST(what_leads_to_work_leads_to_what_stands_for_it)
{
    const struct host host = refusing();
    struct policy policy = partial(PROFILE_MODULE);
    struct plan plan;
    policy.cwd = "/work/sub";
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK_STR(plan.cwd, "/tmp/cordon-1000/work-1/sub");
    CHECK_STR(variable(&plan, "HOME"), "/tmp/cordon-1000/work-1");
    CHECK_STR(variable(&plan, "TMPDIR"), "/tmp/cordon-1000/work-1");
}

TEST(what_is_listed_beneath_a_work_of_the_hosts_stays_where_it_is)
{
    const struct host host = refusing();
    struct policy policy = partial(PROFILE_MODULE);
    struct plan plan;
    struct policy_bind own = {.host = "/work/project", .sandbox = "/work/project"};
    policy.ro = (struct policy_binds){.items = &own, .count = 1};
    policy.cwd = "/work/project/src";
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK_STR(plan.cwd, "/work/project/src");
    CHECK_STR(variable(&plan, "HOME"), "/tmp/cordon-1000/work-1");
}

TEST(a_work_directory_of_the_host_stands_for_work_itself)
{
    const struct host host = refusing();
    struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    policy.work = WORK_HOST;
    policy.work_host = "/srv/job";
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK_STR(plan.cwd, "/srv/job");
    CHECK_STR(variable(&plan, "HOME"), "/srv/job");
    CHECK((access_to(&plan, "/srv/job") & LL_WRITE_FILE) != 0);
}

TEST(the_environment_of_a_first_plan_gives_the_same_again)
{
    struct host host = refusing();
    const struct policy policy = partial(PROFILE_MODULE);
    char *env[] = {"PATH=/bin", "APCORE_X=1", "APCORE_AUTH_X=secret", "OTHER=2", "TMPDIR=/var/tmp", NULL};
    struct plan first, again, direct;
    host.refused.userns = false;
    CHECK_INT(compile(&first, &policy, &host, env), 0);
    host.refused.userns = true;
    CHECK_INT(compile(&direct, &policy, &host, env), 0);
    char **made = arena_array(&arena, 16, sizeof *made);
    for (size_t i = 0; first.envp[i] != NULL; i++)
        made[i] = first.envp[i];
    CHECK_INT(compile(&again, &policy, &host, made), 0);
    size_t i = 0;
    for (; direct.envp[i] != NULL; i++)
        CHECK_STR(again.envp[i], direct.envp[i]);
    CHECK(again.envp[i] == NULL && variable(&again, "APCORE_AUTH_X") == NULL);
}

TEST(a_bind_at_another_path_and_a_loopback_are_refused_even_if_partial)
{
    const struct host host = refusing();
    struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    CHECK_INT(policy_add_bind(&policy.ro, &arena, "/srv/a", "/data", false, NULL), 0);
    CHECK_INT(compile(&plan, &policy, &host, NULL), -EOPNOTSUPP);
    CHECK_STR(error.subject, "/data");
    CHECK_STR(error.remedy, "sysctl -w kernel.something=1");
    policy = partial(PROFILE_STAGE);
    policy.net = NET_LOOPBACK;
    CHECK_INT(compile(&plan, &policy, &host, NULL), -EOPNOTSUPP);
    CHECK_STR(error.subject, "loopback");
}

TEST(the_refusal_names_the_step_that_was_met_and_what_is_lost)
{
    const struct host host = refusing();
    struct policy policy;
    struct plan plan;
    policy_init(&policy, PROFILE_STAGE);
    CHECK_INT(compile(&plan, &policy, &host, NULL), -EOPNOTSUPP);
    CHECK_INT(error.kind, CORDON_ERROR_PARTIAL);
    CHECK_INT(error.errnum, EPERM);
    CHECK_STR(error.what, "make namespaces");
    CHECK_STR(error.subject, "clone3");
    CHECK(strstr(error.why, "'filesystem'") != NULL);
    CHECK(strstr(error.remedy, "kernel.something") != NULL && strstr(error.remedy, "--allow-partial") != NULL);
}

static void check_gap(const struct policy *policy, const char *word)
{
    const struct host host = refusing();
    struct plan plan;
    CHECK_INT(compile(&plan, policy, &host, NULL), 0);
    const struct plan_claim *c = &plan.claims[CAP_FILESYSTEM];
    CHECK(c->mechanism == NULL && c->instead != NULL);
    CHECK(strstr(c->why, word) != NULL);
}

TEST(what_rules_cannot_express_is_said)
{
    struct policy policy = partial(PROFILE_STAGE);
    check_gap(&policy, "stat()");
    CHECK_INT(policy_add_bind(&policy.rw, &arena, "/srv/a", "/srv/a", false, NULL), 0);
    CHECK_INT(policy_add_bind(&policy.ro, &arena, "/srv/a/b", "/srv/a/b", false, NULL), 0);
    check_gap(&policy, "read-only inside something writable");
    policy = partial(PROFILE_AGENT);
    check_gap(&policy, ".git/hooks");
    policy.rw_cwd = false; /* /work is a writable tree as well */
    policy.work = WORK_HOST;
    policy.work_host = "/srv/a";
    check_gap(&policy, ".git/hooks");
}

TEST(the_end_of_everything_takes_gate_filter_and_scope)
{
    struct host host = refusing();
    struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_PROCESSES].mechanism != NULL && plan.claims[CAP_WALL_TIME].mechanism != NULL);
    CHECK((plan.claims[CAP_PROCESSES].proof & (PROOF_GATE | PROOF_EMPTY)) == (PROOF_GATE | PROOF_EMPTY));

    host.landlock_abi = 5; /* no scope for signals */
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_PROCESSES].mechanism == NULL && plan.claims[CAP_WALL_TIME].mechanism == NULL);
    CHECK(strstr(plan.claims[CAP_PROCESSES].why, "ABI 6") != NULL);
    /* init, which can be ended, holds them */
    CHECK(plan.claims[CAP_MEMORY].mechanism == NULL && plan.claims[CAP_CPU_TIME].mechanism == NULL);
    CHECK_STR(plan.claims[CAP_MEMORY].instead, "watcher");

    host = refusing();
    host.off = 1u << OFF_GATE;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_PROCESSES].mechanism == NULL && plan.claims[CAP_PIDS].mechanism == NULL);

    host = refusing();
    policy.seccomp = SECCOMP_OFF;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_PROCESSES].mechanism == NULL && plan.claims[CAP_IPC].mechanism == NULL);
    CHECK(plan.claims[CAP_NETWORK].mechanism == NULL && plan.claims[CAP_PRIVILEGES].mechanism == NULL);
}

TEST(without_landlock_nothing_about_files_is_claimed)
{
    struct host host = refusing();
    const struct policy policy = partial(PROFILE_LIMITS);
    struct plan plan;
    host.landlock_abi = 0;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_FILESYSTEM].mechanism == NULL && plan.claims[CAP_FILESYSTEM].instead == NULL);
    CHECK(plan.claims[CAP_DEVICES].mechanism == NULL && plan.claims[CAP_ENVIRONMENT].mechanism == NULL);
}

TEST(without_landlock_the_payload_writes_to_the_cgroups_of_an_ordinary_caller)
{
    struct host host = refusing();
    struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    policy.limits.cpus = 1;
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        host.cgroup.controllers[i].version = CGROUP_V2;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK_STR(plan.claims[CAP_MEMORY].mechanism, "cgroup2");
    CHECK(plan.claims[CAP_PIDS].mechanism != NULL && plan.claims[CAP_CPU_RATE].mechanism != NULL);
    CHECK(plan.claims[CAP_IPC].mechanism != NULL);

    host.landlock_abi = 0;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(plan.claims[CAP_MEMORY].mechanism == NULL && plan.claims[CAP_PIDS].mechanism == NULL);
    CHECK_STR(plan.claims[CAP_MEMORY].instead, "cgroup2");
    CHECK(plan.claims[CAP_CPU_RATE].mechanism == NULL);
    CHECK(plan.claims[CAP_IPC].mechanism == NULL && strstr(plan.claims[CAP_IPC].why, "/dev/shm") != NULL);

    host.uid = 0; /* the payload is another user then */
    host.spare_uid = 0x70000001;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK_STR(plan.claims[CAP_MEMORY].mechanism, "cgroup2");
    CHECK(plan.claims[CAP_PIDS].mechanism != NULL && plan.claims[CAP_CPU_RATE].mechanism != NULL);
}

TEST(without_landlock_the_payload_acts_by_other_processes_of_the_caller)
{
    static const enum capability held[] = {CAP_NETWORK, CAP_SYSCALLS, CAP_PRIVILEGES};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        struct host host = refusing();
        struct policy policy = partial(PROFILE_STAGE);
        struct plan plan;
        CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
        CHECK(plan.claims[held[i]].mechanism != NULL);

        host.landlock_abi = 0;
        CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
        CHECK(plan.claims[held[i]].mechanism == NULL && strstr(plan.claims[held[i]].why, "trace") != NULL);

        policy.seccomp = SECCOMP_STRICT;
        CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
        CHECK(plan.claims[held[i]].mechanism != NULL);

        policy.seccomp = SECCOMP_DEFAULT;
        host.uid = 0; /* the payload is another user then */
        host.spare_uid = 0x70000001;
        CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
        CHECK(plan.claims[held[i]].mechanism != NULL);
    }
}

TEST(a_limit_beyond_what_the_gate_counts_says_where_it_ends)
{
    struct host host = refusing();
    struct policy policy = partial(PROFILE_STAGE);
    struct plan plan;
    struct plan_words words;
    policy.limits.pids = PLAN_GATE_TASKS_MAX;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    plan_describe(&plan, CAP_PIDS, &words);
    CHECK(strstr(words.details, "8192") == NULL);
    plan_describe(&plan, CAP_PROCESSES, &words); /* without a limit, too */
    CHECK(strstr(words.details, "beyond 8192 tasks") != NULL);
    policy.limits.pids = PLAN_GATE_TASKS_MAX + 1;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    plan_describe(&plan, CAP_PIDS, &words);
    CHECK(strstr(words.details, "no further than 8192") != NULL);
}

TEST(every_claim_has_words_that_fit)
{
    struct host host = refusing();
    for (int profile = 0; profile < PROFILE_COUNT; profile++) {
        const struct policy policy = partial((enum policy_profile)profile);
        for (int abi = 0; abi <= 7; abi++) {
            struct plan plan;
            host.landlock_abi = abi;
            CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
            for (int c = 0; c < CAPABILITY_COUNT; c++) {
                struct plan_words words;
                plan_describe(&plan, (enum capability)c, &words);
                CHECK(words.details[0] != '\0' && strlen(words.details) < sizeof words.details - 1);
            }
        }
    }
}

TEST(a_refused_procfs_is_bound_read_only_and_watched_by_descent)
{
    struct host host = refusing();
    struct policy policy;
    struct plan plan;
    bool bound = false;
    policy_init(&policy, PROFILE_STAGE);
    host.refused.userns = false;
    host.refused.procfs = true;
    CHECK_INT(compile(&plan, &policy, &host, NULL), 0);
    CHECK(!plan.bare && plan.pidns && plan.host_proc);
    for (size_t i = 0; i < plan.step_count; i++) {
        CHECK(plan.steps[i].kind != STEP_PROC);
        bound = bound || (strcmp(plan.steps[i].target, "proc") == 0 && (plan.steps[i].flags & STEP_RDONLY) != 0);
    }
    CHECK(bound);
    host.landlock_abi = 0;
    CHECK_INT(compile(&plan, &policy, &host, NULL), -EOPNOTSUPP);
    CHECK_STR(error.subject, "environment");
}
