#include "layer/trees.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "layer/bind.h"
#include "layer/mount_table.h"
#include "sys/files.h"
#include "sys/mounting.h"
#include "sys/process.h"

static int fail(struct cordon_error *err, int errnum, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, errnum, what, subject);
}

static int write_map(int pid, const char *name, unsigned disk_id, unsigned host_id)
{
    char path[64];
    char text[32];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int n = snprintf(text, sizeof text, "%u %u 1\n", disk_id, host_id);
    FD_AUTO fd = sys_open(AT_FDCWD, path, O_WRONLY, 0);
    return fd < 0 ? fd : fd_write_all(fd, text, (size_t)n);
}

/*
 * A user namespace that says "root on disk, or whoever owns the directory that was given, is the
 * user of this run": a mount takes its map from one. A child holds it just long enough to open it.
 */
static int make_userns(const struct plan *plan, struct cordon_error *err)
{
    int pidfd = -1;
    const long parent = sys_call(SYS_getpid);
    long pid = sys_fork(CLONE_NEWUSER, &pidfd);
    if (pid == 0) {
        sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
        if (sys_call(SYS_getppid) != parent) /* it died before the signal was armed */
            sys_exit(1);
        for (;;)
            sys_call(SYS_ppoll, 0, 0, 0, 0, 0);
    }
    if (pid < 0)
        return fail(err, (int)-pid, "make a user namespace for the mounts", "clone3");
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/ns/user", pid);
    int r = write_map((int)pid, "uid_map", plan->work.uid, plan->uid_host);
    if (r == 0)
        r = write_map((int)pid, "gid_map", plan->work.gid, plan->gid_host);
    int userns = r < 0 ? r : sys_open(AT_FDCWD, path, O_RDONLY, 0);
    siginfo_t info;
    sys_kill_child(pidfd, (int)pid);
    while (sys_waitid(P_PIDFD, pidfd, &info, WEXITED | __WALL, NULL) == -EINTR) {
    }
    fd_close(&pidfd);
    return userns < 0 ? fail(err, -userns, "map the owners of the mounts", path) : userns;
}

static void note_unmapped(struct layer_trees *self, const char *path)
{
    if (self->unmapped[0] == '\0')
        snprintf(self->unmapped, sizeof self->unmapped, "%.150s", path);
}

/* Not an error, so far; guard mode promises more than view mode does. */
static void accept_unmapped(struct layer_trees *self, const struct plan *plan, const char *path,
                            struct cordon_error *err)
{
    note_unmapped(self, path);
    self->partial = self->partial || plan->fs_mode == FS_GUARD;
    if (err != NULL)
        *err = (struct cordon_error){0};
}

static int map_binds(struct layer_trees *self, const struct plan *plan, int userns, struct cordon_error *err)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        struct stat st;
        bool skip = false;
        if (step->kind != STEP_BIND || (step->flags & STEP_LISTED) == 0)
            continue;
        const int opened = bind_open(step, &skip, &st, err);
        if (opened < 0)
            return opened;
        if (skip)
            continue;
        FD_AUTO source = opened;
        int tree = bind_clone(source, step, userns, err);
        if (tree == -EINVAL || tree == -EOPNOTSUPP) { /* this file system has no such maps: as it is */
            accept_unmapped(self, plan, step->source, err);
        } else if (tree < 0) {
            return tree;
        } else {
            self->of_step[i] = tree;
        }
    }
    return 0;
}

/* One mount of the host's: mapped if its file system can be, as it is if not. */
static int copy_mount(struct layer_trees *self, const char *path, int userns, const char *cwd)
{
    const uint64_t flags = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV;
    struct sys_mount_attr attr = {.set = flags | ATTR_IDMAP, .propagation = MS_PRIVATE, .userns_fd = (uint64_t)userns};
    FD_AUTO tree = sys_open_tree(AT_FDCWD, path, TREE_CLONE);
    if (tree < 0)
        return tree;
    long r = sys_mount_setattr(tree, "", TREE_EMPTY_PATH, &attr);
    if (r < 0) {
        /* What is in those is root's, or masked: nothing is lost. */
        if (!policy_path_beneath(path, "/sys") && !policy_path_beneath(path, "/run"))
            note_unmapped(self, path);
        if (strcmp(path, "/") == 0 || (cwd != NULL && policy_path_beneath(cwd, path)))
            self->partial = true;
        attr = (struct sys_mount_attr){.set = flags, .propagation = MS_PRIVATE};
        r = sys_mount_setattr(tree, "", TREE_EMPTY_PATH, &attr);
    }
    return r < 0 ? (int)r : fd_take(&tree);
}

static int by_length(const void *a, const void *b)
{
    const struct layer_tree *x = a;
    const struct layer_tree *y = b;
    size_t n = strlen(x->target);
    size_t m = strlen(y->target);
    return n != m ? (n > m) - (n < m) : strcmp(x->target, y->target);
}

/* The mount points of the host's that guard mode shows, each once, outer before inner. */
static int read_mount_points(struct layer_trees *self, struct arena *arena, struct cordon_error *err)
{
    const struct host_mount *mounts = NULL;
    size_t lines = 0;
    int r = layer_mount_table(arena, &mounts, &lines, err);
    if (r < 0)
        return r;
    self->host = arena_array(arena, lines + 1, sizeof *self->host);
    if (self->host == NULL)
        return fail(err, ENOMEM, "list the mounts", "");

    size_t count = 0;
    for (size_t i = 0; i < lines; i++) {
        const char *path = mounts[i].point;
        if (!policy_path_beneath(path, "/proc") && !policy_path_beneath(path, "/dev")) /* the sandbox has its own */
            self->host[count++] = (struct layer_tree){.fd = -1, .target = path};
    }
    qsort(self->host, count, sizeof *self->host, by_length);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(self->host[i].target, self->host[i - 1].target) != 0)
            self->host[self->host_count++] = self->host[i];
    }
    return self->host_count > 0 && strcmp(self->host[0].target, "/") == 0
               ? 0
               : fail(err, ENOENT, "find the root among the mounts", "/");
}

/* Guard mode has no listed root: every mount of the host's, read-only. */
static int map_host(struct layer_trees *self, struct arena *arena, const struct plan *plan, int userns,
                    struct cordon_error *err)
{
    int r = read_mount_points(self, arena, err);
    size_t kept = 0;
    for (size_t i = 0; r == 0 && i < self->host_count; i++) {
        const char *path = self->host[i].target;
        int tree = copy_mount(self, path, userns, plan->cwd);
        if (tree == -ENOENT || tree == -EACCES || tree == -ENOTDIR)
            continue; /* a later mount covers it */
        if (tree < 0) /* EINVAL: a user namespace around this one holds the mounts together, and refuses it by that */
            r = fail(err, tree == -EINVAL ? EPERM : -tree, "copy the mount (open_tree)", path);
        else
            self->host[kept++] = (struct layer_tree){.fd = tree, .target = path + 1};
    }
    self->host_count = kept;
    return r;
}

/* For the listener, which has the payload's rights: it must see the owners that the payload sees. */
static int map_project(struct layer_trees *self, const struct plan *plan, int userns, struct cordon_error *err)
{
    const struct plan_step step = {.kind = STEP_BIND, .flags = STEP_LISTED, .source = plan->guard.root};
    struct stat st;
    bool skip = false;
    if (!plan->listen || step.source == NULL)
        return 0;
    FD_AUTO source = bind_open(&step, &skip, &st, err);
    if (source < 0)
        return source;
    self->project = bind_clone(source, &step, userns, err);
    if (self->project == -EINVAL || self->project == -EOPNOTSUPP) {
        accept_unmapped(self, plan, step.source, err);
        self->project = -1;
        return 0;
    }
    return self->project < 0 ? self->project : 0;
}

int layer_trees_prepare(struct layer_trees *self, struct arena *arena, const struct plan *plan,
                        struct cordon_error *err)
{
    *self = LAYER_TREES_INIT;
    if (!plan->switch_user || !plan->own_tree)
        return 0;
    self->of_step = arena_array(arena, plan->step_count, sizeof *self->of_step);
    if (self->of_step == NULL)
        return fail(err, ENOMEM, "prepare mounts", "");
    self->step_count = plan->step_count;
    for (size_t i = 0; i < plan->step_count; i++)
        self->of_step[i] = -1;

    FD_AUTO userns = make_userns(plan, err);
    if (userns < 0)
        return userns;
    int r = plan->fs_mode == FS_GUARD ? map_host(self, arena, plan, userns, err) : 0;
    if (r == 0)
        r = map_binds(self, plan, userns, err);
    if (r == 0)
        r = map_project(self, plan, userns, err);
    if (r < 0)
        layer_trees_release(self);
    return r;
}

void layer_trees_release(struct layer_trees *self)
{
    for (size_t i = 0; i < self->step_count; i++)
        fd_close(&self->of_step[i]);
    for (size_t i = 0; i < self->host_count; i++)
        fd_close(&self->host[i].fd);
    fd_close(&self->project);
    self->of_step = NULL;
    self->host = NULL;
    self->step_count = self->host_count = 0;
}
