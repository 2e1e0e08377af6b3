/* The tree that the payload sees, as ordered steps, and the Landlock rules on top of it. */
#include <string.h>

#include "plan/system_files.h"
#include "plan/tree.h"

#define FIXED_RULES 16

/* /dev: five nodes, pseudo-terminals, and the links that programs expect. */
static void add_dev(struct tree *t)
{
    static const char *const nodes[][2] = {{"/dev/null", "dev/null"},
                                           {"/dev/zero", "dev/zero"},
                                           {"/dev/full", "dev/full"},
                                           {"/dev/random", "dev/random"},
                                           {"/dev/urandom", "dev/urandom"}};
    if (plan_off(t->b, CAP_DEVICES)) {
        tree_bind(t, "/dev", "dev", 0);
        return;
    }
    if (t->b->policy.fs_mode == FS_VIEW)
        tree_add(t, STEP_DIR, "dev"); /* sealed with the root */
    else
        tree_tmpfs(t, "dev", 64 * 1024, 0755, STEP_RDONLY);
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        /* A shared mapping of /dev/zero is memory that the watcher could not see. */
        if (t->b->plan->deny_memfd && strcmp(nodes[i][1], "dev/zero") == 0)
            tree_add(t, STEP_SPARSE, nodes[i][1]);
        else
            tree_add(t, STEP_DEVICE, nodes[i][1])->source = nodes[i][0];
    }
    if (t->b->plan->tty) { /* whoever opens it gets the terminal of its own session */
        tree_add(t, STEP_DEVICE, "dev/tty")->source = "/dev/tty";
        tree_allow(t, "/dev/tty", LL_WRITE_FILE);
    }
    tree_add(t, STEP_DEVPTS, "dev/pts");
    tree_link(t, "dev/ptmx", "pts/ptmx");
    tree_link(t, "dev/fd", "/proc/self/fd");
    tree_link(t, "dev/stdin", "/proc/self/fd/0");
    tree_link(t, "dev/stdout", "/proc/self/fd/1");
    tree_link(t, "dev/stderr", "/proc/self/fd/2");
    tree_tmpfs(t, "dev/shm", t->b->policy.tmp_bytes, 01777, STEP_MAKE);

    /* /dev/urandom stays without a write right although its node would allow it: that is the
     * canary by which the payload proves that Landlock, and nothing else, is at work. */
    for (size_t i = 0; i < 3; i++)
        tree_allow(t, nodes[i][0], LL_WRITE_FILE | LL_TRUNCATE);
    tree_allow(t, "/dev", LL_IOCTL_DEV);
    tree_allow(t, "/dev/pts", LL_WRITE_FILE);
    tree_allow(t, "/dev/shm", RULE_WRITE);
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
    tree_file(t, "etc/passwd", passwd);
    tree_file(t, "etc/group", group);
    return 0;
}

/* The host's toolchain: /usr, its links at the top, what of /etc programs need, /nix/store. */
static void add_system(struct tree *t)
{
    const struct host *host = t->b->request->host;
    tree_bind(t, "/usr", "usr", STEP_RDONLY);
    for (size_t i = 0; i < HOST_TOP_COUNT; i++) {
        const struct host_top *top = &host->top[i];
        if (!top->present)
            continue;
        if (top->link[0] != '\0')
            tree_link(t, top->path + 1, top->link);
        else
            tree_bind(t, top->path, top->path + 1, STEP_RDONLY);
    }
    for (size_t i = 0; i < SYSTEM_FILE_COUNT; i++) {
        if (!system_files[i].network || t->b->policy.net == NET_HOST)
            tree_bind(t, system_files[i].path, system_files[i].path + 1, STEP_RDONLY | STEP_OPTIONAL);
    }
    if (host->nix_store)
        tree_bind(t, "/nix/store", "nix/store", STEP_RDONLY);
}

static void add_work(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    const struct plan_request *request = t->b->request;
    if (request->work.given) {
        tree_bind(t, "the directory given", "work",
                 STEP_LISTED | STEP_WORK | STEP_FD | (request->work.readonly ? (unsigned)STEP_RDONLY : 0));
        t->b->plan->steps[t->b->plan->step_count - 1].fd = request->work.fd;
    } else if (policy->work == WORK_HOST) {
        tree_bind(t, policy->work_host, "work", STEP_LISTED | STEP_WORK);
    } else if (policy->work == WORK_PRIVATE) {
        tree_tmpfs(t, "work", policy->tmp_bytes, 0700, STEP_MAKE);
    } else {
        return;
    }
    if (!request->work.given || !request->work.readonly)
        tree_allow(t, "/work", RULE_READ | RULE_WRITE);
}

static int view(struct tree *t)
{
    const struct policy *policy = &t->b->policy;
    tree_tmpfs(t, "", 0, 0755, STEP_RDONLY); /* sealed before anybody could fill it: needs no size */
    if (policy->system_ro)
        add_system(t);
    int r = add_users(t);
    if (r < 0)
        return r;
    add_dev(t);
    tree_tmpfs(t, "tmp", policy->tmp_bytes, 01777, STEP_MAKE);
    tree_allow(t, "/tmp", RULE_WRITE);
    add_work(t); /* before the binds: the current directory may lie beneath a /work of the host's */
    return plan_add_listed(t);
}

static void mask_runtime(struct tree *t, const char *dir)
{
    if (dir == NULL || dir[1] == '\0' || strncmp(dir, "/run/", 5) == 0)
        return;
    tree_tmpfs(t, dir + 1, 4096, 0755, STEP_RDONLY | STEP_OPTIONAL);
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
    tree_tmpfs(t, "run", 64 * 1024, 0755, STEP_RDONLY | STEP_OPTIONAL);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        tree_bind(t, kept[i], kept[i] + 1, STEP_RDONLY | STEP_OPTIONAL);
    if (!t->b->policy.private_tmp)
        tree_tmpfs(t, "tmp/.X11-unix", 4096, 0755, STEP_RDONLY | STEP_OPTIONAL);
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
    tree_add(t, STEP_HOST_TREE, "")->flags = STEP_RDONLY;
    tree_ground(t, "", GROUND_READONLY);
    add_dev(t);
    if (policy->private_tmp) {
        tree_tmpfs(t, "tmp", policy->tmp_bytes, 01777, STEP_OPTIONAL);
        tree_allow(t, "/tmp", RULE_WRITE);
    }
    mask_sockets(t);
    return plan_add_listed(t);
}

int plan_build_files(struct plan_build *b)
{
    struct plan *plan = b->plan;
    struct tree t;
    if (!tree_begin(&t, b, b->policy.rw.count + 1 + FIXED_RULES))
        return plan_no_memory(b);
    plan->fs_mode = b->policy.fs_mode;
    plan->own_tree = !host_off(b->request->host, OFF_MOUNTS) && !plan_off(b, CAP_FILESYSTEM);
    if (!plan->own_tree) { /* a test switched the layer off: the host's tree as it is */
        tree_add(&t, STEP_HOST_TREE, "");
        tree_add(&t, plan->host_proc ? STEP_DIR : STEP_PROC, "proc");
        return 0;
    }
    tree_allow(&t, "/", RULE_READ);
    tree_allow(&t, "/proc", LL_WRITE_FILE | LL_TRUNCATE); /* the kernel's own rules guard procfs */
    int r = b->policy.fs_mode == FS_VIEW ? view(&t) : guard(&t);
    if (r < 0)
        return r;
    if (!plan->host_proc)
        tree_add(&t, STEP_PROC, "proc");
    else /* what stands in it is not all of this sandbox: nothing of that may be written */
        tree_bind(&t, "/proc", "proc", plan->pidns ? STEP_RDONLY : 0);
    if (!host_off(b->request->host, OFF_LANDLOCK) && plan->bwrap == NULL) /* it would forbid bwrap's mounts */
        plan->landlock_abi = b->request->host->landlock_abi;
    return t.failed ? plan_no_memory(b) : 0;
}
