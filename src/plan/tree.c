#include "plan/tree.h"

#include <inttypes.h>
#include <string.h>

struct place {
    const char *path; /* relative, as in plan_step.target */
    size_t len;
    enum ground ground;
    size_t order; /* what stands above it and came later covers it */
    bool listed;
};

static size_t hash(const char *s, size_t len)
{
    size_t h = 14695981039346656037u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static struct place *find_place(const struct tree *t, const char *path, size_t len)
{
    const size_t mask = t->slots - 1;
    size_t i = hash(path, len) & mask;
    while (t->table[i].path != NULL &&
           (t->table[i].len != len || memcmp(t->table[i].path, path, len) != 0))
        i = (i + 1) & mask;
    return &t->table[i];
}

static void grow_table(struct tree *t)
{
    struct tree bigger = *t;
    bigger.slots = t->slots * 2;
    bigger.table = arena_array(t->b->arena, bigger.slots, sizeof *t->table);
    if (bigger.table == NULL) {
        t->failed = true;
        return;
    }
    for (size_t i = 0; i < t->slots; i++) {
        if (t->table[i].path != NULL)
            *find_place(&bigger, t->table[i].path, t->table[i].len) = t->table[i];
    }
    *t = bigger;
}

static void remember(struct tree *t, const char *path, enum ground ground, size_t order)
{
    if (t->used * 2 >= t->slots)
        grow_table(t);
    if (t->failed)
        return;
    const size_t len = strlen(path);
    struct place *p = find_place(t, path, len);
    t->used += p->path == NULL;
    *p = (struct place){path, len, ground, order, false};
}

/* The last thing that was put above a path, the nearest of those; the root is always remembered. */
static const struct place *place_above(const struct tree *t, const char *path)
{
    const struct place *last = find_place(t, "", 0);
    for (size_t len = strlen(path); len > 0;) {
        do
            len--;
        while (len > 0 && path[len] != '/');
        const struct place *p = find_place(t, path, len);
        if (p->path != NULL && (p->order > last->order || (p->order == last->order && p->len > last->len)))
            last = p;
    }
    return last;
}

bool tree_begin(struct tree *t, struct plan_build *b, size_t rules)
{
    struct plan *plan = b->plan;
    /* For most policies enough: what is outgrown stays in the arena, and a thousand binds would be there twice. */
    *t = (struct tree){.b = b, .slots = 128, .step_room = 64 + b->policy.ro.count + b->policy.rw.count};
    while (t->slots < 2 * t->step_room)
        t->slots *= 2;
    plan->steps = arena_array(b->arena, t->step_room, sizeof *plan->steps);
    plan->rules = arena_array(b->arena, rules, sizeof *plan->rules);
    t->table = arena_array(b->arena, t->slots, sizeof *t->table);
    return plan->steps != NULL && plan->rules != NULL && t->table != NULL;
}

struct plan_step *tree_add(struct tree *t, enum step_kind kind, const char *target)
{
    struct plan *plan = t->b->plan;
    if (plan->step_count == t->step_room) {
        struct plan_step *steps = arena_array(t->b->arena, t->step_room * 2, sizeof *steps);
        if (steps == NULL) {
            t->failed = true;
            plan->step_count--; /* the last one is overwritten; nobody applies a failed plan */
        } else {
            memcpy(steps, plan->steps, plan->step_count * sizeof *steps);
            plan->steps = steps;
            t->step_room *= 2;
        }
    }
    struct plan_step *step = &plan->steps[plan->step_count++];
    *step = (struct plan_step){.kind = kind, .target = target, .mode = 0755};
    return step;
}

void tree_ground(struct tree *t, const char *target, enum ground ground)
{
    remember(t, target, ground, t->b->plan->step_count);
}

/* Also the number of files is bounded: an inode is kernel memory that no size counts. */
void tree_tmpfs(struct tree *t, const char *target, uint64_t size, unsigned mode, unsigned flags)
{
    struct plan_step *step = tree_add(t, STEP_TMPFS, target);
    const uint64_t inodes = size / 2048 < 1024 ? 1024 : size / 2048;
    step->size = size;
    step->flags = flags;
    step->source = arena_printf(t->b->arena, "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=%o", size,
                                inodes, mode);
    t->failed |= step->source == NULL;
    tree_ground(t, target, GROUND_OURS);
}

/* Nothing can be mounted beneath a link: what it leads to is not ours. */
void tree_link(struct tree *t, const char *target, const char *text)
{
    tree_add(t, STEP_LINK, target)->source = text;
    tree_ground(t, target, GROUND_READONLY);
}

void tree_file(struct tree *t, const char *target, const char *content)
{
    struct plan_step *step = tree_add(t, STEP_FILE, target);
    step->source = content;
    step->mode = 0444;
}

/*
 * Something in a writable tree that must stay as it is, is defeated by renaming a directory above
 * it. So each of those is bound onto itself: rename() of a mount point answers EBUSY. `tree` is how
 * much of `target` is the way to a tree; what follows is a name that is protected in it.
 */
static void pin_parents(struct tree *t, const char *target, size_t tree, const struct place *above)
{
    const size_t order = above->order; /* a pin covers nothing: what is mounted beneath comes along */
    if (above->ground != GROUND_WRITABLE)
        return;
    for (const char *end = strchr(target + above->len + 1, '/'); end != NULL; end = strchr(end + 1, '/')) {
        char *parent = arena_strndup(t->b->arena, target, (size_t)(end - target));
        if (parent == NULL) {
            t->failed = true;
            return;
        }
        struct plan_step *step = tree_add(t, STEP_BIND, parent);
        step->source = parent;
        step->flags = STEP_OWN | STEP_OPTIONAL | ((size_t)(end - target) > tree ? (unsigned)STEP_KEEP : 0);
        remember(t, parent, GROUND_WRITABLE, order);
    }
}

/*
 * An overlay shows one file system, without what is mounted inside it; and what is mounted inside a
 * tree may be a part of the tree again, with the same names to hide. So where names are to be hidden
 * each mount beneath a source gets a bind of its own on top.
 */
static void add_inner(struct tree *t, const char *source, const char *target, unsigned flags)
{
    const struct host *host = t->b->request->host;
    for (size_t i = 0; i < host->mount_count; i++) {
        const char *point = host->mounts[i].point;
        if (strcmp(point, source) == 0 || !policy_path_beneath(point, source))
            continue;
        const char *inner = point + (source[1] == '\0' ? 0 : strlen(source));
        struct plan_step *step = tree_add(t, STEP_BIND, arena_printf(t->b->arena, "%s%s", target, inner));
        step->source = point;
        step->flags = (flags & (STEP_RDONLY | STEP_LISTED)) | STEP_OPTIONAL | STEP_INNER;
        t->failed |= step->target == NULL;
    }
}

void tree_bind(struct tree *t, const char *source, const char *target, unsigned flags)
{
    const struct place *above = place_above(t, target);
    if ((flags & STEP_RDONLY) != 0)
        pin_parents(t, target, strlen(target), above);
    struct plan_step *step = tree_add(t, STEP_BIND, target);
    step->source = source;
    step->flags = flags | (above->ground == GROUND_OURS ? (unsigned)STEP_MAKE : 0);
    tree_ground(t, target, (flags & STEP_RDONLY) != 0 ? GROUND_READONLY : GROUND_WRITABLE);
    find_place(t, target, strlen(target))->listed = (flags & (STEP_LISTED | STEP_OPTIONAL)) == STEP_LISTED;
    if ((flags & STEP_FD) == 0 && t->b->policy.hide.count > 0)
        add_inner(t, source, target, flags);
}

void tree_protect(struct tree *t, const char *target, size_t tree)
{
    pin_parents(t, target, tree, place_above(t, target));
    struct plan_step *step = tree_add(t, STEP_BIND, target);
    step->source = target;
    step->flags = STEP_OPTIONAL | STEP_OWN | STEP_RDONLY;
    tree_ground(t, target, GROUND_READONLY);
}

bool tree_names(const struct tree *t, const char *target)
{
    return find_place(t, target, strlen(target))->listed;
}

void tree_allow(struct tree *t, const char *path, uint64_t access)
{
    struct plan *plan = t->b->plan;
    plan->rules[plan->rule_count++] = (struct plan_rule){.path = path, .access = access};
}
