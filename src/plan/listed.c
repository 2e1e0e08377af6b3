/* What a policy names, broader before narrower, and what is protected in it. */
#include <errno.h>
#include <string.h>

#include "plan/tree.h"

/* Callers list /bin and its like on hosts where they are links into /usr. */
bool plan_shown_by_system(const struct plan_build *b, const struct policy_bind *bind)
{
    const struct host *host = b->request->host;
    if (!b->policy.system_ro || b->policy.fs_mode != FS_VIEW || strcmp(bind->host, bind->sandbox) != 0)
        return false;
    for (size_t i = 0; i < b->policy.rw.count; i++) {
        if (strcmp(b->policy.rw.items[i].sandbox, bind->sandbox) == 0)
            return false; /* it is there to take that back */
    }
    for (size_t i = 0; i < HOST_TOP_COUNT; i++) {
        if (host->top[i].present && host->top[i].link[0] != '\0' &&
            strcmp(host->top[i].path, bind->host) == 0)
            return true;
    }
    return false;
}

struct listed {
    const char *host; /* NULL: a name that is protected in a tree */
    const char *sandbox;
    union {
        unsigned flags; /* enum step_flag; of what has a source */
        unsigned tree;  /* how much of `sandbox` is the tree; of a protected name */
    };
    unsigned depth;
};

/* A directory of this name is on the way, or at its end. */
static bool passes(const char *path, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = strstr(path, name); at != NULL; at = strstr(at + 1, name)) {
        if (at > path && at[-1] == '/' && (at[len] == '/' || at[len] == '\0'))
            return true;
    }
    return false;
}

static const char *wrong_cwd(const struct host *host, const struct policy *policy)
{
    static const char *const system[] = {"/",    "/bin",  "/boot", "/etc", "/home", "/lib",
                                         "/root", "/run", "/sbin", "/sys", "/usr", "/var"};
    if (host->cwd == NULL)
        return "the current directory no longer exists";
    if (policy_path_beneath(host->cwd, "/proc") || policy_path_beneath(host->cwd, "/dev"))
        return "the sandbox has a /proc and a /dev of its own";
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++) {
        if (strcmp(host->cwd, system[i]) == 0)
            return "the current directory belongs to the system";
    }
    if (policy->protect.count > 0 && passes(host->cwd, ".git"))
        return "the current directory lies in a .git, whose files make git run commands";
    for (size_t i = 0; i < 2; i++) {
        if (host->home[i] != NULL && policy_path_beneath(host->home[i], host->cwd))
            return "the current directory holds a whole home directory";
    }
    return NULL;
}

/* The caller's directory, writable at its own path: never the system's, never a whole home. */
int plan_check_cwd(struct plan_build *b)
{
    const struct host *host = b->request->host;
    const char *why = wrong_cwd(host, &b->policy);
    if (why == NULL)
        return 0;
    err_set(b->err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0, "make the current directory writable",
            host->cwd == NULL ? "." : host->cwd);
    err_why(b->err, why);
    err_remedy(b->err, "change into the project's directory, or name what may be written "
                       "with --profile stage --rw DIR");
    return -EINVAL;
}

/*
 * Files in a writable tree by which code outside is made to run later stay read-only, unless a bind
 * names them. A name that does not exist has nothing to bind.
 */
static size_t gather_protected(struct tree *t, const char *sandbox, struct listed *out)
{
    const struct policy_names *names = &t->b->policy.protect;
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        const char *path = arena_printf(t->b->arena, "%s/%s", sandbox, names->items[i]);
        t->failed |= path == NULL;
        if (path != NULL)
            out[count++] = (struct listed){.sandbox = path, .tree = (unsigned)strlen(sandbox)};
    }
    return count;
}

static bool holds(const char *outer, const char *inner)
{
    return policy_path_beneath(inner, outer) && strcmp(inner, outer) != 0;
}

/* A writable tree within another one has its protected names there, too, wherever that one stands. */
static size_t follow_protected(struct tree *t, const struct listed *outer, const struct listed *inner, struct listed *out)
{
    if ((inner->flags & STEP_RDONLY) != 0 || !holds(outer->host, inner->host))
        return 0;
    const char *rest = inner->host + (strlen(outer->host) == 1 ? 0 : strlen(outer->host));
    const char *place = arena_printf(t->b->arena, "%s%s", strlen(outer->sandbox) == 1 ? "" : outer->sandbox, rest);
    t->failed |= place == NULL;
    return place == NULL || strcmp(place, inner->sandbox) == 0 ? 0 : gather_protected(t, place, out);
}

/* What the policy lists, the caller's directory unless a list names it, and what is protected there. */
static size_t gather(struct tree *t, struct listed *out)
{
    const struct policy *policy = &t->b->policy;
    const struct policy_binds *lists[2] = {&policy->rw, &policy->ro};
    const char *cwd = policy->rw_cwd ? t->b->request->host->cwd : NULL;
    size_t count = 0;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            const struct policy_bind *bind = &lists[k]->items[i];
            if (lists[k] == &policy->ro && plan_shown_by_system(t->b, bind))
                continue;
            out[count++] = (struct listed){
                .host = bind->host,
                .sandbox = bind->sandbox,
                .flags = STEP_LISTED | (k == 0 ? 0 : STEP_RDONLY) | (bind->optional ? (unsigned)STEP_OPTIONAL : 0),
            };
            if (cwd != NULL && strcmp(bind->sandbox, cwd) == 0)
                cwd = NULL;
        }
    }
    if (cwd != NULL)
        out[count++] = (struct listed){.host = cwd, .sandbox = cwd, .flags = STEP_LISTED};
    const size_t named = count;
    for (size_t i = 0; i < named; i++) {
        if ((out[i].flags & STEP_RDONLY) != 0)
            continue;
        count += gather_protected(t, out[i].sandbox, out + count);
        for (size_t k = 0; policy->protect.count > 0 && k < named; k++)
            count += follow_protected(t, &out[i], &out[k], out + count);
    }
    const struct listed work = {.host = policy->work_host, .sandbox = "/work"};
    if (policy->work == WORK_HOST)
        count += gather_protected(t, "/work", out + count);
    for (size_t i = 0; policy->work == WORK_HOST && policy->protect.count > 0 && i < named; i++) {
        count += follow_protected(t, &work, &out[i], out + count);
        count += (out[i].flags & STEP_RDONLY) != 0 ? 0 : follow_protected(t, &out[i], &work, out + count);
    }
    for (size_t i = 0; i < count; i++)
        out[i].depth = policy_path_depth(out[i].sandbox);
    return count;
}

const char *plan_writable_tree(const struct plan_build *b, size_t i)
{
    const struct policy *policy = &b->policy;
    if (i < policy->rw.count)
        return policy->rw.items[i].host;
    return i == policy->rw.count ? (policy->rw_cwd ? b->request->host->cwd : NULL)
                                 : (policy->work == WORK_HOST ? policy->work_host : NULL);
}

/* How many of them lie in another. */
static size_t count_nested(const struct plan_build *b)
{
    const size_t trees = plan_writable_trees(b);
    size_t count = 0;
    for (size_t i = 0; b->policy.protect.count > 0 && i < trees; i++) {
        const char *outer = plan_writable_tree(b, i);
        for (size_t k = 0; outer != NULL && k < trees; k++) {
            const char *inner = plan_writable_tree(b, k);
            count += inner != NULL && holds(outer, inner);
        }
    }
    return count;
}

/*
 * Listed binds and protections, broader before narrower, so that the narrower one wins; at the same
 * target rw comes first, so that ro wins, and a protection last, so that it knows what was named. A
 * counting sort by depth keeps it linear and stable.
 */
int plan_add_listed(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    int r = policy->rw_cwd ? plan_check_cwd(t->b) : 0;
    if (r < 0)
        return r;
    const size_t trees = plan_writable_trees(t->b);
    const size_t roots = trees + count_nested(t->b); /* from which protected names count */
    const size_t room = policy->ro.count + trees + roots * policy->protect.count;
    struct listed *binds = arena_array(t->b->arena, room, sizeof *binds);
    struct listed *sorted = arena_array(t->b->arena, room, sizeof *sorted);
    const size_t count = binds == NULL ? 0 : gather(t, binds);
    unsigned deepest = 0;
    for (size_t i = 0; i < count; i++)
        deepest = binds[i].depth > deepest ? binds[i].depth : deepest;
    size_t *starts = arena_array(t->b->arena, deepest + 2, sizeof *starts);
    if (binds == NULL || sorted == NULL || starts == NULL)
        return plan_no_memory(t->b);
    for (size_t i = 0; i < count; i++)
        starts[binds[i].depth + 1]++;
    for (unsigned d = 0; d <= deepest; d++)
        starts[d + 1] += starts[d];
    for (size_t i = 0; i < count; i++)
        sorted[starts[binds[i].depth]++] = binds[i];

    for (size_t i = 0; i < count; i++) {
        const char *target = sorted[i].sandbox + 1;
        if (sorted[i].host == NULL) {
            if (!tree_names(t, target))
                tree_protect(t, target, sorted[i].tree - 1);
            continue;
        }
        tree_bind(t, sorted[i].host, target, sorted[i].flags);
        if ((sorted[i].flags & STEP_RDONLY) == 0)
            tree_allow(t, sorted[i].sandbox, RULE_READ | RULE_WRITE);
    }
    return 0;
}
