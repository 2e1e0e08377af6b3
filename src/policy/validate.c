/* What every policy must satisfy. One small function a rule; the order is the order of messages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

static int refuse(struct cordon_error *err, const char *pointer, const char *why,
                  const char *remedy)
{
    int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, EINVAL, "check policy", pointer);
    err_why(err, why);
    err_remedy(err, remedy);
    return r;
}

/* The same for an entry of a list, which the reason names: options have no JSON pointers. */
static int refuse_entry(struct cordon_error *err, const char *list, size_t index, const char *entry,
                        const char *why, const char *remedy)
{
    char pointer[64];
    char text[192];
    snprintf(pointer, sizeof pointer, "%s/%zu", list, index);
    snprintf(text, sizeof text, "'%.90s' %s", entry, why);
    return refuse(err, pointer, text, remedy);
}

static bool has_control(const char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return true;
    }
    return false;
}

/* Absolute, and already what policy_normalize_path() would make of it. */
static bool is_normal_path(const char *path)
{
    size_t len = strlen(path);
    if (path[0] != '/' || len > POLICY_MAX_PATH)
        return false;
    for (const char *p = path; *p != '\0';) {
        size_t part = strcspn(p + 1, "/");
        if ((part == 0 && len > 1) || (part == 1 && p[1] == '.') ||
            (part == 2 && p[1] == '.' && p[2] == '.'))
            return false;
        p += 1 + part;
    }
    return true;
}

static int check_bind_paths(const struct policy_binds *list, const char *name,
                            struct cordon_error *err)
{
    if (list->count > POLICY_MAX_BINDS)
        return refuse(err, name, "more than 8192 binds",
                      "bind a common parent directory instead of its entries");
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_bind *b = &list->items[i];
        if (!is_normal_path(b->host) || !is_normal_path(b->sandbox))
            return refuse_entry(err, name, i, b->host,
                                "is not absolute and without . and .. on both sides",
                                "write the path from / on; ~ and variables are not expanded");
    }
    return 0;
}

static int check_bind_targets(const struct policy_binds *list, const char *name,
                              struct cordon_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *target = list->items[i].sandbox;
        if (strcmp(target, "/") == 0)
            return refuse_entry(err, name, i, target, "as a target would replace the root",
                                "give it a directory: /:/host, or use a profile in guard mode");
        if (policy_path_beneath(target, "/proc") || policy_path_beneath(target, "/dev"))
            return refuse_entry(err, name, i, target,
                                "as a target would undo the sandbox's own /proc or /dev",
                                "choose another place inside: HOST:SANDBOX");
    }
    return 0;
}

static int by_target(const void *a, const void *b)
{
    const struct policy_bind *const *x = a;
    const struct policy_bind *const *y = b;
    int order = strcmp((*x)->sandbox, (*y)->sandbox);
    return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* Within one list only: at the same target ro beats rw, and that is a way to say something. */
static int check_bind_twice(const struct policy_binds *list, const char *name,
                            struct cordon_error *err)
{
    if (list->count < 2)
        return 0;
    const struct policy_bind **sorted = calloc(list->count, sizeof(const struct policy_bind *));
    if (sorted == NULL)
        return err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, ENOMEM, "check policy", name);
    for (size_t i = 0; i < list->count; i++)
        sorted[i] = &list->items[i];
    qsort(sorted, list->count, sizeof(const struct policy_bind *), by_target);

    int r = 0;
    for (size_t i = 1; i < list->count && r == 0; i++) {
        if (strcmp(sorted[i - 1]->sandbox, sorted[i]->sandbox) == 0)
            r = refuse_entry(err, name, (size_t)(sorted[i] - list->items), sorted[i]->sandbox,
                             "is bound twice", "remove one of the two");
    }
    free(sorted);
    return r;
}

/* A private /work takes binds beneath it as any directory of the sandbox's own does; a host's does not. */
static bool hidden_by_work(const struct policy *p, const char *target)
{
    return p->work != WORK_NONE && policy_path_beneath(target, "/work") &&
           (p->work != WORK_PRIVATE || strcmp(target, "/work") == 0);
}

static int check_bind_hidden_by_work(const struct policy *p, const struct policy_binds *list,
                                     const char *name, struct cordon_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        if (hidden_by_work(p, list->items[i].sandbox))
            return refuse_entry(err, name, i, list->items[i].sandbox,
                                "would be hidden: /work is mounted over it",
                                p->work == WORK_PRIVATE
                                    ? "bind it beneath /work, or make its source the work directory"
                                    : "bind it outside /work, or make its source the work directory");
    }
    return 0;
}

static int check_binds(const struct policy *p, const struct policy_binds *list, const char *name,
                       struct cordon_error *err)
{
    int r = check_bind_paths(list, name, err);
    if (r == 0)
        r = check_bind_targets(list, name, err);
    if (r == 0)
        r = check_bind_twice(list, name, err);
    if (r == 0)
        r = check_bind_hidden_by_work(p, list, name, err);
    return r;
}

static int check_work(const struct policy *p, struct cordon_error *err)
{
    if (p->work == WORK_HOST && (p->work_host == NULL || !is_normal_path(p->work_host)))
        return refuse(err, "/fs/work", "the work directory needs an absolute host path",
                      "write {\"host\": \"/srv/job\"}");
    if (p->work == WORK_HOST && strcmp(p->work_host, "/") == 0)
        return refuse(err, "/fs/work", "the root of the host cannot be the work directory", NULL);
    if (p->work != WORK_NONE && p->fs_mode == FS_GUARD)
        return refuse(err, "/fs/work", "guard mode shows the host's own tree, which has no /work",
                      "write \"work\": \"none\", or use view mode");
    return 0;
}

static bool any_covers(const struct policy_binds *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (policy_path_beneath(path, list->items[i].sandbox))
            return true;
    }
    return false;
}

static bool system_covers(const char *path)
{
    static const char *const dirs[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
                                       "/etc", "/nix/store"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        if (policy_path_beneath(path, dirs[i]))
            return true;
    }
    return false;
}

static int check_hide(const struct policy *p, struct cordon_error *err)
{
    if (p->hide.count > POLICY_MAX_NAMES)
        return refuse(err, "/fs/hide", "more than 4096 entries", "use a glob: **/.env");
    for (size_t i = 0; i < p->hide.count; i++) {
        const char *path = p->hide.items[i];
        if (strncmp(path, "**/", 3) == 0 && path[3] != '\0' && is_normal_path(path + 2))
            continue;
        if (!is_normal_path(path))
            return refuse_entry(err, "/fs/hide", i, path,
                                "is neither an absolute path nor a glob that begins with **/",
                                "write /srv/in/.env or **/.env");
        if (strcmp(path, "/") == 0)
            return refuse_entry(err, "/fs/hide", i, path, "hidden would leave nothing", NULL);
        /* With a writable cwd the place is known only when the run begins: the plan checks. */
        if (p->fs_mode == FS_VIEW && !p->rw_cwd && !(p->work == WORK_HOST && policy_path_beneath(path, "/work")) &&
            !any_covers(&p->rw, path) &&
            !any_covers(&p->ro, path) && !(p->system_ro && system_covers(path)))
            return refuse_entry(err, "/fs/hide", i, path,
                                "is inside no bind, so there is nothing to hide",
                                "name the path as it is seen inside, beneath an entry of ro or rw; in all of them: **/NAME");
    }
    return 0;
}

static int check_protect(const struct policy *p, struct cordon_error *err)
{
    if (p->protect.count > POLICY_MAX_PROTECT)
        return refuse(err, "/fs/protect", "more than 64 entries", NULL);
    for (size_t i = 0; i < p->protect.count; i++) {
        const char *name = p->protect.items[i];
        char slashed[POLICY_MAX_PATH + 2];
        snprintf(slashed, sizeof slashed, "/%s", name);
        if (policy_path_depth(slashed) > POLICY_MAX_PROTECT_DEPTH)
            return refuse_entry(err, "/fs/protect", i, name, "has more than 4 components", NULL);
        if (name[0] == '\0' || strlen(name) >= POLICY_MAX_PATH || !is_normal_path(slashed))
            return refuse_entry(err, "/fs/protect", i, name,
                                "is not relative to the writable trees",
                                "write .git/hooks, without a leading / and without ..");
    }
    return 0;
}

static int check_cwd(const struct policy *p, struct cordon_error *err)
{
    if (p->cwd != NULL && !is_normal_path(p->cwd))
        return refuse(err, "/proc/cwd", "the working directory is not an absolute path",
                      "write it as it is seen inside: /work");
    return 0;
}

const char *policy_variable_wrong(const char *name, bool star)
{
    size_t len = strlen(name);
    if (len == 0)
        return "is an empty name";
    if (strchr(name, '=') != NULL)
        return "as a name of a variable contains '='";
    if (has_control(name))
        return "as a name of a variable contains a control character";
    if (star && strcmp(name, "*") == 0)
        return "is a prefix of everything";
    const char *found = strchr(name, '*');
    if (found != NULL && !(star && found == name + len - 1))
        return "has a '*' elsewhere than at the end of a prefix";
    return NULL;
}

static int check_names(const struct policy_names *list, const char *name, struct cordon_error *err)
{
    if (list->count > POLICY_MAX_NAMES)
        return refuse(err, name, "more than 4096 entries", NULL);
    for (size_t i = 0; i < list->count; i++) {
        const char *why = policy_variable_wrong(list->items[i], true);
        if (why != NULL)
            return refuse_entry(err, name, i, list->items[i], why,
                                "write NAME or PREFIX_*; values belong into env.set");
    }
    return 0;
}

static int check_vars(const struct policy_vars *list, const char *name, struct cordon_error *err)
{
    char room[416];
    char text[192];
    if (list->count > POLICY_MAX_NAMES)
        return refuse(err, name, "more than 4096 entries", NULL);
    for (size_t i = 0; i < list->count; i++) {
        const char *why = policy_variable_wrong(list->items[i].name, false);
        if (why == NULL)
            continue;
        snprintf(room, sizeof room, "%s/%s", name, list->items[i].name);
        snprintf(text, sizeof text, "'%.90s' %s", list->items[i].name, why);
        return refuse(err, room, text, "write \"NAME\": \"value\", or --setenv NAME=VALUE");
    }
    return 0;
}

static int check_env(const struct policy *p, struct cordon_error *err)
{
    int r = check_names(&p->env.allow, "/env/allow", err);
    if (r == 0)
        r = check_names(&p->env.deny, "/env/deny", err);
    if (r == 0)
        r = check_vars(&p->env.fallback, "/env/default", err);
    if (r == 0)
        r = check_vars(&p->env.set, "/env/set", err);
    return r;
}

const char *policy_limit_wrong(const struct policy_limit *limit, uint64_t value, char *room,
                               size_t size)
{
    if (value == POLICY_UNLIMITED)
        return limit->unlimited ? NULL : "this cannot be unlimited";
    if (value == 0 && limit->zero == ZERO_TAKEN)
        return NULL;
    if (value == 0 && limit->zero == ZERO_REFUSED)
        return limit->unlimited ? "0 is not a limit: leave it out, or say none (null in a document)"
                                : "0 is not a limit: leave it out";
    if (value >= limit->min && value <= limit->max)
        return NULL;
    snprintf(room, size, "out of range: %llu to %llu", (unsigned long long)limit->min,
             (unsigned long long)limit->max);
    return room;
}

static int check_limits(const struct policy *p, struct cordon_error *err)
{
    char room[96];
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        const uint64_t value = policy_limit_get(p, limit);
        const char *why = policy_limit_wrong(limit, value, room, sizeof room);
        if (value == 0 && limit->zero == ZERO_DEFAULT) /* readers have put the default in */
            why = "0 is not a limit";
        if (why != NULL)
            return refuse(err, limit->pointer, why, NULL);
    }
    double cpus = p->limits.cpus;
    if (cpus != 0 && !(cpus >= 0.01 && cpus <= 4096))
        return refuse(err, "/limits/cpus", "out of range: 0.01 to 4096", NULL);
    return 0;
}

static int check_require(const struct policy *p, struct cordon_error *err)
{
    if (p->require.count > POLICY_MAX_NAMES)
        return refuse(err, "/require", "more than 4096 entries", NULL);
    for (size_t i = 0; i < p->require.count; i++) {
        if (p->require.items[i][0] == '\0' || has_control(p->require.items[i]))
            return refuse_entry(err, "/require", i, p->require.items[i], "is not a capability",
                                "write CAPABILITY or CAPABILITY:MECHANISM, as in memory:cgroup2");
    }
    return 0;
}

int policy_validate(const struct policy *policy, struct cordon_error *err)
{
    int r = check_binds(policy, &policy->rw, "/fs/rw", err);
    if (r == 0)
        r = check_binds(policy, &policy->ro, "/fs/ro", err);
    if (r == 0)
        r = check_work(policy, err);
    if (r == 0)
        r = check_hide(policy, err);
    if (r == 0)
        r = check_protect(policy, err);
    if (r == 0)
        r = check_cwd(policy, err);
    if (r == 0)
        r = check_env(policy, err);
    if (r == 0)
        r = check_limits(policy, err);
    if (r == 0)
        r = check_require(policy, err);
    return r;
}
