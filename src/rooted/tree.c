#include "rooted/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/descriptor.h"
#include "rooted/guard.h"
#include "rooted/resolve.h"

#define OPEN_LEVELS 12 /* the innermost ones keep their descriptors */
#define PINNED_MAX 16  /* links inside links that a copy may follow */

static void level_free(struct tree_level *l)
{
    fd_close(&l->dir.fd);
    fd_close(&l->out.fd);
    names_free(&l->names);
}

void tree_free(struct tree *t)
{
    while (t->depth > 0)
        level_free(&t->levels[--t->depth]);
    free(t->levels);
    t->levels = NULL;
    t->cap = 0;
    buf_free(&t->path);
}

int tree_open_dir(int parent, const char *name)
{
    RACE_POINT("descend");
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | GUARD(descend_nofollow, O_NOFOLLOW) |
                                      O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

/* Closes what the new innermost level no longer needs close by. */
static int thin_out(struct tree *t)
{
    if (t->depth <= OPEN_LEVELS)
        return 0;
    struct tree_level *l = &t->levels[t->depth - 1 - OPEN_LEVELS];
    if (!l->pinned) {
        fd_close(&l->dir.fd);
        fd_close(&l->out.fd);
        return 0;
    }
    unsigned pinned = 0;
    for (size_t i = 0; i < t->depth; i++)
        pinned += t->levels[i].pinned;
    return pinned > PINNED_MAX ? -ELOOP : 0;
}

static int identify(struct tree_dir *d, int fd, struct stat *st)
{
    d->fd = fd;
    if (fd < 0)
        return 0;
    if (fstat(fd, st) < 0)
        return -errno;
    d->dev = st->st_dev;
    d->ino = st->st_ino;
    return 0;
}

static int fill(struct tree_level *l, int fd, int out)
{
    struct stat ignored;
    l->out.fd = out; /* owned from here on, whatever fails */
    int rc = identify(&l->dir, fd, &l->st);
    if (rc == 0)
        rc = identify(&l->out, out, &ignored);
    if (rc == 0)
        rc = names_read(fd, &l->names);
    if (rc == 0)
        names_sort_by_inode(&l->names);
    return rc;
}

int tree_enter(struct tree *t, int fd, int out, const char *name)
{
    if (t->depth == t->cap) {
        size_t cap = t->cap == 0 ? 16 : t->cap * 2;
        struct tree_level *levels = realloc(t->levels, cap * sizeof *levels);
        if (levels == NULL) {
            fd_close(&fd);
            fd_close(&out);
            return -ENOMEM;
        }
        t->levels = levels;
        t->cap = cap;
    }
    struct tree_level *l = &t->levels[t->depth];
    *l = (struct tree_level){.dir.fd = -1, .out.fd = -1};
    int rc = fill(l, fd, out);
    if (rc == 0 && t->no_xdev && t->depth > 0)
        rc = resolve_same_mount(t->levels[t->depth - 1].dir.fd, fd);
    if (t->depth > 0) {
        if (t->levels[t->depth - 1].path_len > 0)
            buf_append(&t->path, "/", 1);
        buf_puts(&t->path, name);
        if (t->path.failed)
            rc = -ENAMETOOLONG;
    }
    if (rc < 0) {
        level_free(l);
        t->path.len = t->depth > 0 ? t->levels[t->depth - 1].path_len : 0;
        t->path.failed = false;
        return rc;
    }
    l->path_len = t->path.len;
    t->depth++;
    return thin_out(t);
}

struct tree_level *tree_level(struct tree *t)
{
    return t->depth > 0 ? &t->levels[t->depth - 1] : NULL;
}

static int reopen(struct tree_dir *d, int child)
{
    if (d->fd >= 0 || d->ino == 0)
        return 0;
    RACE_POINT("ascend");
    FD_AUTO fd = openat(child, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (GUARD(ascend_check, st.st_dev != d->dev || st.st_ino != d->ino))
        return -ESTALE; /* the child was moved away */
    d->fd = fd_take(&fd);
    return 0;
}

int tree_leave(struct tree *t)
{
    struct tree_level *l = &t->levels[t->depth - 1];
    int rc = 0;
    if (t->depth > 1) {
        struct tree_level *up = l - 1;
        rc = reopen(&up->dir, l->dir.fd);
        if (rc == 0)
            rc = reopen(&up->out, l->out.fd);
        t->path.len = up->path_len;
    } else {
        t->path.len = 0;
    }
    level_free(l);
    t->depth--;
    return rc;
}

const char *tree_name(const struct tree *t)
{
    const struct tree_level *up = &t->levels[t->depth - 2];
    return names_at(&up->names, up->next - 1);
}

const char *tree_path(struct tree *t, const char *name)
{
    const size_t keep = t->path.len;
    if (keep > 0)
        buf_append(&t->path, "/", 1);
    buf_puts(&t->path, name);
    const char *text = buf_string(&t->path);
    t->path.len = keep;
    t->path.failed = false;
    return text != NULL ? text : name;
}

int tree_is_above(const struct stat *st, int dir, int top)
{
    struct stat now, end, above;
    FD_AUTO at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0 || fstat(at, &now) < 0 || fstat(top, &end) < 0)
        return -errno;
    while (!descriptor_same(&now, st)) {
        if (descriptor_same(&now, &end))
            return 0;
        FD_AUTO up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (up < 0 || fstat(up, &above) < 0)
            return -errno;
        if (descriptor_same(&above, &now))
            return 0; /* the top of everything: the destination lies in an unsafe place */
        now = above;
        fd_close(&at);
        at = fd_take(&up);
    }
    return 1;
}
