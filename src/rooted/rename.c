/* rename and move. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/copy.h"
#include "rooted/descriptor.h"
#include "rooted/dirs.h"
#include "rooted/guard.h"
#include "rooted/remove.h"
#include "rooted/temporary.h"
#include "rooted/tree.h"
#include "rooted/write.h"
#include "sys/entry.h"

#define SOURCE_CHANGED (-4300) /* beside what a copy answers: it is not what was copied any more */

struct renaming {
    struct target from, to;
    struct resolve_place from_place, to_place;
};
#define RENAMING_INIT \
    {.from.ref = NULL, .from_place = RESOLVE_PLACE_INIT, .to_place = RESOLVE_PLACE_INIT}

static void renaming_release(struct renaming *r)
{
    resolve_place_release(&r->from_place);
    resolve_place_release(&r->to_place);
    target_release(&r->from);
    target_release(&r->to);
}

static int open_targets(const struct call *c, const char *from, const char *to,
                        const char *syscall, struct renaming *r)
{
    int rc = call_writable(c, to);
    if (rc == 0)
        rc = target_open(c, from, syscall, &r->from);
    if (rc == 0)
        rc = target_open(c, to, "rename", &r->to);
    return rc;
}

static int fail_into_itself(const struct call *c, const struct renaming *r)
{
    char from[PATH_MAX + 64];
    char to[PATH_MAX + 64];
    call_show(c, &r->from, "", from, sizeof from);
    call_show(c, &r->to, "", to, sizeof to);
    return call_fail_code(c, &r->to, "EINVAL", EINVAL, "rename",
                          "Cannot move '%s' to a subdirectory of itself, '%s'.", from, to);
}

static int place_of(const struct call *c, const struct target *t, struct resolve_place *out)
{
    int rc = resolve_place(&t->base, t->mapped.name, false, out);
    if (rc == 0 && target_is_top(t))
        return -EPERM;
    return rc < 0 ? rc : target_check_leaf(c, t, out);
}

/* Not between the check and the write of a patch, which would be put over what comes here. */
static int rename_onto(struct cordon_root *root, const struct renaming *r)
{
    const struct resolve_place *from = &r->from_place;
    const struct resolve_place *to = &r->to_place;
    pthread_mutex_t *held = writer_lock(root, to->name);
    int rc = renameat(from->dir, from->name, to->dir, to->name) < 0 ? -errno : 0;
    writer_unlock(&held);
    return rc;
}

int cordon_root_rename(struct cordon_root *root, const char *from, const char *to,
                       struct cordon_root_error *err)
{
    struct call c = call_begin(root, "rename", err);
    __attribute__((cleanup(renaming_release))) struct renaming r = RENAMING_INIT;
    int rc = open_targets(&c, from, to, "rename", &r);
    if (rc < 0)
        return rc;
    if (!target_same_base(&r.from, &r.to))
        return call_fail_pair(&c, &r.to, &r.from, &r.to, "rename", -EXDEV);
    rc = place_of(&c, &r.from, &r.from_place);
    if (rc < 0)
        return call_fail_pair(&c, &r.from, &r.from, &r.to, "rename", rc);
    rc = place_of(&c, &r.to, &r.to_place);
    RACE_POINT("rename");
    if (rc == 0)
        rc = rename_onto(root, &r);
    if (rc == 0)
        rc = write_sync_names(root, r.to_place.dir);
    return rc < 0 ? call_fail_pair(&c, &r.to, &r.from, &r.to, "rename", rc) : 0;
}

/* Without RENAME_NOREPLACE, which some file systems lack: as atomic, in two steps. */
static int rename_noreplace_by_hand(const struct renaming *r)
{
    const struct resolve_place *from = &r->from_place;
    const struct resolve_place *to = &r->to_place;
    if (S_ISDIR(from->st.st_mode)) {
        /* Only an empty directory can be replaced by one, and this one is ours. */
        if (mkdirat(to->dir, to->name, 0700) < 0)
            return -errno;
        if (renameat(from->dir, from->name, to->dir, to->name) == 0)
            return 0;
        int rc = -errno;
        unlinkat(to->dir, to->name, AT_REMOVEDIR);
        return rc;
    }
    if (linkat(from->dir, from->name, to->dir, to->name, 0) < 0)
        return -errno;
    return unlinkat(from->dir, from->name, 0) < 0 ? -errno : 0;
}

static int rename_noreplace(const struct renaming *r)
{
    if (sys_renameat2(r->from_place.dir, r->from_place.name, r->to_place.dir, r->to_place.name,
                      SYS_RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    return rename_noreplace_by_hand(r);
}

static int remove_any(const struct cordon_root *root, int dir, const char *name)
{
    BUF_AUTO where = BUF_INIT(64u << 20);
    const char *syscall = "";
    struct remove_progress progress = {.call = NULL};
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    const bool no_xdev = (root->flags & CORDON_ROOT_NO_XDEV) != 0;
    return errno == EISDIR ? remove_tree(dir, name, no_xdev, &progress, &where, &syscall) : -errno;
}

/* On a file system that cannot swap: what is there is set aside, and removed when the other is in its place. */
static int replace_by_hand(const struct cordon_root *root, const struct resolve_place *from,
                           const struct resolve_place *to)
{
    char aside[TEMPORARY_NAME_MAX];
    int rc = temporary_pick(root, to->dir, aside);
    if (rc == 0 && renameat(to->dir, to->name, to->dir, aside) < 0)
        rc = -errno;
    if (rc < 0)
        return rc;
    if (renameat(from->dir, from->name, to->dir, to->name) < 0) {
        rc = -errno;
        renameat(to->dir, aside, to->dir, to->name);
        return rc;
    }
    return remove_any(root, to->dir, aside);
}

/* Replaces whatever is at the destination, full directories included. */
static int rename_over(struct cordon_root *root, const struct renaming *r)
{
    const struct resolve_place *from = &r->from_place;
    const struct resolve_place *to = &r->to_place;
    int rc = rename_onto(root, r);
    if (rc != -EISDIR && rc != -ENOTDIR && rc != -ENOTEMPTY && rc != -EEXIST)
        return rc;
    /* Swapped in one step; then what was there is removed under the old name. */
    if (sys_renameat2(from->dir, from->name, to->dir, to->name, SYS_RENAME_EXCHANGE) == 0)
        return remove_any(root, from->dir, from->name);
    return errno != EINVAL && errno != ENOSYS ? -errno : replace_by_hand(root, from, to);
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Does the name still bear what was copied, as it was then? */
static int check_source(const struct resolve_place *from, const struct stat *copied)
{
    struct stat now;
    if (fstatat(from->dir, from->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? SOURCE_CHANGED : -errno;
    return descriptor_same(&now, copied) && now.st_size == copied->st_size &&
                   same_time(now.st_mtim, copied->st_mtim) && same_time(now.st_ctim, copied->st_ctim)
               ? 0
               : SOURCE_CHANGED;
}

/* Not between two writes to it: what came after the copy would be lost. Of a tree only its top is looked at. */
static int remove_source(struct cordon_root *root, const struct resolve_place *from,
                         const struct stat *copied)
{
    RACE_POINT("moved");
    pthread_mutex_t *held = writer_lock(root, from->name);
    int rc = check_source(from, copied);
    if (rc == 0 && unlinkat(from->dir, from->name, 0) < 0)
        rc = -errno;
    writer_unlock(&held);
    return rc == -EISDIR ? remove_any(root, from->dir, from->name) : rc;
}

/*
 * Inside one base, to another mount: copied beside the destination, put in place, then removed. `where`
 * gets what is below the source that could not be copied. Of a source that changed while it was copied nothing is
 * put in place; if it changed after that, both stay, and the caller hears of it.
 */
static int move_across(const struct call *c, struct renaming *r, bool overwrite, struct buf *where)
{
    struct resolve_place beside = r->to_place;
    beside.owned = false;
    beside.exists = false;
    int rc = temporary_pick(c->root, beside.dir, beside.name);
    if (rc < 0)
        return rc;
    struct copy copy = {
        .root = c->root,
        .base = &r->from.base,
        .options = {.size = sizeof copy.options, .recursive = true, .preserve_timestamps = true},
        .moving = true,
        .where = BUF_INIT(64u << 20),
        .source_name = BUF_INIT(PATH_MAX)};
    rc = copy_entry(&copy, &r->from_place, &beside);
    buf_puts(where, copy_failed_at(&copy));
    copy_release(&copy);
    if ((rc == -EEXIST || rc == -ESTALE) && where->len == 0)
        return -ESTALE; /* somebody else took the name: what bears it is not ours to remove */
    if (rc == -EEXIST)
        rc = -ESTALE;
    if (rc == 0)
        rc = check_source(&r->from_place, &copy.source);
    if (rc == 0) {
        struct renaming last = *r;
        last.from_place = beside;
        last.from_place.st = r->from_place.st;
        rc = overwrite ? rename_over(c->root, &last) : rename_noreplace(&last);
    }
    if (rc == 0)
        rc = write_sync_names(c->root, beside.dir); /* before the other one is gone */
    if (rc < 0) {
        remove_any(c->root, beside.dir, beside.name);
        return rc;
    }
    return remove_source(c->root, &r->from_place, &copy.source);
}

/* What is to be replaced must not hold what replaces it: both would be gone. */
static int check_overwrite(const struct renaming *r)
{
    if (!r->to_place.exists || !S_ISDIR(r->to_place.st.st_mode))
        return 0;
    int rc = tree_is_above(&r->to_place.st, r->from_place.dir, r->to.base.fd);
    return rc > 0 ? -ENOTEMPTY : rc;
}

static int fail_move(const struct call *c, const struct renaming *r, bool overwrite, const char *below,
                     int rc)
{
    char from[PATH_MAX + 64];
    if (rc == -EEXIST && !overwrite)
        return call_fail_code(c, &r->to, "EEXIST", EEXIST, "rename", "dest already exists.");
    if (rc == SOURCE_CHANGED)
        return call_fail(c, &r->from, "rename", -ESTALE);
    if (rc == -EINVAL || rc == COPY_SAME)
        return fail_into_itself(c, r);
    if (rc != COPY_UNSUPPORTED) /* what else a copy may meet was put there meanwhile */
        return call_fail_below(c, &r->to, &r->from, &r->to, below, "rename",
                               rc <= COPY_EXISTS ? -ESTALE : rc);
    call_show(c, &r->from, below, from, sizeof from);
    return call_fail_code(c, &r->from, "EINVAL", EINVAL, "rename",
                          "Unsupported file type for a move to another mount: '%s'", from);
}

int cordon_root_move(struct cordon_root *root, const char *from, const char *to, bool overwrite,
                     struct cordon_root_error *err)
{
    struct call c = call_begin(root, "move", err);
    __attribute__((cleanup(renaming_release))) struct renaming r = RENAMING_INIT;
    BUF_AUTO where = BUF_INIT(64u << 20);
    int rc = open_targets(&c, from, to, "lstat", &r);
    if (rc < 0)
        return rc;
    if (!target_same_base(&r.from, &r.to))
        return call_fail_code(&c, &r.from, "EXDEV", EXDEV, "rename",
                              "cross-base move is not supported");
    rc = place_of(&c, &r.from, &r.from_place);
    if (rc == 0 && !r.from_place.exists)
        rc = -ENOENT;
    if (rc < 0)
        return call_fail(&c, &r.from, "lstat", rc);
    if (r.to.mapped.len > r.from.mapped.len && path_under(r.to.mapped.name, r.from.mapped.name))
        return fail_into_itself(&c, &r); /* before its parents are made */
    rc = dirs_make_parents(&r.to);
    if (rc == 0)
        rc = place_of(&c, &r.to, &r.to_place);
    if (rc == 0 && overwrite)
        rc = check_overwrite(&r);
    RACE_POINT("move");
    if (rc == 0)
        rc = overwrite ? rename_over(root, &r) : rename_noreplace(&r);
    if (rc == -EXDEV && !r.from.base.no_xdev)
        rc = move_across(&c, &r, overwrite, &where);
    if (rc == 0)
        rc = write_sync_names(root, r.to_place.dir);
    const char *below = where.len > 0 ? buf_string(&where) : NULL;
    return rc < 0 ? fail_move(&c, &r, overwrite, below != NULL ? below : "", rc) : 0;
}
