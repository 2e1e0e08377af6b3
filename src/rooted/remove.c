/* rm, rmdir, unlink. */
#include "rooted/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/guard.h"
#include "rooted/resolve.h"
#include "rooted/sync.h"
#include "rooted/temporary.h"
#include "rooted/tree.h"

#define ROUNDS_MAX 64 /* against somebody who fills a directory while we empty it */

static int step(struct remove_progress *p)
{
    p->entries++;
    return p->call != NULL && p->call(p->user, p->entries, 0) != 0 ? -ECANCELED : 0;
}

static int gone_or(int rc)
{
    return rc == -ENOENT ? 0 : rc; /* somebody else removed it: so it is removed */
}

static int unlink_name(int dir, const char *name, int flags)
{
    return unlinkat(dir, name, flags) < 0 ? -errno : 0;
}

static int open_dir(int dir, const char *name, const struct remove_progress *p)
{
    struct stat st;
    FD_AUTO place = p->open_up ? openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (place >= 0 && fstat(place, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IRWXU) != S_IRWXU)
        (void)resolve_fd_chmod(place, (st.st_mode & 01777) | S_IRWXU);
    return tree_open_dir(dir, name);
}

/* One entry of the innermost directory: removes it, or goes into it. */
static int remove_entry(struct tree *t, const struct remove_progress *progress, const char **syscall)
{
    struct tree_level *l = tree_level(t);
    const size_t i = l->next++;
    const char *name = names_at(&l->names, i);
    const int dir = l->dir.fd;
    *syscall = "unlink";
    if (l->names.items[i].type != DT_DIR) {
        int rc = unlink_name(dir, name, 0);
        if (rc != -EISDIR)
            return gone_or(rc);
    }
    *syscall = "scandir";
    int fd = open_dir(dir, name, progress);
    if (fd == -ENOTDIR || fd == -ELOOP) {
        *syscall = "unlink";
        return gone_or(unlink_name(dir, name, 0)); /* it became something else */
    }
    if (fd == -EACCES) {
        *syscall = "rmdir";
        int rc = unlink_name(dir, name, AT_REMOVEDIR); /* unreadable, but perhaps empty */
        return rc == -ENOTEMPTY ? -EACCES : gone_or(rc);
    }
    return fd < 0 ? gone_or(fd) : tree_enter(t, fd, -1, name);
}

/* The innermost directory has been gone through: removes it, or reads it again. */
static int finish_dir(struct tree *t, const char **syscall)
{
    struct tree_level *l = tree_level(t);
    const unsigned rounds = l->rounds;
    const char *name = tree_name(t);
    *syscall = "rmdir";
    int rc = tree_leave(t);
    if (rc < 0)
        return rc;
    l = tree_level(t);
    rc = gone_or(unlink_name(l->dir.fd, name, AT_REMOVEDIR));
    if (rc != -ENOTEMPTY || rounds >= ROUNDS_MAX)
        return rc == -ENOTDIR ? gone_or(unlink_name(l->dir.fd, name, 0)) : rc;
    int fd = tree_open_dir(l->dir.fd, name);
    if (fd < 0)
        return gone_or(fd);
    rc = tree_enter(t, fd, -1, name);
    if (rc == 0)
        tree_level(t)->rounds = rounds + 1;
    return rc;
}

static int empty_dir(int fd, bool no_xdev, struct remove_progress *progress, struct buf *where,
                     const char **syscall)
{
    TREE_AUTO t = TREE_INIT;
    t.no_xdev = no_xdev;
    *syscall = "scandir";
    int rc = tree_enter(&t, fd, -1, "");
    while (rc == 0 && t.depth > 0) {
        struct tree_level *l = tree_level(&t);
        const size_t depth = t.depth;
        if (l->next < l->names.count)
            rc = remove_entry(&t, progress, syscall);
        else if (t.depth > 1)
            rc = finish_dir(&t, syscall);
        else
            break;
        if (rc == 0 && t.depth <= depth)
            rc = step(progress);
    }
    if (rc < 0 && t.depth > 0) {
        struct tree_level *l = tree_level(&t);
        if (l->next > 0)
            buf_puts(where, tree_path(&t, names_at(&l->names, l->next - 1)));
    }
    return rc;
}

int remove_tree(int dir, const char *name, bool no_xdev, struct remove_progress *progress,
                struct buf *where, const char **syscall)
{
    for (unsigned round = 0;; round++) {
        *syscall = "scandir";
        int fd = open_dir(dir, name, progress);
        if (fd < 0 && fd != -EACCES)
            return fd == -ELOOP ? -ENOTDIR : fd;
        int rc = fd < 0 ? 0 : empty_dir(fd, no_xdev, progress, where, syscall);
        if (rc < 0)
            return rc;
        RACE_POINT("remove top");
        *syscall = "rmdir";
        rc = unlink_name(dir, name, AT_REMOVEDIR);
        if (rc == 0)
            return step(progress);
        if (fd < 0)
            return rc == -ENOTEMPTY ? -EACCES : rc;
        if (rc != -ENOTEMPTY || round >= ROUNDS_MAX)
            return rc;
    }
}

static void tell_deleted(struct cordon_root *root, const struct target *t)
{
    pthread_mutex_lock(&root->lock);
    sync_deleted(root->sync_state, &t->mapped);
    pthread_mutex_unlock(&root->lock);
}

/* Removes the target's tree; the error speaks of the entry that failed. */
static int remove_target(const struct call *c, const struct target *t,
                         const struct resolve_place *place, struct remove_progress *progress)
{
    BUF_AUTO where = BUF_INIT(64u << 20);
    const char *syscall = "rm";
    int rc = remove_tree(place->dir, place->name, t->base.no_xdev, progress, &where, &syscall);
    if (rc == 0)
        return 0;
    BUF_AUTO full = BUF_INIT(64u << 20);
    buf_puts(&full, t->mapped.name);
    if (where.len > 0) {
        buf_puts(&full, "/");
        buf_append(&full, where.data, where.len);
    }
    const char *name = buf_string(&full);
    return call_fail_at(c, t, name != NULL ? name : t->mapped.name, syscall, rc);
}

static int fail_is_directory(const struct call *c, const struct target *t)
{
    char shown[PATH_MAX + 64];
    path_display(shown, sizeof shown, &c->root->rules, t->mapped.base, t->mapped.name);
    /* As Node has it, with a positive number. */
    int rc = call_fail_code(c, t, "ERR_FS_EISDIR", EISDIR, "rm",
                            "Path is a directory: rm returned EISDIR (is a directory) %s", shown);
    if (c->err != NULL)
        c->err->errnum = EISDIR;
    return rc;
}

static int rm_one(const struct call *c, const char *path,
                  const struct cordon_root_rm_options *options, struct remove_progress *progress)
{
    TARGET_AUTO(t);
    int rc = target_open(c, path, "lstat", &t);
    if (rc < 0)
        return rc;
    if (target_is_top(&t))
        return call_fail(c, &t, "rm", -EPERM);
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    rc = resolve_place(&t.base, t.mapped.name, false, &place);
    if (rc == 0 && !place.exists)
        rc = -ENOENT;
    if (rc == 0)
        rc = target_check_leaf(c, &t, &place);
    if (rc == -ENOENT && options->force)
        return 0;
    if (rc < 0)
        return call_fail(c, &t, "lstat", rc);
    if (S_ISDIR(place.st.st_mode)) {
        if (!options->recursive)
            return fail_is_directory(c, &t);
        rc = remove_target(c, &t, &place, progress);
    } else {
        RACE_POINT("rm leaf");
        rc = unlink_name(place.dir, place.name, 0);
        if (rc == 0)
            rc = step(progress);
        if (rc < 0)
            rc = call_fail(c, &t, "rm", rc);
    }
    if (rc == 0)
        tell_deleted(c->root, &t);
    return rc;
}

int cordon_root_rm(struct cordon_root *root, const char *const *paths, size_t count,
                   const struct cordon_root_rm_options *options, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "rm", err);
    const struct cordon_root_rm_options none = {.size = sizeof none};
    const struct cordon_root_rm_options *o = options != NULL ? options : &none;
    struct remove_progress progress = {.call = o->progress, .user = o->user};
    int rc = call_options(&c, options, sizeof *options);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = call_writable(&c, paths[i]);
    if (rc < 0)
        return rc;
    /* All of them are tried; the first that fails is the one that is told. */
    const struct call rest = {.root = root, .method = c.method};
    for (size_t i = 0; i < count && rc != -ECANCELED; i++) {
        int one = rm_one(rc == 0 ? &c : &rest, paths[i], o, &progress);
        rc = rc == 0 || one == -ECANCELED ? one : rc;
    }
    return rc;
}

int cordon_root_rmdir(struct cordon_root *root, const char *path, bool recursive,
                      struct cordon_root_error *err)
{
    struct call c = call_begin(root, "rmdir", err);
    TARGET_AUTO(t);
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = call_writable(&c, path);
    if (rc == 0)
        rc = target_leaf(&c, path, "rmdir", &t, &place);
    if (rc < 0)
        return rc;
    if (target_is_top(&t))
        return call_fail(&c, &t, "rmdir", -EPERM);
    if (recursive && place.exists && S_ISDIR(place.st.st_mode)) {
        struct remove_progress progress = {.call = NULL};
        return remove_target(&c, &t, &place, &progress);
    }
    RACE_POINT("rmdir leaf");
    rc = unlink_name(place.dir, place.name, AT_REMOVEDIR);
    if (rc == -ENOTEMPTY && temporary_sweep_all(root, place.dir, place.name))
        rc = unlink_name(place.dir, place.name, AT_REMOVEDIR);
    return rc < 0 ? call_fail(&c, &t, "rmdir", rc) : 0;
}

int cordon_root_unlink(struct cordon_root *root, const char *path, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "unlink", err);
    TARGET_AUTO(t);
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = call_writable(&c, path);
    if (rc == 0)
        rc = target_leaf(&c, path, "unlink", &t, &place);
    if (rc < 0)
        return rc;
    RACE_POINT("unlink leaf");
    rc = target_is_top(&t) ? -EISDIR : unlink_name(place.dir, place.name, 0);
    if (rc < 0)
        return call_fail(&c, &t, "unlink", rc);
    tell_deleted(root, &t);
    return 0;
}
