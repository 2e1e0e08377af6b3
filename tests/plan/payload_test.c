/* What is executed: where it may be, with which environment and limits, and where it starts. */
#include <sys/resource.h>

#include "invent.h"
#include "sys/landlock.h"

static void check_candidates(struct invented *i, const char *command, const char *path, const char *const *want)
{
    static char room[256];
    static char word[64];
    snprintf(word, sizeof word, "%s", command);
    i->command[0] = word;
    i->env[0] = NULL;
    if (path != NULL) {
        snprintf(room, sizeof room, "PATH=%s", path);
        i->env[0] = room;
    }
    CHECK_INT(compile(i), 0);
    size_t k = 0;
    for (; want[k] != NULL; k++)
        CHECK_STR(i->plan.candidates[k], want[k]);
    CHECK(i->plan.candidates[k] == NULL);
    CHECK_STR(i->plan.command, command);
}

TEST(a_command_is_looked_for_as_execvp_would)
{
    struct invented i = invented(PROFILE_STAGE);
    check_candidates(&i, "cc", "/opt/bin:/bin", (const char *const[]){"/opt/bin/cc", "/bin/cc", NULL});
    check_candidates(&i, "cc", "/bin:", (const char *const[]){"/bin/cc", "./cc", NULL});
    check_candidates(&i, "cc", ":/bin", (const char *const[]){"./cc", "/bin/cc", NULL});
    check_candidates(&i, "cc", "/a::/b", (const char *const[]){"/a/cc", "./cc", "/b/cc", NULL});
    check_candidates(&i, "./cc", "/bin", (const char *const[]){"./cc", NULL});
    check_candidates(&i, "/usr/bin/cc", "/bin", (const char *const[]){"/usr/bin/cc", NULL});
    check_candidates(&i, "cc", NULL,
                     (const char *const[]){"/usr/local/bin/cc", "/usr/bin/cc", "/bin/cc", NULL});
    check_candidates(&i, "cc", "", (const char *const[]){"/usr/local/bin/cc", "/usr/bin/cc", "/bin/cc", NULL});
    arena_free(&i.arena);
}

TEST(the_environment_is_built_from_the_policy)
{
    struct invented i = invented(PROFILE_STAGE);
    static char lang[] = "LANG=C.UTF-8";
    static char secret[] = "AWS_SECRET_ACCESS_KEY=x";
    i.env[0] = lang;
    i.env[1] = secret;
    CHECK_INT(compile(&i), 0);
    bool seen = false;
    for (char *const *e = i.plan.envp; *e != NULL; e++) {
        CHECK(strncmp(*e, "AWS", 3) != 0);
        CHECK(*e != lang); /* a copy: init wipes the caller's own words */
        seen = seen || strcmp(*e, lang) == 0;
    }
    CHECK(seen);
    i.host.off_capabilities = 1u << CAP_ENVIRONMENT;
    i.policy.allow_partial = true;
    CHECK_INT(compile(&i), 0);
    CHECK_STR(i.plan.envp[1], secret);
    arena_free(&i.arena);
}

TEST(the_directory_follows_from_the_mode_and_the_policy)
{
    static const struct {
        enum policy_profile profile;
        const char *want;
    } cases[] = {{PROFILE_STAGE, "/work"},
                 {PROFILE_MODULE, "/work"},
                 {PROFILE_LIMITS, "/srv/project"},
                 {PROFILE_TEST, "/srv/project"},
                 {PROFILE_AGENT, "/srv/project"}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct invented i = invented(cases[k].profile);
        CHECK_INT(compile(&i), 0);
        CHECK_STR(i.plan.cwd, cases[k].want);
        i.policy.cwd = "/usr";
        CHECK_INT(compile(&i), 0);
        CHECK_STR(i.plan.cwd, "/usr");
        arena_free(&i.arena);
    }
}

TEST(a_guard_without_a_current_directory_says_so)
{
    struct invented i = invented(PROFILE_TEST);
    i.host.cwd = NULL;
    CHECK_INT(compile(&i), -ENOENT);
    CHECK_STR(i.err.what, "find the current directory");
    i.policy.cwd = "/";
    CHECK_INT(compile(&i), 0);
    arena_free(&i.arena);
}

static const struct plan_rlimit *rlimit_of(const struct plan *plan, int resource)
{
    for (size_t k = 0; k < plan->rlimit_count; k++) {
        if (plan->rlimits[k].resource == resource)
            return &plan->rlimits[k];
    }
    return NULL;
}

TEST(rlimits_are_cores_files_tasks_and_a_backstop_for_the_cpu)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.limits.cpu_ms = 2500;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.rlimit_count, 7);
    CHECK(i.plan.rlimit_count <= PLAN_MAX_RLIMITS);
    CHECK_INT(rlimit_of(&i.plan, RLIMIT_CORE)->hard, 1); /* also stops a pipe handler */
    CHECK_INT(rlimit_of(&i.plan, RLIMIT_NOFILE)->hard, 512);
    CHECK_INT(rlimit_of(&i.plan, RLIMIT_NPROC)->hard, 33);
    CHECK_INT(rlimit_of(&i.plan, RLIMIT_CPU)->soft, 3); /* SIGXCPU first */
    CHECK_INT(rlimit_of(&i.plan, RLIMIT_CPU)->hard, 4);
    CHECK(rlimit_of(&i.plan, RLIMIT_AS) == NULL); /* only on request */

    give_cgroups(&i, CGROUP_V2);
    CHECK_INT(compile(&i), 0);
    CHECK(rlimit_of(&i.plan, RLIMIT_NPROC) == NULL);
    CHECK(rlimit_of(&i.plan, RLIMIT_CPU) != NULL);
    arena_free(&i.arena);
}

TEST(where_somebody_keeps_time_or_memory_nothing_inside_comes_before_him)
{
    struct invented i = invented(PROFILE_TEST);
    CHECK_INT(compile(&i), 0);
    CHECK(rlimit_of(&i.plan, RLIMIT_RTPRIO) == NULL); /* nobody does: what the caller may, its tests may */
    i.policy.limits.wall_ms = 1000;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(rlimit_of(&i.plan, RLIMIT_RTPRIO)->hard, 0);
    CHECK_INT(rlimit_of(&i.plan, RLIMIT_NICE)->hard, 0);
    CHECK(rlimit_of(&i.plan, RLIMIT_MEMLOCK) == NULL);
    i.policy.limits.mem_bytes = 1 << 30;
    CHECK_INT(compile(&i), 0);
    CHECK(rlimit_of(&i.plan, RLIMIT_MEMLOCK) != NULL); /* a watcher does not see what is locked of files */
    give_cgroups(&i, CGROUP_V2);
    CHECK_INT(compile(&i), 0);
    CHECK(rlimit_of(&i.plan, RLIMIT_MEMLOCK) == NULL); /* a cgroup does */
    arena_free(&i.arena);
}

TEST(a_profile_without_limits_still_forbids_core_files)
{
    struct invented i = invented(PROFILE_TEST);
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.rlimit_count, 1);
    CHECK_INT(i.plan.rlimits[0].resource, RLIMIT_CORE);
    arena_free(&i.arena);
}

TEST(the_filter_is_the_policys_unless_it_is_off)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.seccomp = SECCOMP_STRICT;
    i.policy.on_forbidden = FORBIDDEN_KILL;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.seccomp, SECCOMP_STRICT);
    CHECK_INT(i.plan.on_forbidden, FORBIDDEN_KILL);
    i.host.off = 1u << OFF_SECCOMP;
    i.policy.allow_partial = true;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.seccomp, SECCOMP_OFF);
    arena_free(&i.arena);
}
