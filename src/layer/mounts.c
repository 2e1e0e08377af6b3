#include "layer/mounts.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "layer/bind.h"
#include "sys/files.h"
#include "sys/mounting.h"
#include "sys/statx.h"

static int fail(struct cordon_error *err, long r, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, (int)-r, what, subject);
}

static int fail_at(struct cordon_error *err, long r, const char *what, const char *target)
{
    return fail(err, r, what, bind_place(target).path);
}

/* The directories above a path on a file system of our own. */
static long make_parents(const char *path)
{
    char part[4096];
    size_t len = strlen(path);
    if (len >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, len + 1);
    for (char *p = strchr(part, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        long r = sys_mkdir(part, 0755);
        if (r < 0 && r != -EEXIST)
            return r;
        *p = '/';
    }
    return 0;
}

static long make_dir(const char *path, unsigned mode)
{
    long r = sys_mkdir(path, mode);
    if (r == -ENOENT && (r = make_parents(path)) == 0)
        r = sys_mkdir(path, mode);
    return r == -EEXIST ? 0 : r;
}

static long make_file(const char *path, unsigned mode)
{
    const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW;
    long fd = sys_open(AT_FDCWD, path, flags, mode);
    if (fd == -ENOENT && (fd = make_parents(path)) == 0)
        fd = sys_open(AT_FDCWD, path, flags, mode);
    return fd;
}

/* An empty one, to mount onto. */
static long make_place(const char *path, unsigned mode)
{
    long r = sys_call(SYS_mknodat, AT_FDCWD, path, S_IFREG | mode, 0);
    if (r == -ENOENT && (r = make_parents(path)) == 0)
        r = sys_call(SYS_mknodat, AT_FDCWD, path, S_IFREG | mode, 0);
    return r == -EEXIST ? 0 : r;
}

static int write_file(const struct plan_step *step, struct cordon_error *err)
{
    long fd = make_file(step->target, step->mode);
    if (fd < 0)
        return fail_at(err, fd, "create file", step->target);
    long r = sys_write((int)fd, step->source, strlen(step->source));
    sys_close((int)fd);
    return r < 0 ? fail_at(err, r, "write file", step->target) : 0;
}

/* A file that reads as zeros without end, and whose mapping is bounded by its file system. */
static int make_sparse(const struct plan_step *step, struct cordon_error *err)
{
    long fd = make_file(step->target, 0444);
    long r = fd < 0 ? fd : sys_call(SYS_ftruncate, fd, INT64_MAX);
    sys_close((int)fd);
    if (r == -EFBIG) {
        fail_at(err, r, "create file", step->target);
        err_remedy(err, "it has no end, and your limit on file sizes has: ulimit -f unlimited");
        return (int)r;
    }
    return r < 0 ? fail_at(err, r, "create file", step->target) : 0;
}

/* Mount options in `source`. A target on the host's ground is reached without following links. */
static int mount_tmpfs(const struct plan_step *step, struct cordon_error *err)
{
    char path[SYS_FD_PATH_SIZE];
    const char *target = step->target;
    int fd = -1;
    if ((step->flags & STEP_MAKE) != 0) {
        long r = make_dir(target, 0755);
        if (r < 0)
            return fail_at(err, r, "create directory", target);
    } else {
        fd = sys_open_in_root(AT_FDCWD, target, O_PATH | O_DIRECTORY);
        if ((fd == -ENOENT || fd == -ENOTDIR) && (step->flags & STEP_OPTIONAL) != 0)
            return 0;
        if (fd < 0)
            return fail_at(err, fd, "open mount point (openat2)", target);
        sys_fd_path(path, fd);
        target = path;
    }
    long r = sys_mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, step->source);
    sys_close(fd);
    return r < 0 ? fail_at(err, r, "mount tmpfs", step->target) : 0;
}

static int open_target(const struct plan_step *step, bool directory, struct cordon_error *err)
{
    if ((step->flags & STEP_MAKE) != 0) {
        long r = directory ? make_dir(step->target, 0755) : make_place(step->target, 0444);
        if (r < 0)
            return fail_at(err, r, "create mount point", step->target);
    }
    int fd = sys_open_in_root(AT_FDCWD, step->target, O_PATH);
    if ((fd == -ENOENT || fd == -ENOTDIR) && (step->flags & STEP_INNER) == 0)
        return bind_refuse(err, fd, "bind onto", bind_place(step->target).path,
                      "it does not exist beneath another bind",
                      "nothing is ever created in your tree: create it there first, or bind elsewhere");
    if (fd == -ELOOP)
        return bind_refuse(err, fd, "bind onto", bind_place(step->target).path, "a symbolic link is in the way",
                      "name the place that the link leads to");
    return fd < 0 ? fail_at(err, fd, "open mount point (openat2)", step->target) : fd;
}

/* `readonly` stays true only while every read-only mount says that it is. */
static int bind_tree(const struct plan_step *step, int prepared, bool *readonly,
                     struct cordon_error *err)
{
    struct stat st;
    bool skip = false;
    int source = prepared >= 0 ? prepared : bind_open(step, &skip, &st, err);
    if (source < 0 || skip)
        return source < 0 ? source : 0;

    int tree = -1;
    if (prepared >= 0) {
        long r = sys_fstat(prepared, &st);
        tree = r < 0 ? fail(err, r, "look at bind source", step->source) : prepared;
    } else {
        struct plan_step as = *step;
        const bool settled = bind_settle(&as, &st);
        tree = settled ? bind_clone(source, &as, -1, err) : -1;
        sys_close(source);
        if (!settled)
            return 0;
    }
    int target = tree < 0 ? tree : open_target(step, S_ISDIR(st.st_mode), err);
    if (target < 0) {
        sys_close(tree);
        return (step->flags & STEP_INNER) != 0 ? 0 : target;
    }
    long r = sys_move_mount(tree, "", target, "", MOVE_FROM_EMPTY | MOVE_TO_EMPTY);
    struct stat at;
    const bool mismatch = r < 0 && sys_fstat(target, &at) == 0 && S_ISDIR(at.st_mode) != S_ISDIR(st.st_mode);
    sys_close(target);
    if ((step->flags & STEP_RDONLY) != 0) {
        struct statfs fs = {0};
        *readonly = *readonly && sys_fstatfs(tree, &fs) == 0 && (fs.f_flags & ST_RDONLY) != 0;
    }
    sys_close(tree);
    if (mismatch) /* the kernel says no more than EINVAL */
        return bind_refuse(err, -ENOTDIR, "bind onto", bind_place(step->target).path,
                      "one of them is a directory and the other is not", "");
    return r < 0 ? fail_at(err, r, "mount", step->target) : 0;
}

static int bind_device(const struct plan_step *step, struct cordon_error *err)
{
    long r = make_place(step->target, 0666);
    if (r < 0)
        return fail_at(err, r, "create file", step->target);
    r = sys_mount(step->source, step->target, NULL, MS_BIND, NULL);
    return r < 0 ? fail(err, r, "mount device", step->source) : 0;
}

static int mount_devpts(const struct plan_step *step, struct cordon_error *err)
{
    long r = make_dir(step->target, 0755);
    if (r == 0)
        r = sys_mount("devpts", step->target, "devpts", MS_NOSUID | MS_NOEXEC,
                      "newinstance,ptmxmode=0666,mode=0620");
    return r < 0 ? fail_at(err, r, "mount devpts", step->target) : 0;
}

/*
 * In a user namespace of its own a process has every capability again. The limit belongs to this
 * namespace; nobody inside can raise it once /proc/sys is read-only and the capability is gone.
 */
static bool forbid_nesting(void)
{
    static const char limit[] = "proc/sys/user/max_user_namespaces";
    char text[4] = "";
    int fd = sys_open(AT_FDCWD, limit, O_RDWR, 0);
    if (fd < 0)
        return false;
    sys_write(fd, "0", 1);
    sys_call(SYS_lseek, fd, 0, 0);
    sys_read(fd, text, sizeof text - 1);
    sys_close(fd);
    return text[0] == '0' && text[1] == '\n';
}

/* An ordinary caller's keys are listed there by name. A kernel without keys has no such file. */
static void hide_keys(void)
{
    sys_mount("/dev/null", "proc/keys", NULL, MS_BIND, NULL);
    sys_mount("/dev/null", "proc/key-users", NULL, MS_BIND, NULL);
}

static int mount_proc(const struct plan_step *step, bool *nesting, struct cordon_error *err)
{
    const struct plan_step sys = {.kind = STEP_BIND,
                                  .flags = STEP_RDONLY | STEP_OWN,
                                  .source = "/proc/sys",
                                  .target = "proc/sys"};
    bool readonly = true;
    long r = make_dir(step->target, 0555);
    if (r == -EROFS) /* guard mode: it stands in the host's tree */
        r = 0;
    if (r == 0)
        r = sys_mount("proc", step->target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    if (r < 0) {
        fail_at(err, r, "mount proc", step->target);
        err_remedy(err, r == -EPERM ? "this host covers parts of /proc, as containers do, and the "
                                      "kernel then refuses a new one"
                                    : "");
        return (int)r;
    }
    hide_keys();
    *nesting = !forbid_nesting();
    return bind_tree(&sys, -1, &readonly, err);
}

/* A copy of the host's whole root; a descriptor or -errno. */
static int copy_root(const struct plan_step *step, struct cordon_error *err)
{
    int old = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
    int root = old < 0 ? fail(err, old, "open", "/") : bind_clone(old, step, -1, err);
    sys_close(old);
    return root;
}

static int make_root(struct cordon_error *err)
{
    int context = (int)sys_call(SYS_fsopen, "tmpfs", 1 /* FSOPEN_CLOEXEC */);
    if (context < 0)
        return fail(err, context, "open a file system context (fsopen)", "tmpfs");
    sys_call(SYS_fsconfig, context, FSCONFIG_STRING, "mode", "0755", 0);
    sys_call(SYS_fsconfig, context, FSCONFIG_STRING, "size", "1m", 0); /* names are not counted */
    long r = sys_call(SYS_fsconfig, context, FSCONFIG_CREATE, 0, 0, 0);
    if (r == 0)
        r = sys_call(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, ATTR_NOSUID | ATTR_NODEV);
    sys_close(context);
    return r < 0 ? fail(err, r, "mount tmpfs", "/") : (int)r;
}

/* The host's other mounts, where root has brought them. */
static int mount_host(const struct layer_trees *trees, struct cordon_error *err)
{
    for (size_t i = 1; i < trees->host_count; i++) {
        const struct layer_tree *tree = &trees->host[i];
        int target = sys_open_in_root(AT_FDCWD, tree->target, O_PATH);
        long r = target < 0 ? target : sys_move_mount(tree->fd, "", target, "", MOVE_FROM_EMPTY | MOVE_TO_EMPTY);
        sys_close(target);
        sys_close(tree->fd);
        if (r < 0)
            return fail_at(err, r, "mount", tree->target);
    }
    return 0;
}

/* The first step: something to stand on, on top of the old root. Leaves it as the cwd. */
static int enter_root(const struct plan_step *step, const struct layer_trees *trees,
                      struct cordon_error *err)
{
    const struct plan_step whole = {.flags = step->flags, .source = "/"};
    const bool brought = trees != NULL && trees->host_count > 0;
    int root = brought                         ? trees->host[0].fd
               : step->kind == STEP_HOST_TREE ? copy_root(&whole, err)
                                              : make_root(err);
    if (root < 0)
        return root;
    long r = sys_move_mount(root, "", AT_FDCWD, "/", MOVE_FROM_EMPTY);
    if (r == 0)
        r = sys_call(SYS_fchdir, root);
    sys_close(root);
    if (r < 0)
        return fail(err, r, "stand on the new root (move_mount)", "/");
    return brought ? mount_host(trees, err) : 0;
}

/* What becomes true or false while the steps are applied. */
struct seen {
    bool readonly; /* every read-only mount says that it is */
    bool nesting;  /* a user namespace could be made inside */
};

static int apply_step(const struct plan_step *step, int prepared, struct seen *seen, struct cordon_error *err)
{
    long r;
    switch (step->kind) {
    case STEP_TMPFS:
        return mount_tmpfs(step, err);
    case STEP_DIR:
        r = make_dir(step->target, step->mode);
        return r < 0 ? fail_at(err, r, "create directory", step->target) : 0;
    case STEP_LINK:
        r = sys_symlink(step->source, step->target);
        return r < 0 ? fail_at(err, r, "create link", step->target) : 0;
    case STEP_FILE:
        return write_file(step, err);
    case STEP_BIND:
        r = bind_tree(step, prepared, &seen->readonly, err);
        if (r == 0 && strcmp(step->target, "proc") == 0)
            hide_keys();
        return (int)r;
    case STEP_SPARSE:
        return make_sparse(step, err);
    case STEP_DEVICE:
        return bind_device(step, err);
    case STEP_DEVPTS:
        return mount_devpts(step, err);
    case STEP_PROC:
        return mount_proc(step, &seen->nesting, err);
    case STEP_HOST_TREE:
        break; /* only ever the first one */
    }
    return fail_at(err, -EINVAL, "apply step", step->target);
}

/* What was to be read-only once everything stands in it. */
static int seal(const struct plan *plan, struct cordon_error *err)
{
    static const struct sys_mount_attr attr = {.set = ATTR_RDONLY};
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (step->kind != STEP_TMPFS || (step->flags & STEP_RDONLY) == 0)
            continue;
        long r = sys_mount_setattr(AT_FDCWD, i == 0 ? "." : step->target, 0, &attr);
        if (r < 0 && !(r == -ENOENT && (step->flags & STEP_OPTIONAL) != 0))
            return fail_at(err, r, "seal (mount_setattr)", step->target);
    }
    return 0;
}

static bool is_readonly(const char *path)
{
    struct statfs fs = {0};
    return sys_call(SYS_statfs, path, &fs) == 0 && (fs.f_flags & ST_RDONLY) != 0;
}

static bool is_own_dev(void)
{
    struct statfs fs = {0};
    return sys_call(SYS_statfs, "/dev", &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
           (fs.f_flags & ST_RDONLY) != 0;
}

/*
 * A bind of the host's whole root must be copied before the new root is stacked on it, or the copy
 * would hold the new one, too.
 */
struct early {
    size_t step;
    int tree;
};
#define EARLY_MAX 4

static int copy_roots(const struct plan *plan, const struct layer_trees *trees, struct early early[EARLY_MAX],
                      size_t *count, struct cordon_error *err)
{
    for (size_t i = 1; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (step->kind != STEP_BIND || (step->flags & STEP_FD) != 0 || strcmp(step->source, "/") != 0 ||
            (trees != NULL && trees->of_step[i] >= 0))
            continue;
        if (*count == EARLY_MAX)
            return bind_refuse(err, -E2BIG, "bind", "/", "the root is listed too often", "");
        int tree = copy_root(step, err);
        if (tree < 0)
            return tree;
        early[(*count)++] = (struct early){i, tree};
    }
    return 0;
}

/* The mount for a step that was made before its turn; -1: none. */
static int prepared_for(size_t step, const struct layer_trees *trees, const struct early *early, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (early[i].step == step)
            return early[i].tree;
    }
    return trees == NULL ? -1 : trees->of_step[step];
}

/* Every step, and on top of it the overlay that hides names in it. */
static int apply_steps(const struct plan *plan, const struct layer_trees *trees, struct layer_cover *cover,
                       struct seen *seen, struct cordon_error *err)
{
    struct early early[EARLY_MAX];
    size_t early_count = 0;
    int r = copy_roots(plan, trees, early, &early_count, err);
    if (r == 0)
        r = enter_root(&plan->steps[0], trees, err);
    if (r == 0 && cover != NULL)
        r = layer_cover_begin(cover, err);
    for (size_t i = 1; r == 0 && i < plan->step_count; i++) {
        r = apply_step(&plan->steps[i], prepared_for(i, trees, early, early_count), seen, err);
        if (r == 0 && cover != NULL && plan->steps[i].kind == STEP_BIND)
            r = layer_cover_overlay(cover, i, &seen->readonly, err);
    }
    return r == 0 && cover != NULL ? layer_cover_names(cover, err) : r;
}

int layer_mounts_build(const struct plan *plan, const struct layer_trees *trees, struct layer_cover *cover,
                       uint32_t *proof, struct cordon_error *err)
{
    struct seen seen = {.readonly = true, .nesting = true};
    /* In view mode nothing of the old tree is kept but copies, and those are private. Guard mode
     * mounts onto a copy of the host's tree: nothing may travel back. */
    if (plan->steps[0].kind == STEP_HOST_TREE) {
        long r = sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (r < 0)
            return fail(err, r, "make mounts private", "/");
    }
    int r = apply_steps(plan, trees, cover, &seen, err);
    if (r == 0)
        r = seal(plan, err);
    if (r < 0)
        return r;
    if (!seen.nesting)
        *proof |= PROOF_NO_NESTING;
    if (seen.readonly)
        *proof |= PROOF_READONLY;
    return 0;
}

int layer_mounts_enter(const struct layer_cover *cover, uint32_t *proof, struct cordon_error *err)
{
    long rc = sys_pivot_root(".", ".");
    if (rc == 0)
        rc = sys_call(SYS_chdir, "/");
    if (rc < 0)
        return fail(err, rc, "enter the new root", "/");
    if (!is_readonly("/") || !is_readonly("/proc/sys"))
        *proof &= ~(uint32_t)PROOF_READONLY;
    if (cover != NULL && layer_cover_proven(cover))
        *proof |= PROOF_HIDDEN;
    if (is_own_dev())
        *proof |= PROOF_DEVICES;
    return 0;
}

/* 0: this kernel does not tell. */
static uint64_t mount_at(const char *path)
{
    struct sys_statx st = {0};
    sys_call(SYS_statx, AT_FDCWD, path, 0, SYS_STATX_MNT_ID, &st);
    return st.mnt_id;
}

uint64_t layer_mounts_root(void)
{
    return mount_at("/");
}

bool layer_mounts_alone(uint64_t root)
{
    return root != 0 && mount_at("/..") == root;
}

int layer_mounts_leave(struct cordon_error *err)
{
    long rc = sys_umount(".", MNT_DETACH); /* of the two that are stacked there the upper one */
    return rc < 0 ? fail(err, rc, "leave the old root", "/") : 0;
}
