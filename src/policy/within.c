/* The ceiling: a policy that somebody else wrote may ask for what the caller granted, no more. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/within.h"

int within_exceeds(struct cordon_error *err, const char *pointer, const char *why)
{
    int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, EPERM,
                    "keep policy within its ceiling", pointer);
    err_why(err, why);
    err_remedy(err, "grant it in the document of --within, or ask for less");
    return r;
}

bool within_keeps_names(const struct policy_names *wanted, const struct policy_names *ceiling)
{
    for (size_t i = 0; i < ceiling->count; i++) {
        bool found = false;
        for (size_t k = 0; k < wanted->count && !found; k++)
            found = strcmp(ceiling->items[i], wanted->items[k]) == 0;
        if (!found)
            return false;
    }
    return true;
}

/* Every name that `pattern` lets through is let through by the ceiling. */
static bool pattern_granted(const struct policy_names *allow, const char *pattern)
{
    for (size_t i = 0; i < allow->count; i++) {
        if (policy_name_matches(allow->items[i], pattern) && !policy_loader_variable(pattern))
            return true;
        if (strcmp(allow->items[i], pattern) == 0)
            return true;
    }
    return false;
}

static int check_env(const struct policy_env *p, const struct policy_env *ceiling,
                     struct cordon_error *err)
{
    char pointer[64];
    if (!ceiling->inherit && p->inherit)
        return within_exceeds(err, "/env/inherit", "the ceiling does not pass the whole environment");
    for (size_t i = 0; !ceiling->inherit && i < p->allow.count; i++) {
        snprintf(pointer, sizeof pointer, "/env/allow/%zu", i);
        if (!pattern_granted(&ceiling->allow, p->allow.items[i]))
            return within_exceeds(err, pointer, "the ceiling does not pass this variable");
    }
    if (!within_keeps_names(&p->deny, &ceiling->deny))
        return within_exceeds(err, "/env/deny", "the ceiling denies a variable that this policy does not");
    return 0;
}

static int check_limits(const struct policy *p, const struct policy *ceiling,
                        struct cordon_error *err)
{
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        if (policy_limit_get(p, limit) > policy_limit_get(ceiling, limit)) /* unlimited is the largest number */
            return within_exceeds(err, limit->pointer, "the limit is above the ceiling's");
    }
    if (p->limits.on_overflow == OVERFLOW_TRUNCATE && ceiling->limits.on_overflow == OVERFLOW_KILL)
        return within_exceeds(err, "/limits/on_overflow", "the ceiling ends a run whose output is too long");
    if (ceiling->limits.cpus != 0 &&
        (p->limits.cpus == 0 || p->limits.cpus > ceiling->limits.cpus))
        return within_exceeds(err, "/limits/cpus", "the limit is above the ceiling's");
    return 0;
}

/* From tight to loose. */
static int looseness(enum policy_seccomp s)
{
    return s == SECCOMP_STRICT ? 0 : s == SECCOMP_DEFAULT ? 1 : 2;
}

static int leniency(enum policy_forbidden f)
{
    return f == FORBIDDEN_KILL ? 0 : f == FORBIDDEN_KILL_SOCKETS ? 1 : 2;
}

static int check_rest(const struct policy *p, const struct policy *ceiling,
                      struct cordon_error *err)
{
    if (p->net > ceiling->net)
        return within_exceeds(err, "/net", "the ceiling grants less network");
    if (p->uid == UID_CALLER && ceiling->uid != UID_CALLER)
        return within_exceeds(err, "/proc/uid", "the ceiling does not grant the caller's own user");
    if (looseness(p->seccomp) > looseness(ceiling->seccomp))
        return within_exceeds(err, "/proc/seccomp", "the ceiling's system call filter is tighter");
    if (leniency(p->on_forbidden) > leniency(ceiling->on_forbidden))
        return within_exceeds(err, "/proc/on_forbidden", "the ceiling kills on a forbidden call");
    /* auto never ends at none or posix unless the policy accepts it, so it is as good as native. */
    if (p->backend >= BACKEND_BWRAP && p->backend > ceiling->backend &&
        (p->backend >= BACKEND_POSIX || ceiling->backend == BACKEND_NATIVE))
        return within_exceeds(err, "/backend", "the ceiling does not grant this backend");
    if (!within_keeps_names(&p->require, &ceiling->require))
        return within_exceeds(err, "/require",
                       "the ceiling requires a mechanism that this policy does not");
    if (p->allow_partial && !ceiling->allow_partial)
        return within_exceeds(err, "/allow_partial", "the ceiling accepts no partial enforcement");
    return 0;
}

int policy_within(const struct policy *policy, const struct policy *ceiling, const char *cwd,
                  struct cordon_error *err)
{
    int r = within_files(policy, ceiling, cwd, err);
    if (r == 0)
        r = check_env(&policy->env, &ceiling->env, err);
    if (r == 0)
        r = check_limits(policy, ceiling, err);
    if (r == 0)
        r = check_rest(policy, ceiling, err);
    return r;
}
