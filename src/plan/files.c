/* The tree that the payload sees, as ordered steps, and the Landlock rules on top of it. */
#include "plan/build.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "plan/system_files.h"

#define FIXED_RULES 16

/*
 * What stands at a path already: decides whether a mount point beneath it is ours to make, and
 * whether the payload could rename a directory above it.
 */
enum ground { GROUND_OURS, GROUND_READONLY, GROUND_WRITABLE };

struct place {
    const char *path; /* relative, as in plan_step.target */
    size_t len;
    enum ground ground;
    size_t order; /* what stands above it and came later covers it */
    bool listed;  /* the caller named exactly this, and it will be there */
};

struct tree {
    struct plan_build *b;
    struct place *table; /* open addressing; a power of two, at most half full */
    size_t slots, used;
    size_t step_room;
    bool failed; /* memory ran out; what was added since is lost */
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

static struct plan_step *add(struct tree *t, enum step_kind kind, const char *target)
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

/* Also the number of files is bounded: an inode is kernel memory that no size counts. */
static void add_tmpfs(struct tree *t, const char *target, uint64_t size, unsigned mode, unsigned flags)
{
    struct plan_step *step = add(t, STEP_TMPFS, target);
    const uint64_t inodes = size / 2048 < 1024 ? 1024 : size / 2048;
    step->size = size;
    step->flags = flags;
    step->source = arena_printf(t->b->arena, "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=%o", size,
                                inodes, mode);
    t->failed |= step->source == NULL;
    remember(t, target, GROUND_OURS, t->b->plan->step_count);
}

/* Nothing can be mounted beneath a link: what it leads to is not ours. */
static void add_link(struct tree *t, const char *target, const char *text)
{
    add(t, STEP_LINK, target)->source = text;
    remember(t, target, GROUND_READONLY, t->b->plan->step_count);
}

static void add_file(struct tree *t, const char *target, const char *content)
{
    struct plan_step *step = add(t, STEP_FILE, target);
    step->source = content;
    step->mode = 0444;
}

/*
 * Something in a writable tree that must stay as it is, is defeated by renaming a directory above
 * it. So each of those is bound onto itself: rename() of a mount point answers EBUSY.
 */
static void pin_parents(struct tree *t, const char *target, const struct place *above)
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
        struct plan_step *step = add(t, STEP_BIND, parent);
        step->source = parent;
        step->flags = STEP_OWN | STEP_OPTIONAL;
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
        struct plan_step *step = add(t, STEP_BIND, arena_printf(t->b->arena, "%s%s", target,
                                                                 point + (source[1] == '\0' ? 0 : strlen(source))));
        step->source = point;
        step->flags = (flags & (STEP_RDONLY | STEP_LISTED)) | STEP_OPTIONAL | STEP_INNER;
        t->failed |= step->target == NULL;
    }
}

static void add_bind(struct tree *t, const char *source, const char *target, unsigned flags)
{
    const struct place *above = place_above(t, target);
    if ((flags & STEP_RDONLY) != 0)
        pin_parents(t, target, above);
    struct plan_step *step = add(t, STEP_BIND, target);
    step->source = source;
    step->flags = flags | (above->ground == GROUND_OURS ? (unsigned)STEP_MAKE : 0);
    remember(t, target, (flags & STEP_RDONLY) != 0 ? GROUND_READONLY : GROUND_WRITABLE, t->b->plan->step_count);
    find_place(t, target, strlen(target))->listed = (flags & (STEP_LISTED | STEP_OPTIONAL)) == STEP_LISTED;
    if ((flags & (STEP_OWN | STEP_FD)) == 0 && t->b->policy.hide.count > 0)
        add_inner(t, source, target, flags);
}

static void allow(struct tree *t, const char *path, uint64_t access)
{
    struct plan *plan = t->b->plan;
    plan->rules[plan->rule_count++] = (struct plan_rule){.path = path, .access = access};
}

/* /dev: five nodes, pseudo-terminals, and the links that programs expect. */
static void add_dev(struct tree *t)
{
    static const char *const nodes[][2] = {{"/dev/null", "dev/null"},
                                           {"/dev/zero", "dev/zero"},
                                           {"/dev/full", "dev/full"},
                                           {"/dev/random", "dev/random"},
                                           {"/dev/urandom", "dev/urandom"}};
    if (plan_off(t->b, CAP_DEVICES)) {
        add_bind(t, "/dev", "dev", 0);
        return;
    }
    if (t->b->policy.fs_mode == FS_VIEW)
        add(t, STEP_DIR, "dev"); /* sealed with the root */
    else
        add_tmpfs(t, "dev", 64 * 1024, 0755, STEP_RDONLY);
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        /* A shared mapping of /dev/zero is memory that the watcher could not see. */
        if (t->b->plan->deny_memfd && strcmp(nodes[i][1], "dev/zero") == 0)
            add(t, STEP_SPARSE, nodes[i][1]);
        else
            add(t, STEP_DEVICE, nodes[i][1])->source = nodes[i][0];
    }
    if (t->b->plan->tty) { /* whoever opens it gets the terminal of its own session */
        add(t, STEP_DEVICE, "dev/tty")->source = "/dev/tty";
        allow(t, "/dev/tty", LL_WRITE_FILE);
    }
    add(t, STEP_DEVPTS, "dev/pts");
    add_link(t, "dev/ptmx", "pts/ptmx");
    add_link(t, "dev/fd", "/proc/self/fd");
    add_link(t, "dev/stdin", "/proc/self/fd/0");
    add_link(t, "dev/stdout", "/proc/self/fd/1");
    add_link(t, "dev/stderr", "/proc/self/fd/2");
    add_tmpfs(t, "dev/shm", t->b->policy.tmp_bytes, 01777, STEP_MAKE);

    /* /dev/urandom stays without a write right although its node would allow it: that is the
     * canary by which the payload proves that Landlock, and nothing else, is at work. */
    for (size_t i = 0; i < 3; i++)
        allow(t, nodes[i][0], LL_WRITE_FILE | LL_TRUNCATE);
    allow(t, "/dev", LL_IOCTL_DEV);
    allow(t, "/dev/pts", LL_WRITE_FILE);
    allow(t, "/dev/shm", RULE_WRITE);
}

static int add_users(struct tree *t)
{
    const struct plan *plan = t->b->plan;
    const bool root = plan->uid_inside == 0;
    const bool nobody = plan->uid_inside == PLAN_NOBODY;
    char *passwd = arena_printf(
        t->b->arena, "%s%s:x:%u:%u::%s:/bin/sh\n%s",
        root ? "" : "root:x:0:0::/:/usr/sbin/nologin\n",
        root     ? "root"
        : nobody ? "nobody"
                 : "user",
        plan->uid_inside, plan->gid_inside,
        t->b->policy.work == WORK_NONE ? "/" : "/work",
        nobody ? "" : "nobody:x:65534:65534::/:/usr/sbin/nologin\n");
    char *group = arena_printf(t->b->arena, "%s%s:x:%u:\n%s",
                               plan->gid_inside == 0 ? "" : "root:x:0:\n",
                               plan->gid_inside == 0             ? "root"
                               : plan->gid_inside == PLAN_NOBODY ? "nogroup"
                                                                 : "user",
                               plan->gid_inside,
                               plan->gid_inside == PLAN_NOBODY ? "" : "nogroup:x:65534:\n");
    if (passwd == NULL || group == NULL)
        return plan_no_memory(t->b);
    add_file(t, "etc/passwd", passwd);
    add_file(t, "etc/group", group);
    return 0;
}

/* The host's toolchain: /usr, its links at the top, what of /etc programs need, /nix/store. */
static void add_system(struct tree *t)
{
    const struct host *host = t->b->request->host;
    add_bind(t, "/usr", "usr", STEP_RDONLY);
    for (size_t i = 0; i < HOST_TOP_COUNT; i++) {
        const struct host_top *top = &host->top[i];
        if (!top->present)
            continue;
        if (top->link[0] != '\0')
            add_link(t, top->path + 1, top->link);
        else
            add_bind(t, top->path, top->path + 1, STEP_RDONLY);
    }
    for (size_t i = 0; i < SYSTEM_FILE_COUNT; i++) {
        if (!system_files[i].network || t->b->policy.net == NET_HOST)
            add_bind(t, system_files[i].path, system_files[i].path + 1, STEP_RDONLY | STEP_OPTIONAL);
    }
    if (host->nix_store)
        add_bind(t, "/nix/store", "nix/store", STEP_RDONLY);
}

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
    const char *host, *sandbox;
    unsigned flags; /* enum step_flag */
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
            out[count++] = (struct listed){
                .host = path + 1, .sandbox = path, .flags = STEP_OPTIONAL | STEP_OWN | STEP_RDONLY};
    }
    return count;
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
        if ((out[i].flags & STEP_RDONLY) == 0)
            count += gather_protected(t, out[i].sandbox, out + count);
    }
    if (policy->work == WORK_HOST)
        count += gather_protected(t, "/work", out + count);
    for (size_t i = 0; i < count; i++)
        out[i].depth = policy_path_depth(out[i].sandbox);
    return count;
}

/*
 * Listed binds and protections, broader before narrower, so that the narrower one wins; at the same
 * target rw comes first, so that ro wins, and a protection last, so that it knows what was named. A
 * counting sort by depth keeps it linear and stable.
 */
static int add_listed(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    int r = policy->rw_cwd ? plan_check_cwd(t->b) : 0;
    if (r < 0)
        return r;
    const size_t trees = policy->rw.count + 2; /* the current directory and /work, too */
    const size_t room = policy->ro.count + trees * (1 + policy->protect.count);
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
        if ((sorted[i].flags & STEP_OWN) != 0 && find_place(t, target, strlen(target))->listed)
            continue;
        add_bind(t, sorted[i].host, target, sorted[i].flags);
        if ((sorted[i].flags & STEP_RDONLY) == 0)
            allow(t, sorted[i].sandbox, RULE_READ | RULE_WRITE);
    }
    return 0;
}

static void add_work(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    const struct plan_request *request = t->b->request;
    if (request->work.given) {
        add_bind(t, "the directory given", "work",
                 STEP_LISTED | STEP_FD | (request->work.readonly ? (unsigned)STEP_RDONLY : 0));
        t->b->plan->steps[t->b->plan->step_count - 1].fd = request->work.fd;
    } else if (policy->work == WORK_HOST) {
        add_bind(t, policy->work_host, "work", STEP_LISTED);
    } else if (policy->work == WORK_PRIVATE) {
        add_tmpfs(t, "work", policy->tmp_bytes, 0700, STEP_MAKE);
    } else {
        return;
    }
    if (!request->work.given || !request->work.readonly)
        allow(t, "/work", RULE_READ | RULE_WRITE);
}

static int view(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    add_tmpfs(t, "", 0, 0755, STEP_RDONLY); /* sealed before anybody could fill it: needs no size */
    if (policy->system_ro)
        add_system(t);
    int r = add_users(t);
    if (r < 0)
        return r;
    add_dev(t);
    add_tmpfs(t, "tmp", policy->tmp_bytes, 01777, STEP_MAKE);
    allow(t, "/tmp", RULE_WRITE);
    add_work(t); /* before the binds: the current directory may lie beneath a /work of the host's */
    return add_listed(t);
}

static void mask_runtime(struct tree *t, const char *dir)
{
    if (dir == NULL || dir[1] == '\0' || strncmp(dir, "/run/", 5) == 0)
        return;
    add_tmpfs(t, dir + 1, 4096, 0755, STEP_RDONLY | STEP_OPTIONAL);
    t->b->plan->runtime_dir = dir;
}

/*
 * Daemons listen beneath /run; connect() works through a read-only mount. What programs need from
 * there is no socket and comes back.
 */
static void mask_sockets(struct tree *t)
{
    static const char *const kept[] = {"/run/current-system", "/run/booted-system",
                                       "/run/systemd/resolve/resolv.conf",
                                       "/run/systemd/resolve/stub-resolv.conf"};
    add_tmpfs(t, "run", 64 * 1024, 0755, STEP_RDONLY | STEP_OPTIONAL);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        add_bind(t, kept[i], kept[i] + 1, STEP_RDONLY | STEP_OPTIONAL);
    if (!t->b->policy.private_tmp)
        add_tmpfs(t, "tmp/.X11-unix", 4096, 0755, STEP_RDONLY | STEP_OPTIONAL);
    for (char *const *e = t->b->request->caller_env; *e != NULL; e++) {
        static const char name[] = "XDG_RUNTIME_DIR=/";
        if (strncmp(*e, name, sizeof name - 1) != 0)
            continue;
        const char *dir = policy_normalize_path(t->b->arena, *e + sizeof name - 2);
        t->failed |= dir == NULL; /* a mask is never left out in silence */
        mask_runtime(t, dir);
    }
    if (t->b->plan->runtime_dir == NULL)
        mask_runtime(t, t->b->request->host->refused.runtime_dir);
}

static int guard(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    add(t, STEP_HOST_TREE, "")->flags = STEP_RDONLY;
    remember(t, "", GROUND_READONLY, t->b->plan->step_count);
    add_dev(t);
    if (policy->private_tmp) {
        add_tmpfs(t, "tmp", policy->tmp_bytes, 01777, STEP_OPTIONAL);
        allow(t, "/tmp", RULE_WRITE);
    }
    mask_sockets(t);
    return add_listed(t);
}

int plan_build_files(struct plan_build *b)
{
    struct plan *plan = b->plan;
    struct tree t = {.b = b, .slots = 128, .step_room = 64};

    plan->fs_mode = b->policy.fs_mode;
    plan->steps = arena_array(b->arena, t.step_room, sizeof *plan->steps);
    plan->rules = arena_array(b->arena, b->policy.rw.count + 1 + FIXED_RULES, sizeof *plan->rules);
    t.table = arena_array(b->arena, t.slots, sizeof *t.table);
    if (plan->steps == NULL || plan->rules == NULL || t.table == NULL)
        return plan_no_memory(b);
    plan->own_tree = !host_off(b->request->host, OFF_MOUNTS) && !plan_off(b, CAP_FILESYSTEM);
    if (!plan->own_tree) { /* a test switched the layer off: the host's tree as it is */
        add(&t, STEP_HOST_TREE, "");
        add(&t, plan->host_proc ? STEP_DIR : STEP_PROC, "proc");
        return 0;
    }
    allow(&t, "/", RULE_READ);
    allow(&t, "/proc", LL_WRITE_FILE | LL_TRUNCATE); /* the kernel's own rules guard procfs */
    int r = b->policy.fs_mode == FS_VIEW ? view(&t) : guard(&t);
    if (r < 0)
        return r;
    if (!plan->host_proc)
        add(&t, STEP_PROC, "proc");
    else /* what stands in it is not all of this sandbox: nothing of that may be written */
        add_bind(&t, "/proc", "proc", plan->pidns ? STEP_RDONLY : 0);
    if (!host_off(b->request->host, OFF_LANDLOCK) && plan->bwrap == NULL) /* it would forbid bwrap's mounts */
        plan->landlock_abi = b->request->host->landlock_abi;
    return t.failed ? plan_no_memory(b) : 0;
}
