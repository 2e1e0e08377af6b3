#include "layer/hide.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "layer/bind.h"
#include "sys/entry.h"
#include "sys/files.h"

#define LIST_SIZE (64 * 1024)
#define ANSWER_MAX 4096 /* patterns: as many as a policy may have */

struct walk {
    struct layer_hide *self;
    struct arena *arena;
    struct hide_tree *tree;
    int root;             /* owned by walk_tree() */
    char *list;           /* LIST_SIZE bytes */
    struct hide_at *next; /* room for what is alive one level down */
    struct cordon_error *err;
};

enum { TYPE_MISSING = 255 }; /* beside DT_* */

static int fail(const struct walk *w, long r, const char *what, const char *subject)
{
    return err_set(w->err, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, (int)-r, what, subject);
}

static int no_memory(const struct walk *w)
{
    return fail(w, -ENOMEM, "look for names to hide", w->tree->target);
}

/* An array of the arena's with room for one more. */
static void *grown(struct arena *arena, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    const size_t more = *room * 2 + 16;
    void *bigger = arena_array(arena, more, size);
    if (bigger != NULL && count > 0)
        memcpy(bigger, items, count * size);
    *room = more;
    return bigger;
}

static const char *join(struct arena *arena, const char *dir, const char *name)
{
    const size_t a = strlen(dir);
    const size_t b = strlen(name);
    char *path = arena_alloc(arena, a + b + 2);
    if (path == NULL)
        return NULL;
    memcpy(path, dir, a);
    path[a] = '/';
    memcpy(path + a + (a > 0), name, b + 1);
    return path;
}

static int add_name(struct walk *w, size_t dir, const char *path, bool present)
{
    struct hide_tree *t = w->tree;
    t->names = grown(w->arena, t->names, t->name_count, &t->name_room, sizeof *t->names);
    if (t->names == NULL || path == NULL)
        return no_memory(w);
    t->names[t->name_count++] = (struct hide_name){path, present};
    for (; !t->dirs[dir].needed; dir = t->dirs[dir].above)
        t->dirs[dir].needed = true;
    return 0;
}

static int add_dir(struct walk *w, size_t above, const char *path, const struct hide_at *at, size_t at_count)
{
    struct hide_tree *t = w->tree;
    t->dirs = grown(w->arena, t->dirs, t->dir_count, &t->dir_room, sizeof *t->dirs);
    if (t->dirs == NULL || path == NULL)
        return no_memory(w);
    t->dirs[t->dir_count++] = (struct hide_dir){.path = path, .above = above, .at = at, .at_count = at_count};
    return 0;
}

/* The patterns alive beneath a directory; most often the same ones as in it. */
static const struct hide_at *keep_next(struct walk *w, const struct hide_dir *dir, size_t count)
{
    const size_t size = count * sizeof *w->next;
    if (count == dir->at_count && memcmp(w->next, dir->at, size) == 0)
        return dir->at;
    struct hide_at *at = arena_array(w->arena, count, sizeof *at);
    if (at != NULL)
        memcpy(at, w->next, size);
    return at;
}

static uint8_t type_of(int fd, const char *name)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return TYPE_MISSING;
    return (uint8_t)IFTODT(st.st_mode);
}

static void count_links(struct walk *w, int fd, const char *name)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) && st.st_nlink > 1)
        w->self->linked++;
}

/* One name in a directory: hidden, gone on from, or of no interest. */
static int look_at(struct walk *w, size_t index, int fd, const char *name, uint8_t type, bool listed)
{
    const struct hide_dir dir = w->tree->dirs[index];
    bool hidden = false;
    size_t alive = 0;
    for (size_t i = 0; i < dir.at_count; i++) {
        struct hide_at at = dir.at[i];
        hidden |= glob_step(at.glob, &at.states, name);
        if (at.states != 0)
            w->next[alive++] = at;
    }
    if (hidden && type != TYPE_MISSING)
        count_links(w, fd, name);
    if (hidden)
        return add_name(w, index, join(w->arena, dir.path, name), type != TYPE_MISSING);
    if (alive == 0)
        return 0;
    if (type == DT_UNKNOWN)
        type = type_of(fd, name);
    if (type == DT_DIR) {
        const struct hide_at *at = keep_next(w, &dir, alive);
        return at == NULL ? no_memory(w) : add_dir(w, index, join(w->arena, dir.path, name), at, alive);
    }
    if (listed)
        return 0;
    if (type == DT_LNK)
        return bind_refuse(w->err, -ELOOP, "hide", w->next[0].glob->pattern, "a symbolic link is on the way",
                           "name the place that the link leads to");
    /* A directory that may come with the hidden name in it: whatever comes by this name is hidden. */
    return type == TYPE_MISSING ? add_name(w, index, join(w->arena, dir.path, name), false) : 0;
}

static int look_at_list(struct walk *w, size_t index, int fd)
{
    for (;;) {
        long n = sys_getdents(fd, w->list, LIST_SIZE);
        if (n <= 0)
            return n == 0 || n == -ENOENT ? 0 : fail(w, n, "list", w->tree->dirs[index].path);
        for (long at = 0; at < n;) {
            const struct sys_dirent *e = sys_next_entry(w->list, &at);
            if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
                continue;
            int r = look_at(w, index, fd, e->name, e->type, true);
            if (r < 0)
                return r;
        }
    }
}

/* Patterns often share the beginning of a path. */
static bool named_before(const struct hide_dir *dir, size_t end, const char *name)
{
    for (size_t i = 0; i < end; i++) {
        for (glob_states left = dir->at[i].states; left != 0; left &= left - 1) {
            const struct glob_part *part = &dir->at[i].glob->parts[__builtin_ctzll(left)];
            if (part->kind == GLOB_NAME && strcmp(part->text, name) == 0)
                return true;
        }
    }
    return false;
}

/* The plain names that the patterns have here; `last`: only those at the end of a pattern. */
static int look_at_plain(struct walk *w, size_t index, int fd, bool last)
{
    const struct hide_dir dir = w->tree->dirs[index];
    int r = 0;
    for (size_t i = 0; r == 0 && i < dir.at_count; i++) {
        const struct glob *g = dir.at[i].glob;
        for (glob_states left = dir.at[i].states; r == 0 && left != 0; left &= left - 1) {
            const unsigned k = (unsigned)__builtin_ctzll(left);
            const char *name = g->parts[k].text;
            if (g->parts[k].kind == GLOB_NAME && (last ? k + 1 == g->count : !named_before(&dir, i, name)))
                r = look_at(w, index, fd, name, last ? TYPE_MISSING : type_of(fd, name), false);
        }
    }
    return r;
}

static bool must_list(const struct hide_dir *dir)
{
    for (size_t i = 0; i < dir->at_count; i++) {
        if (glob_must_list(dir->at[i].glob, dir->at[i].states))
            return true;
    }
    return false;
}

/* A mount on the way is another tree; its names are not in this file system. */
static int open_dir(const struct walk *w, const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
                                            (w->tree->overlay ? (unsigned)RESOLVE_NO_XDEV : 0)};
    return sys_openat2(w->root, path[0] == '\0' ? "." : path, &how);
}

static int look_into(struct walk *w, size_t index)
{
    struct hide_dir *dir = &w->tree->dirs[index];
    struct stat st;
    FD_AUTO fd = open_dir(w, dir->path);
    if (fd == -EACCES && index > 0) /* nobody can say what is in there */
        return add_name(w, dir->above, dir->path, true);
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -EXDEV || fd == -ELOOP)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(w, fd < 0 ? fd : -errno, "look for names to hide in", dir->path);
    dir->mode = st.st_mode & 07777;
    dir->changed = st.st_mtim;
    const bool list = must_list(dir);
    if (dir->at_count == 0)
        return 0;
    int r = list ? look_at_list(w, index, fd) : look_at_plain(w, index, fd, false);
    /* Names at the end of a glob, in every directory: whoever comes later is hidden, too. */
    return r == 0 && list && w->tree->overlay ? look_at_plain(w, index, fd, true) : r;
}

/* The directories down to where a pattern begins. */
static int add_beginning(struct walk *w, const struct plan_hide *hide)
{
    const char *prefix = hide->prefix;
    size_t above = 0;
    int r = 0;
    for (size_t len = strcspn(prefix, "/"); r == 0 && prefix[0] != '\0'; len += strcspn(prefix + len + 1, "/") + 1) {
        char *path = arena_strndup(w->arena, prefix, len);
        r = add_dir(w, above, path, NULL, 0);
        above = w->tree->dir_count - 1;
        if (prefix[len] == '\0')
            break;
    }
    struct hide_dir *dir = &w->tree->dirs[above];
    struct hide_at *at = r < 0 ? NULL : arena_array(w->arena, dir->at_count + 1, sizeof *at);
    if (at == NULL)
        return no_memory(w);
    if (dir->at_count > 0)
        memcpy(at, dir->at, dir->at_count * sizeof *at);
    at[dir->at_count] = (struct hide_at){hide->glob, hide->states};
    dir->at = at;
    dir->at_count++;
    return 0;
}

/* A plain path in a tree that gets no overlay: whether it is there or not, that is the name. */
static int add_path(struct walk *w, const struct plan_hide *hide)
{
    const char *path = hide->prefix;
    for (unsigned k = (unsigned)__builtin_ctzll(hide->states); path != NULL && k < hide->glob->count; k++)
        path = join(w->arena, path, hide->glob->parts[k].text);
    if (path != NULL && type_of(w->root, path) != TYPE_MISSING)
        count_links(w, w->root, path);
    return add_name(w, 0, path, true);
}

static int walk_tree(struct walk *w, const struct plan_hide *hides, size_t count)
{
    int r = add_dir(w, 0, "", NULL, 0);
    if (r == 0)
        w->tree->dirs[0].needed = true;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = w->tree->overlay || hides[i].glob->wild ? add_beginning(w, &hides[i]) : add_path(w, &hides[i]);
    for (size_t i = 0; r == 0 && i < w->tree->dir_count; i++)
        r = look_into(w, i);
    return r;
}

/* The directory that the step will show; -ENOTDIR: a file; -ENOENT: optional, and not there. */
static int open_root(const struct walk *w, const struct plan *plan)
{
    const struct plan_step *step = &plan->steps[w->tree->step];
    if (step->kind == STEP_HOST_TREE)
        return sys_open(w->root, w->tree->target[0] == '\0' ? "." : w->tree->target, O_RDONLY | O_DIRECTORY, 0);
    struct stat st;
    bool skip = false;
    FD_AUTO source = bind_open(step, &skip, &st, w->err);
    if (skip) /* then it is no descriptor */
        source = -1;
    if (source < 0)
        return skip ? -ENOENT : source;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    int fd = sys_open(source, ".", O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? fail(w, fd, "look for names to hide in", step->source) : fd;
}

static size_t row_length(const struct plan *plan, size_t first)
{
    size_t n = 1;
    while (first + n < plan->hide_count && plan->hides[first + n].step == plan->hides[first].step &&
           plan->hides[first + n].target == plan->hides[first].target)
        n++;
    return n;
}

static int prepare_tree(struct walk *w, const struct plan *plan, size_t first, size_t count)
{
    const struct plan_hide *hide = &plan->hides[first];
    FD_AUTO slash = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
    w->tree = &w->self->trees[w->self->tree_count++];
    *w->tree = (struct hide_tree){.step = hide->step, .target = hide->target, .overlay = hide->overlay,
                                   .writable = !hide->overlay && plan->steps[hide->step].kind == STEP_BIND};
    w->root = slash;
    FD_AUTO root = open_root(w, plan);
    w->root = root;
    if (root == -ENOENT || root == -ENOTDIR || (root == -EACCES && !hide->overlay))
        return 0;
    return root < 0 ? root : walk_tree(w, &plan->hides[first], count);
}

int layer_hide_prepare(struct layer_hide *self, struct arena *arena, const struct plan *plan,
                       struct cordon_error *err)
{
    *self = (struct layer_hide){0};
    if (plan->hide_count == 0)
        return 0;
    struct walk w = {.self = self, .arena = arena, .err = err};
    self->trees = arena_array(arena, plan->hide_count, sizeof *self->trees);
    w.list = arena_alloc(arena, LIST_SIZE);
    w.next = arena_array(arena, ANSWER_MAX, sizeof *w.next);
    if (self->trees == NULL || w.list == NULL || w.next == NULL)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, ENOMEM, "look for names to hide", "");
    int r = 0;
    for (size_t i = 0; r == 0 && i < plan->hide_count;) {
        const size_t count = row_length(plan, i);
        r = prepare_tree(&w, plan, i, count);
        i += count;
    }
    return r;
}
