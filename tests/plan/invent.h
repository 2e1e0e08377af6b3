/* Invented hosts and policies: plan_compile() is pure, so no test here needs a real one. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "../harness.h"
#include "plan/plan.h"

#define INVENTED_ARENA (64u * 1024 * 1024)

struct invented {
    struct arena arena;
    struct host host;
    struct policy policy;
    struct plan plan;
    struct cordon_error err;
    char *command[4];
    char *env[8];
};

/* An ordinary Debian 12: merged /usr, Landlock 2, no cgroup that the caller may write. */
static inline struct invented invented(enum policy_profile profile)
{
    static const char *const tops[HOST_TOP_COUNT] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
    static char program[] = "true";
    struct invented i = {
        .arena = ARENA_INIT(INVENTED_ARENA),
        .host = {.uid = 1000,
                 .gid = 1000,
                 .groups = 3,
                 .landlock_abi = 2,
                 .cores = 2,
                 .cwd = "/srv/project",
                 .home = {"/home/ann", "/home/ann"},
                 .spare_uid = 0x70000001},
        .command = {program},
    };
    for (size_t k = 0; k < HOST_TOP_COUNT; k++)
        i.host.top[k].path = tops[k];
    i.host.top[0].present = true;
    snprintf(i.host.top[0].link, sizeof i.host.top[0].link, "usr/bin");
    policy_init(&i.policy, profile);
    return i;
}

static inline void bind_in(struct invented *i, struct policy_binds *list, const char *host, const char *sandbox)
{
    CHECK_INT(policy_add_bind(list, &i->arena, host, sandbox, false, NULL), 0);
}

static inline int compile(struct invented *i)
{
    const struct plan_request request = {
        .policy = &i->policy, .host = &i->host, .command = i->command, .caller_env = i->env};
    i->err = (struct cordon_error){0};
    return plan_compile(&i->plan, &i->arena, &request, &i->err);
}

/* With every limit on one version of cgroups. */
static inline void give_cgroups(struct invented *i, enum cgroup_version version)
{
    for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        i->host.cgroup.controllers[c].version = version;
}

/* The index of the last step at a target, which is the one that the payload sees; -1: none. */
static inline int step_at(const struct plan *plan, const char *target)
{
    for (size_t k = plan->step_count; k > 0; k--) {
        if (strcmp(plan->steps[k - 1].target, target) == 0)
            return (int)k - 1;
    }
    return -1;
}

static inline const struct plan_step *step(const struct plan *plan, const char *target)
{
    int at = step_at(plan, target);
    if (at < 0)
        test_fail(__FILE__, __LINE__, "there is no step at /%s", target);
    return &plan->steps[at];
}

static inline uint64_t access_of(const struct plan *plan, const char *path)
{
    uint64_t access = 0;
    for (size_t k = 0; k < plan->rule_count; k++) {
        if (strcmp(plan->rules[k].path, path) == 0)
            access |= plan->rules[k].access;
    }
    return access;
}

static inline const char *mechanism(const struct invented *i, enum capability c)
{
    return i->plan.claims[c].mechanism == NULL ? "none" : i->plan.claims[c].mechanism;
}
