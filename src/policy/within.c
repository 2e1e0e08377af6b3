/* The ceiling: a policy that somebody else wrote may ask for what the caller granted, no more. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/policy.h"

static int exceeds(struct cordon_error *err, const char *pointer, const char *why)
{
    int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, EPERM,
                    "keep policy within its ceiling", pointer);
    err_why(err, why);
    err_remedy(err, "grant it in the document of --within, or ask for less");
    return r;
}

static bool hides_places(const struct policy *ceiling)
{
    for (size_t i = 0; i < ceiling->hide.count; i++) {
        if (ceiling->hide.items[i][0] == '/')
            return true;
    }
    return false;
}

/* What follows `dir` in a path beneath it: "" or "/...". */
static const char *rest(const char *path, const char *dir)
{
    const size_t len = strlen(path) > 1 && strlen(dir) == 1 ? 0 : strlen(dir);
    return path + len;
}

/* `wanted` appears inside where `granted` would have shown it. */
static bool same_place(const struct policy_bind *wanted, const struct policy_bind *granted)
{
    return policy_path_beneath(wanted->sandbox, granted->sandbox) &&
           strcmp(rest(wanted->host, granted->host), rest(wanted->sandbox, granted->sandbox)) == 0;
}

/*
 * Where a granted path appears is the asker's own business, unless the ceiling hides places: seen
 * elsewhere they would not be hidden.
 */
static bool covers(const struct policy *ceiling, const struct policy_bind *granted,
                   const struct policy_bind *wanted)
{
    return policy_path_beneath(wanted->host, granted->host) &&
           (!hides_places(ceiling) || same_place(wanted, granted));
}

static bool readable(const struct policy *ceiling, const struct policy_bind *wanted)
{
    const struct policy_binds *lists[] = {&ceiling->ro, &ceiling->rw};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            if (covers(ceiling, &lists[k]->items[i], wanted))
                return true;
        }
    }
    return false;
}

static bool has_read_only(const struct policy *p, const char *host, const struct policy_bind *tree)
{
    for (size_t i = 0; i < p->ro.count; i++) {
        if (strcmp(p->ro.items[i].host, host) == 0 && same_place(&p->ro.items[i], tree))
            return true;
    }
    return false;
}

/*
 * A read-only entry within a writable tree of the ceiling takes a part of the grant back: nothing
 * beneath it may be wanted, and a tree around it must come with the same entry.
 */
static bool respects_read_only(const struct policy *p, const struct policy *ceiling,
                               const struct policy_bind *granted, const struct policy_bind *wanted)
{
    for (size_t i = 0; i < ceiling->ro.count; i++) {
        const struct policy_bind *kept = &ceiling->ro.items[i];
        if (!policy_path_beneath(kept->host, granted->host) || !same_place(kept, granted))
            continue;
        if (policy_path_beneath(kept->host, wanted->host)) {
            if (!has_read_only(p, kept->host, wanted))
                return false;
        } else if (policy_path_beneath(wanted->host, kept->host)) {
            return false;
        }
    }
    return true;
}

static bool writable(const struct policy *p, const struct policy *ceiling,
                     const struct policy_bind *wanted)
{
    for (size_t i = 0; i < ceiling->rw.count; i++) {
        const struct policy_bind *granted = &ceiling->rw.items[i];
        /* Protected names count from the root of a writable tree; a part of it has another root. */
        const bool whole = ceiling->protect.count == 0 || strcmp(wanted->host, granted->host) == 0;
        if (whole && covers(ceiling, granted, wanted) &&
            respects_read_only(p, ceiling, granted, wanted))
            return true;
    }
    return false;
}

static int check_binds(const struct policy *p, const struct policy *ceiling,
                       struct cordon_error *err)
{
    char pointer[64];
    char why[192];
    for (size_t i = 0; i < p->rw.count; i++) {
        const char *host = p->rw.items[i].host;
        snprintf(pointer, sizeof pointer, "/fs/rw/%zu", i);
        snprintf(why, sizeof why, "the ceiling grants no writing in '%.100s', or not in all of it", host);
        if (!writable(p, ceiling, &p->rw.items[i]))
            return exceeds(err, pointer, why);
    }
    /* Guard mode shows the whole host for reading. */
    for (size_t i = 0; ceiling->fs_mode != FS_GUARD && i < p->ro.count; i++) {
        snprintf(pointer, sizeof pointer, "/fs/ro/%zu", i);
        snprintf(why, sizeof why, "the ceiling grants no reading of '%.100s'", p->ro.items[i].host);
        if (!readable(ceiling, &p->ro.items[i]))
            return exceeds(err, pointer, why);
    }
    return 0;
}

static bool work_granted(const struct policy *p, const struct policy *ceiling)
{
    if (p->work != WORK_HOST)
        return true;
    if (ceiling->work == WORK_HOST && strcmp(p->work_host, ceiling->work_host) == 0)
        return true;
    const struct policy_bind wanted = {.host = p->work_host, .sandbox = "/work"};
    return writable(p, ceiling, &wanted);
}

/* What the ceiling hides stays hidden, and what it protects stays protected. */
static bool keeps_names(const struct policy_names *wanted, const struct policy_names *ceiling)
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

static int check_fs(const struct policy *p, const struct policy *ceiling, struct cordon_error *err)
{
    const bool whole = ceiling->fs_mode == FS_GUARD;
    if (p->fs_mode == FS_GUARD && !whole)
        return exceeds(err, "/fs/mode", "guard mode shows the whole host; the ceiling does not");
    if (p->fs_mode == FS_VIEW && p->system_ro && !ceiling->system_ro && !whole)
        return exceeds(err, "/fs/system_ro", "the ceiling does not show the system");
    if (p->rw_cwd && !ceiling->rw_cwd)
        return exceeds(err, "/fs/rw_cwd",
                       "the ceiling does not make the current directory writable");
    int r = check_binds(p, ceiling, err);
    if (r < 0)
        return r;
    if (!work_granted(p, ceiling))
        return exceeds(err, "/fs/work", "the ceiling grants no writing to that directory");
    if (!keeps_names(&p->hide, &ceiling->hide))
        return exceeds(err, "/fs/hide", "the ceiling hides a path that this policy does not hide");
    if ((p->rw_cwd || p->rw.count > 0) && !keeps_names(&p->protect, &ceiling->protect))
        return exceeds(err, "/fs/protect", "the ceiling protects a name that this policy does not");
    return 0;
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
        return exceeds(err, "/env/inherit", "the ceiling does not pass the whole environment");
    for (size_t i = 0; !ceiling->inherit && i < p->allow.count; i++) {
        snprintf(pointer, sizeof pointer, "/env/allow/%zu", i);
        if (!pattern_granted(&ceiling->allow, p->allow.items[i]))
            return exceeds(err, pointer, "the ceiling does not pass this variable");
    }
    if (!keeps_names(&p->deny, &ceiling->deny))
        return exceeds(err, "/env/deny", "the ceiling denies a variable that this policy does not");
    return 0;
}

static int check_limits(const struct policy *p, const struct policy *ceiling,
                        struct cordon_error *err)
{
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        uint64_t wanted;
        uint64_t most;
        memcpy(&wanted, (const char *)p + limit->offset, sizeof wanted);
        memcpy(&most, (const char *)ceiling + limit->offset, sizeof most);
        if (wanted > most) /* unlimited is the largest number */
            return exceeds(err, limit->pointer, "the limit is above the ceiling's");
    }
    if (ceiling->limits.cpus != 0 &&
        (p->limits.cpus == 0 || p->limits.cpus > ceiling->limits.cpus))
        return exceeds(err, "/limits/cpus", "the limit is above the ceiling's");
    return 0;
}

/* From tight to loose. */
static int looseness(enum policy_seccomp s)
{
    return s == SECCOMP_STRICT ? 0 : s == SECCOMP_DEFAULT ? 1 : 2;
}

static int check_rest(const struct policy *p, const struct policy *ceiling,
                      struct cordon_error *err)
{
    if (p->net > ceiling->net)
        return exceeds(err, "/net", "the ceiling grants less network");
    if (p->uid == UID_CALLER && ceiling->uid != UID_CALLER)
        return exceeds(err, "/proc/uid", "the ceiling does not grant the caller's own user");
    if (looseness(p->seccomp) > looseness(ceiling->seccomp))
        return exceeds(err, "/proc/seccomp", "the ceiling's system call filter is tighter");
    if (p->on_forbidden == FORBIDDEN_ERRNO && ceiling->on_forbidden != FORBIDDEN_ERRNO)
        return exceeds(err, "/proc/on_forbidden", "the ceiling kills on a forbidden call");
    /* auto never ends at none or posix unless the policy accepts it, so it is as good as native. */
    if (p->backend >= BACKEND_POSIX && p->backend > ceiling->backend)
        return exceeds(err, "/backend", "the ceiling does not grant this backend");
    if (!keeps_names(&p->require, &ceiling->require))
        return exceeds(err, "/require",
                       "the ceiling requires a mechanism that this policy does not");
    if (p->allow_partial && !ceiling->allow_partial)
        return exceeds(err, "/allow_partial", "the ceiling accepts no partial enforcement");
    return 0;
}

int policy_within(const struct policy *policy, const struct policy *ceiling,
                  struct cordon_error *err)
{
    int r = check_fs(policy, ceiling, err);
    if (r == 0)
        r = check_env(&policy->env, &ceiling->env, err);
    if (r == 0)
        r = check_limits(policy, ceiling, err);
    if (r == 0)
        r = check_rest(policy, ceiling, err);
    return r;
}
