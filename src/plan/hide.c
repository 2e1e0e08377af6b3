/*
 * Which names are hidden in which tree. A pattern holds in the tree that it names and in every
 * other one that shows the same files: the same directory bound twice, a part of it, or one above.
 */
#include "plan/build.h"

#include <errno.h>
#include <string.h>

/* Something of the host's that is seen inside. */
struct tree {
    size_t step;
    unsigned flags;     /* enum step_flag, of the step */
    const char *target; /* as in plan_step */
    const char *device; /* which files these are: a path in a file system; NULL: not known */
    const char *path;
    bool of_host; /* a mount of guard mode's host tree */
};

struct hiding {
    struct plan_build *b;
    struct tree *trees;
    size_t tree_count;
    size_t room;
};

/* `rest` of a path beneath `dir`, without the slash; NULL: it is not beneath. "" is the root, too. */
static const char *beneath(const char *path, const char *dir)
{
    const size_t len = strlen(dir);
    if (len == 0 || (len == 1 && dir[0] == '/'))
        return path + (path[0] == '/');
    if (strncmp(path, dir, len) != 0 || (path[len] != '\0' && path[len] != '/'))
        return NULL;
    return path + len + (path[len] == '/');
}

static const char *join(struct hiding *h, const char *a, const char *b)
{
    const char *slash = a[0] == '\0' || b[0] == '\0' || a[strlen(a) - 1] == '/' ? "" : "/";
    return arena_printf(h->b->arena, "%s%s%s", a, slash, b);
}

/* Two host paths lead to the same files if they have the same path in the same file system. */
static int identify(struct hiding *h, struct tree *t, const char *source)
{
    const struct host *host = h->b->request->host;
    const struct host_mount *best = NULL;
    const char *rest = NULL;
    for (size_t i = 0; i < host->mount_count; i++) {
        const struct host_mount *m = &host->mounts[i];
        const char *inner = beneath(source, m->point);
        if (inner != NULL && (best == NULL || strlen(m->point) >= strlen(best->point))) {
            best = m;
            rest = inner;
        }
    }
    if (best == NULL)
        return 0;
    t->device = best->device;
    t->path = join(h, best->root, rest);
    return t->path == NULL ? plan_no_memory(h->b) : 0;
}

static int gather_trees(struct hiding *h)
{
    const struct plan *plan = h->b->plan;
    const struct host *host = h->b->request->host;
    h->trees = arena_array(h->b->arena, plan->step_count + host->mount_count, sizeof *h->trees);
    if (h->trees == NULL)
        return plan_no_memory(h->b);
    int r = 0;
    for (size_t i = 0; r == 0 && i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (step->kind != STEP_BIND || (step->flags & STEP_OWN) != 0)
            continue;
        struct tree *t = &h->trees[h->tree_count++];
        *t = (struct tree){.step = i, .flags = step->flags, .target = step->target};
        if ((step->flags & STEP_FD) == 0)
            r = identify(h, t, step->source);
    }
    for (size_t i = 0; plan->fs_mode == FS_GUARD && i < host->mount_count; i++) {
        const struct host_mount *m = &host->mounts[i];
        h->trees[h->tree_count++] = (struct tree){
            .target = m->point + 1, .device = m->device, .path = m->root, .of_host = true};
    }
    return r;
}

static bool is_glob_of_all(const struct glob *g)
{
    return g->pattern[0] != '/';
}

static int refuse(struct hiding *h, const struct glob *g, const char *why, const char *remedy)
{
    err_set(h->b->err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0, "hide", g->pattern);
    err_why(h->b->err, why);
    err_remedy(h->b->err, remedy);
    return -EINVAL;
}

/* Another tree, and not `t`, is what is seen at a place beneath `t`, whatever the host has. */
static bool is_covered(const struct hiding *h, const struct tree *t, const char *place)
{
    for (size_t i = 0; i < h->tree_count; i++) {
        const struct tree *other = &h->trees[i];
        if ((other->flags & (STEP_OPTIONAL | STEP_INNER)) == STEP_OPTIONAL)
            continue; /* it may be missing */
        if (strlen(other->target) > strlen(t->target) && beneath(place, other->target) != NULL)
            return true;
    }
    return false;
}

static int add_hide(struct hiding *h, const struct tree *t, const char *prefix, const struct glob *g,
                    glob_states states)
{
    struct plan *plan = h->b->plan;
    for (size_t i = 0; i < plan->hide_count; i++) {
        struct plan_hide *have = &plan->hides[i];
        if (have->step == t->step && have->glob == g && have->target == t->target &&
            strcmp(have->prefix, prefix) == 0) {
            have->states |= states;
            return 0;
        }
    }
    if (plan->hide_count == h->room) {
        struct plan_hide *more = arena_array(h->b->arena, h->room * 2 + 16, sizeof *more);
        if (more == NULL)
            return plan_no_memory(h->b);
        if (plan->hide_count > 0)
            memcpy(more, plan->hides, plan->hide_count * sizeof *more);
        plan->hides = more;
        h->room = h->room * 2 + 16;
    }
    const bool overlay = (t->flags & STEP_RDONLY) != 0;
    if (g->wild && !overlay)
        plan->hide_gap = "a glob in a writable tree, or in the host's own, covers only names that are there at the start";
    plan->hides[plan->hide_count++] = (struct plan_hide){
        .glob = g, .states = states, .prefix = prefix, .step = t->step, .target = t->target, .overlay = overlay};
    return 0;
}

/* The same files in another tree, where `states` hold at the root of `t`. */
static int hide_in_other(struct hiding *h, const struct tree *t, const struct tree *other, const struct glob *g,
                         glob_states states)
{
    if (other == t || t->device == NULL || other->device == NULL || strcmp(t->device, other->device) != 0)
        return 0;
    const char *inner = beneath(other->path, t->path);
    if (inner != NULL) {
        if (glob_follow(g, &states, inner))
            return other->of_host || (other->flags & STEP_INNER) != 0
                       ? 0 /* goes with the place where it is mounted */
                       : refuse(h, g, "a bind shows at another place what this would hide", "remove one of the two");
        return states == 0 ? 0 : add_hide(h, other, "", g, states);
    }
    const char *prefix = beneath(t->path, other->path);
    if (prefix == NULL)
        return 0;
    const char *place = join(h, other->target, prefix);
    if (place == NULL)
        return plan_no_memory(h->b);
    return is_covered(h, other, place) ? 0 : add_hide(h, other, prefix, g, states);
}

static int hide_in(struct hiding *h, const struct tree *t, const struct glob *g, bool *found)
{
    glob_states states = glob_begin(g);
    if (is_glob_of_all(g)) {
        const struct plan_step *step = &h->b->plan->steps[t->step];
        glob_states by_source = states;
        if ((t->flags & STEP_LISTED) == 0)
            return 0;
        /* The root may be in the midst of what the glob names. What lies above is not shown, so it does not count. */
        if (glob_enter(g, &states, t->target) ||
            ((t->flags & STEP_FD) == 0 && glob_enter(g, &by_source, step->source)))
            return refuse(h, g, "nothing of a bind would be left", "leave out the bind");
        states |= by_source;
    } else if (glob_follow(g, &states, t->target)) {
        return t->of_host || (t->flags & STEP_INNER) != 0
                   ? 0
                   : refuse(h, g, "nothing of a bind would be left", "leave out the bind");
    } else if (!g->wild && states != 0 && is_covered(h, t, g->pattern + 1)) {
        return 0;
    }
    if (states == 0)
        return 0;
    *found = true;
    int r = add_hide(h, t, "", g, states);
    for (size_t i = 0; r == 0 && i < h->tree_count; i++)
        r = hide_in_other(h, t, &h->trees[i], g, states);
    return r;
}

static int hide_pattern(struct hiding *h, const char *pattern)
{
    struct glob *g = arena_alloc(h->b->arena, sizeof *g);
    int r = g == NULL ? -ENOMEM : glob_compile(g, h->b->arena, pattern);
    if (r == -E2BIG)
        return refuse(h, g, "more than 63 components", NULL);
    if (r < 0)
        return plan_no_memory(h->b);
    bool found = false;
    for (size_t i = 0; r == 0 && i < h->tree_count; i++)
        r = hide_in(h, &h->trees[i], g, &found);
    if (r == 0 && is_glob_of_all(g) && h->b->plan->fs_mode == FS_GUARD)
        h->b->plan->hide_gap = "in guard mode a glob is not looked for in the whole tree of the host";
    else if (r == 0 && !found && !is_glob_of_all(g))
        r = refuse(h, g, "it is inside no bind, so there is nothing to hide",
                   "name the path as it is seen inside, without symbolic links, beneath an entry of ro or rw");
    return r;
}

/* Those of one tree in a row, each row in the order in which it came. */
static int sort_by_tree(struct hiding *h)
{
    struct plan *plan = h->b->plan;
    struct plan_hide *sorted = arena_array(h->b->arena, plan->hide_count, sizeof *sorted);
    size_t count = 0;
    if (sorted == NULL)
        return plan_no_memory(h->b);
    for (size_t t = 0; t < h->tree_count; t++) {
        for (size_t i = 0; i < plan->hide_count; i++) {
            if (plan->hides[i].target == h->trees[t].target && plan->hides[i].step == h->trees[t].step)
                sorted[count++] = plan->hides[i];
        }
    }
    plan->hides = sorted;
    plan->hide_count = count;
    return 0;
}

int plan_build_hide(struct plan_build *b)
{
    struct hiding h = {.b = b};
    const struct policy_names *names = &b->policy.hide;
    if (names->count == 0)
        return 0;
    if (host_off(b->request->host, OFF_HIDE)) {
        b->plan->hide_gap = "switched off for a test";
        return 0;
    }
    int r = gather_trees(&h);
    for (size_t i = 0; r == 0 && i < names->count; i++)
        r = hide_pattern(&h, names->items[i]);
    return r < 0 || b->plan->hide_count == 0 ? r : sort_by_tree(&h);
}
