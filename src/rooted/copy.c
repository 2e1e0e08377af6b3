#include "rooted/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/guard.h"
#include "rooted/names.h"
#include "rooted/temporary.h"
#include "rooted/tree.h"
#include "rooted/write.h"

void copy_release(struct copy *c)
{
    copier_free(&c->copier);
    buf_free(&c->where);
    buf_free(&c->source_name);
}

const char *copy_failed_at(struct copy *c)
{
    const char *below = c->where.len > 0 ? buf_string(&c->where) : NULL;
    return below != NULL ? below : "";
}

static int step(struct copy *c, uint64_t bytes)
{
    c->entries++;
    c->bytes += bytes;
    if (c->options.progress == NULL)
        return 0;
    return c->options.progress(c->options.user, c->entries, c->bytes) != 0 ? -ECANCELED : 0;
}

/* Who may do what with it, by best effort: not every file system knows all of it. No set-id bits. */
static void give_rights(const struct copy *c, int from, const struct stat *st, int to, mode_t bits)
{
    struct stat now;
    if (c->moving)
        (void)descriptor_copy_metadata(from, st, to);
    if (fstat(to, &now) == 0 && (now.st_mode & 07777) != (st->st_mode & bits))
        (void)!fchmod(to, st->st_mode & bits);
}

static int give_times(const struct copy *c, const struct stat *st, int to)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    return c->options.preserve_timestamps && futimens(to, times) < 0 ? -errno : 0;
}

/* After its content. */
static int finish_file(struct copy *c, int64_t bytes, int from, const struct stat *st, int to)
{
    if (bytes < 0)
        return (int)bytes;
    give_rights(c, from, st, to, 0777);
    int rc = give_times(c, st, to);
    return rc < 0 ? rc : step(c, (uint64_t)bytes);
}

static int fill_file(struct copy *c, int from, const struct stat *st, int to)
{
    return finish_file(c, copier_copy(&c->copier, from, st, to), from, st, to);
}

int copy_file_into(struct copy *c, int from, const struct stat *st, int to)
{
    pthread_mutex_lock(&c->root->in_place);
    const int64_t bytes = copier_copy_over(&c->copier, from, st, to);
    pthread_mutex_unlock(&c->root->in_place);
    int rc = finish_file(c, bytes, from, st, to);
    return rc < 0 ? rc : write_sync(c->root, to);
}

/* Where no mount may be entered, in what is copied as in what it is copied to. */
static int check_mount(const struct copy *c, int dir, int fd)
{
    return c->base->no_xdev ? resolve_same_mount(dir, fd) : 0;
}

/* Against a patch of the file that is replaced: it must not be accepted and then put over the copy. */
static pthread_mutex_t *lock_name(const struct copy *c, const char *name)
{
    return c->locked ? NULL : writer_lock(c->root, name);
}

/* The copy takes the place of the file, and stays its owner's: a service may run as root. */
static int replace_file(struct copy *c, int from, const struct stat *st, const struct stat *old,
                        int dir, const char *name)
{
    char temporary[TEMPORARY_NAME_MAX];
    FD_AUTO fd = temporary_create(c->root, dir, 0600, temporary);
    if (fd < 0)
        return fd;
    struct stat now;
    int rc = fstat(fd, &now) < 0 ? -errno : 0;
    if (rc == 0 && S_ISREG(old->st_mode)) {
        if (now.st_uid != old->st_uid || now.st_gid != old->st_gid)
            rc = fchown(fd, old->st_uid, old->st_gid) < 0 ? -errno : 0;
        if (rc == 0) /* before the mode is there: its group's bits are the mask of an ACL */
            rc = descriptor_drop_acl(fd);
    }
    if (rc == 0)
        rc = fill_file(c, from, st, fd);
    if (rc < 0) {
        unlinkat(dir, temporary, 0);
        return rc;
    }
    pthread_mutex_t *held = lock_name(c, name);
    rc = write_commit(c->root, dir, &fd, temporary, name);
    writer_unlock(&held);
    return rc;
}

static int write_over(struct copy *c, int from, const struct stat *st, int dir, const char *name)
{
    struct stat now;
    FD_AUTO fd = write_open_name(dir, name, O_WRONLY);
    int rc = fd < 0 ? fd : descriptor_regular(fd, &now);
    if (rc == 0)
        rc = check_mount(c, dir, fd);
    if (rc < 0)
        return rc;
    if (descriptor_same(&now, st))
        return COPY_SAME;
    pthread_mutex_t *held = lock_name(c, name);
    rc = copy_file_into(c, from, st, fd);
    writer_unlock(&held);
    return rc;
}

/* A new file. If it does not become complete it goes again, unless another one bears its name by now. */
static int fill_new(struct copy *c, int from, const struct stat *st, int dir, const char *name, int *fd)
{
    struct stat made = {0}, named;
    int rc = fstat(*fd, &made) < 0 ? -errno : fill_file(c, from, st, *fd);
    if (rc == 0)
        rc = write_sync(c->root, *fd);
    if (rc == 0)
        rc = write_close(fd);
    if (rc < 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && descriptor_same(&made, &named))
        unlinkat(dir, name, 0);
    return rc;
}

int copy_file_to(struct copy *c, int from, const struct stat *st, int dir, const char *name)
{
    /* A new name is filled in place: there is no old content that a reader could miss. */
    RACE_POINT("copy target");
    FD_AUTO fd = openat(dir, name,
                        O_WRONLY | O_CREAT | GUARD(copy_target, O_EXCL) | O_CLOEXEC,
                        st->st_mode & (c->moving ? 0700 : 0777));
    if (fd >= 0)
        return fill_new(c, from, st, dir, name, &fd);
    if (errno != EEXIST || c->moving)
        return -errno;
    struct stat old;
    if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (descriptor_same(&old, st))
        return COPY_SAME;
    if (S_ISDIR(old.st_mode))
        return COPY_ONTO_DIR;
    if (c->options.keep_existing)
        return c->options.error_on_exist ? COPY_EXISTS : 0;
    int rc = replace_file(c, from, st, &old, dir, name);
    return write_denied(rc) && S_ISREG(old.st_mode) ? write_over(c, from, st, dir, name) : rc;
}

static int copy_link(struct copy *c, int from_dir, const char *from, int dir, const char *name)
{
    char text[PATH_MAX];
    ssize_t len = readlinkat(from_dir, from, text, sizeof text - 1);
    if (len < 0)
        return -errno;
    text[len] = '\0';
    if (symlinkat(text, dir, name) == 0)
        return step(c, 0);
    if (errno != EEXIST || c->moving)
        return -errno;
    struct stat old;
    struct stat st;
    if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) < 0 ||
        fstatat(from_dir, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (descriptor_same(&old, &st))
        return COPY_SAME;
    if (S_ISDIR(old.st_mode))
        return COPY_ONTO_DIR;
    if (c->options.keep_existing)
        return c->options.error_on_exist ? COPY_EXISTS : 0;
    /* Made beside, then put in place: nobody sees the name missing. */
    char temporary[TEMPORARY_NAME_MAX];
    int rc = temporary_pick(c->root, dir, temporary);
    if (rc < 0)
        return rc;
    pthread_mutex_t *held = lock_name(c, name);
    rc = symlinkat(text, dir, temporary) < 0 || renameat(dir, temporary, dir, name) < 0 ? -errno : 0;
    writer_unlock(&held);
    if (rc < 0)
        unlinkat(dir, temporary, 0);
    return rc < 0 ? rc : step(c, 0);
}

static int check_empty(int fd)
{
    struct names names;
    int rc = names_read(fd, &names);
    if (rc == 0 && names.count > 0)
        rc = -ESTALE;
    names_free(&names);
    return rc;
}

/*
 * Is this the directory that we made? Somebody may have renamed another one into its place, which must not get other
 * rights. An own empty one that nobody else may open is as good. Set-group-ID comes from the directory around it; an
 * ACL that is inherited gives nobody more than the mode asked for. Two copies to one new name: one of them may fail.
 */
static int check_made(const struct copy *c, int dir, int fd)
{
    const mode_t not_asked = 07077 & ~(mode_t)S_ISGID;
    char temporary[TEMPORARY_NAME_MAX];
    struct stat st, ours;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid == geteuid() && (st.st_mode & not_asked) == 0)
        return check_empty(fd);
    /* Some file systems have owners and modes of their own: those of a file that is ours for certain. */
    FD_AUTO file = temporary_create(c->root, dir, 0600, temporary);
    if (file < 0)
        return -ESTALE; /* not known to be ours */
    const int rc = fstat(file, &ours) < 0 ? -errno : 0;
    unlinkat(dir, temporary, 0);
    if (rc < 0)
        return rc;
    const bool keeps_modes = (ours.st_mode & not_asked) == 0;
    if (st.st_uid != ours.st_uid || (keeps_modes && (st.st_mode & not_asked) != 0))
        return -ESTALE;
    return check_empty(fd);
}

/* Makes the directory, or takes the one that is there; a descriptor for reading. */
static int make_dir(const struct copy *c, int dir, const char *name, bool *made)
{
    RACE_POINT("make dir");
    /* Ours alone until it is complete. */
    *made = mkdirat(dir, name, 0700) == 0;
    if (!*made && (errno != EEXIST || c->moving))
        return -errno;
    RACE_POINT("copy dir");
    FD_AUTO fd = openat(dir, name, O_RDONLY | O_DIRECTORY | GUARD(copy_dir, O_NOFOLLOW) | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? COPY_ONTO_OTHER : -errno;
    int rc = *made ? check_made(c, dir, fd) : check_mount(c, dir, fd);
    return rc < 0 ? rc : fd_take(&fd);
}

static int finish_dir(struct copy *c, const struct tree_level *l)
{
    if (l->made)
        give_rights(c, l->dir.fd, &l->st, l->out.fd, 01777); /* what all may write to may be sticky */
    int rc = give_times(c, &l->st, l->out.fd);
    if (rc == 0)
        rc = write_sync_names(c->root, l->out.fd);
    return rc < 0 ? rc : step(c, 0);
}

/* Goes into an open source directory; takes `fd`. */
static int enter(const struct copy *c, struct tree *t, int fd, int dir, const char *name,
                 const char *from_name)
{
    bool made = false;
    int out = make_dir(c, dir, name, &made);
    if (out < 0) {
        fd_close(&fd);
        return out;
    }
    int rc = tree_enter(t, fd, out, from_name);
    if (rc == 0)
        tree_level(t)->made = made;
    return rc;
}

/* Is this directory one of those we are in, or the top of the copy, which would feed on itself? */
static bool is_ancestor(const struct tree *t, const struct stat *st)
{
    for (size_t i = 0; i < t->depth; i++) {
        const struct tree_level *l = &t->levels[i];
        if (l->dir.dev == st->st_dev && l->dir.ino == st->st_ino)
            return true;
    }
    return t->depth > 0 && t->levels[0].out.dev == st->st_dev &&
           t->levels[0].out.ino == st->st_ino;
}

/* What a link in the tree leads to, opened for reading, beneath the base of the source. */
static int open_followed(struct copy *c, struct tree *t, const char *name)
{
    BUF_AUTO full = BUF_INIT(64u << 20);
    buf_append(&full, c->source_name.data, c->source_name.len);
    if (full.len > 0)
        buf_puts(&full, "/");
    buf_puts(&full, tree_path(t, name));
    const char *path = buf_string(&full);
    return path == NULL ? -ENOMEM
                        : resolve_open(c->base, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static int open_source(int dir, const char *name)
{
    RACE_POINT("copy source");
    int fd = openat(dir, name, O_RDONLY | GUARD(copy_source, O_NOFOLLOW) | O_NONBLOCK | O_NOCTTY |
                                   O_CLOEXEC);
    return fd >= 0 ? fd : errno == ENXIO ? COPY_UNSUPPORTED : -errno;
}

static int tree_entry(struct copy *c, struct tree *t)
{
    struct tree_level *l = tree_level(t);
    const size_t i = l->next++;
    const char *name = names_at(&l->names, i);
    const uint8_t type = l->names.items[i].type;
    const int out = l->out.fd;
    struct stat st;
    if (temporary_is(name))
        return 0; /* a write in progress, not content */
    if (type == DT_FIFO || type == DT_SOCK || type == DT_CHR || type == DT_BLK)
        return COPY_UNSUPPORTED;

    bool linked = type == DT_LNK;
    FD_AUTO fd = linked ? -ELOOP : open_source(l->dir.fd, name);
    if (fd == -ELOOP) {
        if (!c->options.dereference)
            return copy_link(c, l->dir.fd, name, out, name);
        linked = true;
        fd = open_followed(c, t, name);
    }
    if (fd < 0)
        return fd == -ENXIO ? COPY_UNSUPPORTED : fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    int rc = check_mount(c, l->dir.fd, fd);
    if (rc < 0)
        return rc;
    if (S_ISREG(st.st_mode))
        return copy_file_to(c, fd, &st, out, name);
    if (!S_ISDIR(st.st_mode))
        return COPY_UNSUPPORTED;
    if (is_ancestor(t, &st))
        return linked ? -ELOOP : COPY_SAME;
    l->pinned = linked;
    rc = enter(c, t, fd_take(&fd), out, name, name);
    if (rc < 0 && t->depth > 0)
        tree_level(t)->pinned = false;
    return rc;
}

static int copy_tree(struct copy *c, int fd, const struct resolve_place *to)
{
    TREE_AUTO t = TREE_INIT;
    int rc = enter(c, &t, fd, to->dir, to->name, "");
    while (rc == 0 && t.depth > 0) {
        struct tree_level *l = tree_level(&t);
        if (l->next < l->names.count) {
            rc = tree_entry(c, &t);
            continue;
        }
        rc = finish_dir(c, l);
        if (rc == 0)
            rc = tree_leave(&t);
        if (rc == 0 && t.depth > 0)
            tree_level(&t)->pinned = false;
    }
    struct tree_level *l = tree_level(&t);
    if (rc < 0 && l != NULL && l->next > 0)
        buf_puts(&c->where, tree_path(&t, names_at(&l->names, l->next - 1)));
    return rc;
}

static int copy_any(struct copy *c, const struct resolve_place *from, const struct resolve_place *to)
{
    c->source = from->st;
    if (from->name[0] != '\0' && S_ISLNK(from->st.st_mode))
        return copy_link(c, from->dir, from->name, to->dir, to->name);
    if (from->name[0] != '\0' && !S_ISREG(from->st.st_mode) && !S_ISDIR(from->st.st_mode))
        return COPY_UNSUPPORTED;
    FD_AUTO fd = open_source(from->dir, from->name[0] != '\0' ? from->name : ".");
    struct stat st;
    if (fd < 0)
        return fd == -ELOOP ? -ESTALE : fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    c->source = st;
    if (S_ISREG(st.st_mode))
        return to->name[0] == '\0' ? COPY_ONTO_DIR
                                   : copy_file_to(c, fd, &st, to->dir, to->name);
    if (!S_ISDIR(st.st_mode))
        return COPY_UNSUPPORTED;
    if (!c->options.recursive)
        return COPY_IS_DIR;
    int rc = tree_is_above(&st, to->dir, c->base->fd);
    if (rc != 0)
        return rc < 0 ? rc : COPY_SAME;
    if (to->exists && descriptor_same(&to->st, &st))
        return COPY_SAME;
    struct resolve_place target = *to;
    target.owned = false;
    if (target.name[0] == '\0')
        memcpy(target.name, ".", 2);
    return copy_tree(c, fd_take(&fd), &target);
}

int copy_entry(struct copy *c, const struct resolve_place *from, const struct resolve_place *to)
{
    int rc = copy_any(c, from, to);
    return rc < 0 ? rc : write_sync_names(c->root, to->dir);
}
