/* getListing and readdir. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "rooted/meta.h"
#include "rooted/names.h"
#include "rooted/root.h"
#include "rooted/temporary.h"
#include "rooted/tree.h"
#include "sys/statx.h"

/* A listing is bounded by the directory it shows; the cap only stops the absurd. */
#define LISTING_BYTES_MAX ((size_t)8 << 30)

struct listing {
    struct arena arena;
    struct cordon_root_entry *entries; /* owned */
    size_t count, cap;
};

static void listing_free(struct listing *l)
{
    arena_free(&l->arena);
    free(l->entries);
}

static struct cordon_root_entry *add(struct listing *l)
{
    if (l->count == l->cap) {
        size_t cap = l->cap == 0 ? 64 : l->cap * 2;
        struct cordon_root_entry *e = realloc(l->entries, cap * sizeof *e);
        if (e == NULL)
            return NULL;
        l->entries = e;
        l->cap = cap;
    }
    struct cordon_root_entry *e = &l->entries[l->count++];
    *e = (struct cordon_root_entry){0};
    return e;
}

/* Hands the listing over to the caller. */
static int give(struct listing *l, struct cordon_root_entries *out)
{
    struct arena *kept = malloc(sizeof *kept);
    if (kept == NULL)
        return -ENOMEM;
    *kept = l->arena;
    *out = (struct cordon_root_entries){.entries = l->entries, .count = l->count, .memory = kept};
    *l = (struct listing){0};
    return 0;
}

void cordon_root_entries_free(struct cordon_root_entries *entries)
{
    if (entries->memory != NULL)
        arena_free(entries->memory);
    free(entries->memory);
    free(entries->entries);
    *entries = (struct cordon_root_entries){0};
}

static int open_dir(const struct target *t)
{
    return resolve_open(&t->base, t->mapped.name, O_RDONLY | O_DIRECTORY);
}

/* One entry with its size and time; entries that vanish or refuse are left out. */
static int list_entry(struct listing *l, int dir, const char *name)
{
    struct sys_statx st;
    if (sys_statx(dir, name, AT_SYMLINK_NOFOLLOW,
                  SYS_STATX_TYPE | SYS_STATX_SIZE | SYS_STATX_MTIME, &st) < 0)
        return 0;
    char text[PATH_MAX];
    ssize_t len = 0;
    if (S_ISLNK(st.mode)) {
        len = readlinkat(dir, name, text, sizeof text);
        if (len < 0)
            return 0;
    }
    struct cordon_root_entry *e = add(l);
    if (e == NULL)
        return -ENOMEM;
    e->name = arena_strdup(&l->arena, name);
    e->parent = "";
    e->size = st.size;
    e->mtime_ms = meta_ms(&st.mtime);
    e->type = meta_type(st.mode);
    if (S_ISLNK(st.mode))
        e->link_target = arena_strndup(&l->arena, text, (size_t)len);
    return e->name == NULL || (S_ISLNK(st.mode) && e->link_target == NULL) ? -ENOMEM : 0;
}

int cordon_root_get_listing(struct cordon_root *root, const char *path,
                            struct cordon_root_entries *out, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "getListing", err);
    TARGET_AUTO(t);
    int rc = target_open(&c, path, "opendir", &t);
    if (rc < 0)
        return rc;
    struct listing l = {.arena = ARENA_INIT(LISTING_BYTES_MAX)};
    struct names names = {0};
    FD_AUTO fd = open_dir(&t);
    rc = fd < 0 ? fd : names_read(fd, &names);
    for (size_t i = 0; rc == 0 && i < names.count; i++) {
        const char *name = names_at(&names, i);
        if (temporary_is(name))
            temporary_sweep(root, fd, name);
        else
            rc = list_entry(&l, fd, name);
    }
    names_free(&names);
    if (rc == 0)
        rc = give(&l, out);
    listing_free(&l);
    return rc < 0 ? call_fail(&c, &t, "opendir", rc) : 0;
}

static char type_of(int dir, const char *name, uint8_t type)
{
    switch (type) {
    case DT_REG:
        return 'f';
    case DT_DIR:
        return 'd';
    case DT_LNK:
        return 'l';
    case DT_BLK:
        return 'b';
    case DT_CHR:
        return 'c';
    case DT_SOCK:
        return 's';
    case DT_FIFO:
        return 'p';
    default:
        break;
    }
    struct stat st; /* some file systems do not say */
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? meta_type(st.st_mode) : '?';
}

/*
 * The innermost level's entry; goes into it if it is a directory and what is in it can have a name. `room` is
 * the longest that a path may become: no call could take a longer one, and a tree of n levels would need n * n
 * bytes.
 */
static int walk_entry(struct listing *l, struct tree *t, const char *parent, size_t room)
{
    struct tree_level *level = tree_level(t);
    const size_t i = level->next++;
    const char *name = names_at(&level->names, i);
    if (temporary_is(name))
        return 0;
    struct cordon_root_entry *e = add(l);
    if (e == NULL)
        return -ENOMEM;
    e->type = type_of(level->dir.fd, name, level->names.items[i].type);
    e->name = arena_strdup(&l->arena, tree_path(t, name));
    e->parent = parent;
    if (e->name == NULL)
        return -ENOMEM;
    if (e->type != 'd' || strlen(e->name) + 2 > room)
        return 0;
    int fd = tree_open_dir(level->dir.fd, name);
    /* Gone, replaced by a link, or closed to us: shown, but not entered. */
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES)
        return 0;
    int rc = fd < 0 ? fd : tree_enter(t, fd, -1, name);
    return rc == -EXDEV ? 0 : rc; /* a mount, likewise */
}

static char *parent_path(struct listing *l, const struct call *c, const struct target *t,
                         const struct tree *tree)
{
    const char *sub = tree->path.len > 0 ? tree->path.data : "";
    char *name = arena_printf(&l->arena, "%s%s%.*s", t->mapped.name,
                              target_is_top(t) || tree->path.len == 0 ? "" : "/",
                              (int)tree->path.len, sub);
    if (name == NULL)
        return NULL;
    size_t len = path_display(NULL, 0, &c->root->rules, t->mapped.base, name);
    char *out = arena_alloc(&l->arena, len + 1);
    if (out != NULL)
        path_display(out, len + 1, &c->root->rules, t->mapped.base, name);
    return out;
}

static int by_name(const void *a, const void *b)
{
    const struct cordon_root_entry *x = a;
    const struct cordon_root_entry *y = b;
    return strcmp(x->name, y->name);
}

static int collect(struct listing *l, const struct call *c, const struct target *t, int fd,
                   bool recursive)
{
    TREE_AUTO tree = TREE_INIT;
    const size_t room = recursive && t->mapped.len + 2 < PATH_MAX ? PATH_MAX - 2 - t->mapped.len : 0;
    tree.no_xdev = t->base.no_xdev;
    const char **parents = NULL; /* by depth */
    size_t cap = 0;
    int rc = tree_enter(&tree, fd, -1, "");
    while (rc == 0 && tree.depth > 0) {
        struct tree_level *level = tree_level(&tree);
        if (parents == NULL || tree.depth > cap) {
            const char **more = realloc(parents, (cap + 64) * sizeof *more);
            if (more == NULL) {
                rc = -ENOMEM;
                break;
            }
            parents = more;
            cap += 64;
        }
        if (level->next == 0) {
            parents[tree.depth - 1] = parent_path(l, c, t, &tree);
            if (parents[tree.depth - 1] == NULL) {
                rc = -ENOMEM;
                break;
            }
        }
        if (level->next < level->names.count)
            rc = walk_entry(l, &tree, parents[tree.depth - 1], room);
        else
            rc = tree_leave(&tree);
    }
    free(parents);
    /* By bytes: a directory's name is a prefix of what is in it, so parents come first. */
    if (rc == 0 && l->count > 1)
        qsort(l->entries, l->count, sizeof *l->entries, by_name);
    return rc;
}

int cordon_root_readdir(struct cordon_root *root, const char *path, bool recursive,
                        struct cordon_root_entries *out, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "readdir", err);
    TARGET_AUTO(t);
    int rc = target_open(&c, path, "scandir", &t);
    if (rc < 0)
        return rc;
    int fd = open_dir(&t);
    struct listing l = {.arena = ARENA_INIT(LISTING_BYTES_MAX)};
    rc = fd < 0 ? fd : collect(&l, &c, &t, fd, recursive);
    if (rc == 0)
        rc = give(&l, out);
    listing_free(&l);
    return rc < 0 ? call_fail(&c, &t, "scandir", rc) : 0;
}
