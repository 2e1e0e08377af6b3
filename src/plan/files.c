/* The tree that the payload sees, as ordered steps, and the Landlock rules on top of it. */
#include "plan/build.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "plan/system_files.h"
#include "sys/landlock.h"

#define FIXED_STEPS 96 /* more than all that is not a listed bind */
#define FIXED_RULES 16
#define PROTECTED_DEPTH 4 /* components of a protected name; validation holds them to it */

#define READ (LL_EXECUTE | LL_READ_FILE | LL_READ_DIR)
#define WRITE                                                                                 \
    (LL_WRITE_FILE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG |             \
     LL_MAKE_SOCK | LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER | LL_TRUNCATE)

/* What stands at a path already: decides whether a mount point beneath it is ours to make. */
enum ground { GROUND_OURS, GROUND_HOST };

struct place {
    const char *path; /* relative, as in plan_step.target */
    size_t len;
    enum ground ground;
};

struct tree {
    struct plan_build *b;
    struct place *table; /* open addressing */
    size_t mask;
    bool failed; /* memory ran out */
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
    size_t i = hash(path, len) & t->mask;
    while (t->table[i].path != NULL &&
           (t->table[i].len != len || memcmp(t->table[i].path, path, len) != 0))
        i = (i + 1) & t->mask;
    return &t->table[i];
}

static void remember(struct tree *t, const char *path, enum ground ground)
{
    size_t len = strlen(path);
    *find_place(t, path, len) = (struct place){path, len, ground};
}

/* The nearest thing above a path decides; the root is always remembered. */
static enum ground ground_above(const struct tree *t, const char *path)
{
    for (size_t len = strlen(path); len > 0;) {
        do
            len--;
        while (len > 0 && path[len] != '/');
        const struct place *p = find_place(t, path, len);
        if (p->path != NULL)
            return p->ground;
    }
    return find_place(t, "", 0)->ground;
}

static struct plan_step *add(struct tree *t, enum step_kind kind, const char *target)
{
    struct plan *plan = t->b->plan;
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
    remember(t, target, GROUND_OURS);
}

/* Nothing can be mounted beneath a link: what it leads to is not ours. */
static void add_link(struct tree *t, const char *target, const char *text)
{
    add(t, STEP_LINK, target)->source = text;
    remember(t, target, GROUND_HOST);
}

static void add_file(struct tree *t, const char *target, const char *content)
{
    struct plan_step *step = add(t, STEP_FILE, target);
    step->source = content;
    step->mode = 0444;
}

static void add_bind(struct tree *t, const char *source, const char *target, unsigned flags)
{
    struct plan_step *step = add(t, STEP_BIND, target);
    step->source = source;
    step->flags = flags | (ground_above(t, target) == GROUND_OURS ? (unsigned)STEP_MAKE : 0);
    remember(t, target, GROUND_HOST);
}

static void allow(struct tree *t, const char *path, uint64_t access)
{
    struct plan *plan = t->b->plan;
    plan->rules[plan->rule_count++] = (struct plan_rule){path, access};
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
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        add(t, STEP_DEVICE, nodes[i][1])->source = nodes[i][0];
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
    allow(t, "/dev/shm", WRITE);
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
    for (size_t i = 0; i < sizeof system_files / sizeof system_files[0]; i++) {
        if (!system_files[i].network || t->b->policy.net == NET_HOST)
            add_bind(t, system_files[i].path, system_files[i].path + 1, STEP_RDONLY | STEP_OPTIONAL);
    }
    if (host->nix_store)
        add_bind(t, "/nix/store", "nix/store", STEP_RDONLY);
}

struct listed {
    const struct policy_bind *bind;
    bool writable;
    unsigned depth;
};

static unsigned depth_of(const char *path)
{
    unsigned depth = 0;
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

/*
 * Listed binds, broader before narrower, so that the narrower one wins; at the same target rw
 * comes first, so that ro wins. A counting sort by depth keeps it linear and stable.
 */
static int add_listed(struct tree *t)
{
    const struct policy_binds *lists[2] = {&t->b->policy.rw, &t->b->policy.ro};
    const size_t count = lists[0]->count + lists[1]->count;
    unsigned deepest = 0;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            unsigned depth = depth_of(lists[k]->items[i].sandbox);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    size_t *starts = arena_array(t->b->arena, deepest + 2, sizeof *starts);
    struct listed *sorted = arena_array(t->b->arena, count + 1, sizeof *sorted);
    if (starts == NULL || sorted == NULL)
        return plan_no_memory(t->b);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++)
            starts[depth_of(lists[k]->items[i].sandbox) + 1]++;
    }
    for (unsigned d = 0; d <= deepest; d++)
        starts[d + 1] += starts[d];
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            const struct policy_bind *bind = &lists[k]->items[i];
            sorted[starts[depth_of(bind->sandbox)]++] = (struct listed){.bind = bind, .writable = k == 0};
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct policy_bind *bind = sorted[i].bind;
        unsigned flags = STEP_LISTED | (sorted[i].writable ? 0 : STEP_RDONLY) |
                         (bind->optional ? (unsigned)STEP_OPTIONAL : 0);
        add_bind(t, bind->host, bind->sandbox + 1, flags);
        if (!sorted[i].writable)
            continue;
        allow(t, bind->sandbox, READ | WRITE);
        int r = add_protected(t, bind->host, bind->sandbox);
        if (r < 0)
            return r;
    }
    return 0;
}

/*
 * Files in a writable tree by which code outside is made to run later stay read-only. A read-only
 * entry alone is defeated by renaming a directory above it: so each of those is bound onto itself,
 * and rename() answers EBUSY. A name that does not exist has nothing to bind.
 */
static int add_protected(struct tree *t, const char *host, const char *sandbox)
{
    const struct policy_names *names = &t->b->policy.protect;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i];
        for (const char *end = strchr(name, '/');; end = strchr(end + 1, '/')) {
            size_t len = end == NULL ? strlen(name) : (size_t)(end - name);
            char *source = arena_printf(t->b->arena, "%s/%.*s", host, (int)len, name);
            char *target = arena_printf(t->b->arena, "%s/%.*s", sandbox + 1, (int)len, name);
            if (source == NULL || target == NULL)
                return plan_no_memory(t->b);
            if (find_place(t, target, strlen(target))->path == NULL)
                add_bind(t, source, target,
                         STEP_OPTIONAL | STEP_OWN | (end == NULL ? (unsigned)STEP_RDONLY : 0));
            if (end == NULL)
                break;
        }
    }
    return 0;
}

/* The caller's directory, writable at its own path: never the root, never a whole home. */
static int add_cwd(struct tree *t)
{
    const struct host *host = t->b->request->host;
    if (!t->b->policy.rw_cwd)
        return 0;
    const char *why = NULL;
    if (host->cwd == NULL)
        why = "the current directory no longer exists";
    else if (strcmp(host->cwd, "/") == 0)
        why = "the current directory is the root of the file system";
    else if (host->home != NULL && strcmp(host->cwd, host->home) == 0)
        why = "the current directory is a whole home directory";
    if (why != NULL) {
        err_set(t->b->err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0,
                "make the current directory writable", host->cwd == NULL ? "." : host->cwd);
        err_why(t->b->err, why);
        err_remedy(t->b->err, "change into the project's directory, or name what may be written "
                              "with --profile stage --rw DIR");
        return -EINVAL;
    }
    add_bind(t, host->cwd, host->cwd + 1, STEP_LISTED);
    allow(t, host->cwd, READ | WRITE);
    return add_protected(t, host->cwd, host->cwd);
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
    allow(t, "/tmp", WRITE);
    r = add_cwd(t);
    if (r == 0)
        r = add_listed(t);
    if (r < 0)
        return r;
    if (policy->work == WORK_HOST)
        add_bind(t, policy->work_host, "work", STEP_LISTED);
    else
        add_tmpfs(t, "work", policy->tmp_bytes, 0700, STEP_MAKE);
    allow(t, "/work", READ | WRITE);
    return 0;
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
    for (char **e = t->b->request->caller_env; *e != NULL; e++) {
        static const char name[] = "XDG_RUNTIME_DIR=/";
        if (strncmp(*e, name, sizeof name - 1) != 0)
            continue;
        const char *dir = policy_normalize_path(t->b->arena, *e + sizeof name - 2);
        if (dir != NULL && dir[1] != '\0' && strncmp(dir, "/run/", 5) != 0)
            add_tmpfs(t, dir + 1, 4096, 0755, STEP_RDONLY | STEP_OPTIONAL);
    }
}

static int guard(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    add(t, STEP_HOST_TREE, "");
    remember(t, "", GROUND_HOST);
    add_dev(t);
    if (policy->private_tmp) {
        add_tmpfs(t, "tmp", policy->tmp_bytes, 01777, STEP_OPTIONAL);
        allow(t, "/tmp", WRITE);
    }
    mask_sockets(t);
    int r = add_cwd(t);
    return r < 0 ? r : add_listed(t);
}

int plan_build_files(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const size_t writable = b->policy.rw.count + 1;
    const size_t binds = writable * (1 + b->policy.protect.count * PROTECTED_DEPTH) + b->policy.ro.count;
    struct tree t = {.b = b};
    size_t slots = 256;
    while (slots < (binds + FIXED_STEPS) * 2)
        slots *= 2;

    plan->fs_mode = b->policy.fs_mode;
    plan->steps = arena_array(b->arena, binds + FIXED_STEPS, sizeof *plan->steps);
    plan->rules = arena_array(b->arena, binds + FIXED_RULES, sizeof *plan->rules);
    t.table = arena_array(b->arena, slots, sizeof *t.table);
    t.mask = slots - 1;
    if (plan->steps == NULL || plan->rules == NULL || t.table == NULL)
        return plan_no_memory(b);
    if (host_off(b->request->host, OFF_MOUNTS) || plan_off(b, CAP_FILESYSTEM))
        return 0; /* a test switched the layer off: the host's tree as it is */

    allow(&t, "/", READ);
    allow(&t, "/proc", LL_WRITE_FILE | LL_TRUNCATE); /* the kernel's own rules guard procfs */
    int r = b->policy.fs_mode == FS_VIEW ? view(&t) : guard(&t);
    if (r < 0)
        return r;
    if (t.failed)
        return plan_no_memory(b);
    add(&t, STEP_PROC, "proc");
    if (!host_off(b->request->host, OFF_LANDLOCK))
        plan->landlock_abi = b->request->host->landlock_abi;
    return 0;
}
