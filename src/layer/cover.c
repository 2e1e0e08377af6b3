#include "layer/cover.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "layer/bind.h"
#include "sys/files.h"
#include "sys/mounting.h"
#include "sys/statx.h"

#define BOX "proc" /* procfs is mounted over it later: nobody inside can get at the box then */
#define BLANK_FILE "file"
#define BLANK_DIR "dir"

static int fail(struct cordon_error *err, long r, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, (int)-r, what, subject);
}

/* ---- before clone ---- */

static bool split(struct cover_name *out, struct arena *arena, const struct hide_tree *tree, const char *path)
{
    const char *target = tree->target;
    char *whole = arena_printf(arena, "%s%s%s", target, target[0] == '\0' ? "" : "/", path);
    if (whole == NULL)
        return false;
    char *slash = strrchr(whole, '/');
    if (slash != NULL)
        *slash = '\0';
    *out = (struct cover_name){
        .dir = slash == NULL ? "." : whole, .name = slash == NULL ? whole : slash + 1, .fd = -1};
    out->fixed = strlen(tree->writable ? target : out->dir);
    return true;
}

int layer_cover_prepare(struct layer_cover *self, struct arena *arena, const struct layer_hide *hide,
                        struct cordon_error *err)
{
    size_t count = 0;
    *self = (struct layer_cover){.box = -1, .events = -1};
    for (size_t i = 0; i < hide->tree_count; i++)
        count += hide->trees[i].overlay ? 0 : hide->trees[i].name_count;
    if (hide->tree_count > 0)
        self->hide = hide;
    if (count == 0)
        return 0;
    self->names = arena_array(arena, count, sizeof *self->names);
    bool ok = self->names != NULL;
    for (size_t i = 0; ok && i < hide->tree_count; i++) {
        const struct hide_tree *tree = &hide->trees[i];
        for (size_t k = 0; ok && !tree->overlay && k < tree->name_count; k++)
            ok = split(&self->names[self->name_count++], arena, tree, tree->names[k].path);
    }
    return ok ? 0 : fail(err, -ENOMEM, "list the names to hide", "");
}

/* ---- the box ---- */

static long make_blanks(int box)
{
    long fd = sys_open(box, BLANK_FILE, O_WRONLY | O_CREAT, 0);
    sys_close((int)fd);
    return fd < 0 ? fd : sys_call(SYS_mkdirat, box, BLANK_DIR, 0);
}

int layer_cover_begin(struct layer_cover *self, struct cordon_error *err)
{
    long r = sys_mkdir(BOX, 0555); /* guard mode has it */
    if (r == 0 || r == -EEXIST || r == -EROFS)
        r = sys_mount("tmpfs", BOX, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700,nr_inodes=0");
    if (r == 0) {
        self->box = sys_open_in_root(AT_FDCWD, BOX, O_PATH | O_DIRECTORY);
        r = self->box < 0 ? self->box : make_blanks(self->box);
    }
    if (r == 0 && self->name_count > 0) {
        self->events = (int)sys_call(SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK);
        r = self->events < 0 ? self->events : 0;
    }
    return r < 0 ? fail(err, r, "prepare to hide names", "tmpfs") : 0;
}

/* ---- overlays ---- */

/* The times last: each name that is made in a directory changes its own. */
static long set_times(int layer, const struct hide_tree *tree)
{
    long r = 0;
    for (size_t i = 0; r == 0 && i < tree->dir_count; i++) {
        const struct hide_dir *dir = &tree->dirs[i];
        const struct timespec times[2] = {dir->changed, dir->changed};
        if (dir->needed)
            r = sys_call(SYS_utimensat, layer, i == 0 ? "." : dir->path, times, 0);
    }
    return r;
}

static long make_whiteouts(int layer, const struct hide_tree *tree)
{
    long r = 0;
    for (size_t i = 0; r == 0 && i < tree->name_count; i++) {
        r = sys_call(SYS_mknodat, layer, tree->names[i].path, S_IFCHR, 0);
        if (r == -EEXIST) /* by two patterns */
            r = 0;
    }
    return r;
}

/* A directory that is in both layers has its mode from the upper one. */
static int make_layer(int box, const char *name, const struct hide_tree *tree)
{
    long r = sys_call(SYS_mkdirat, box, name, tree->dirs[0].mode);
    int layer = r < 0 ? (int)r : sys_open(box, name, O_PATH | O_DIRECTORY, 0);
    r = layer < 0 ? layer : 0;
    for (size_t i = 1; r == 0 && i < tree->dir_count; i++) {
        if (tree->dirs[i].needed)
            r = sys_call(SYS_mkdirat, layer, tree->dirs[i].path, tree->dirs[i].mode);
        if (r == -EEXIST)
            r = 0;
    }
    if (r == 0)
        r = make_whiteouts(layer, tree);
    if (r == 0)
        r = set_times(layer, tree);
    if (r < 0)
        sys_close(layer);
    return r < 0 ? (int)r : layer;
}

/* The overlay is a mount of its own: what the tree's mount forbids it must forbid, too. */
static unsigned long flags_of(int tree)
{
    struct statfs fs = {0};
    sys_fstatfs(tree, &fs);
    return MS_RDONLY | MS_NOSUID | MS_NODEV | ((fs.f_flags & ST_NOEXEC) != 0 ? MS_NOEXEC : 0);
}

static long mount_overlay(int layer, int tree)
{
    static const char begin[] = "lowerdir=";
    static const char end[] = ",userxattr";
    char options[sizeof begin + 2 * SYS_FD_PATH_SIZE + sizeof end];
    char target[SYS_FD_PATH_SIZE];
    size_t len = sizeof begin - 1;
    memcpy(options, begin, len);
    len += sys_fd_path(options + len, layer);
    options[len++] = ':';
    len += sys_fd_path(options + len, tree);
    memcpy(options + len, end, sizeof end);
    sys_fd_path(target, tree);
    return sys_mount("overlay", target, "overlay", flags_of(tree), options);
}

static bool is_readonly(const char *target)
{
    struct statfs fs = {0};
    int fd = sys_open_in_root(AT_FDCWD, target, O_PATH);
    long r = fd < 0 ? fd : sys_fstatfs(fd, &fs);
    sys_close(fd);
    return r == 0 && (fs.f_flags & ST_RDONLY) != 0;
}

static long overlay_tree(int box, const char *name, const struct hide_tree *tree, bool *readonly)
{
    int target = sys_open_in_root(AT_FDCWD, tree->target, O_PATH | O_DIRECTORY);
    if (target == -ENOENT || target == -ENOTDIR) /* optional, or itself hidden */
        return 0;
    int layer = target < 0 ? target : make_layer(box, name, tree);
    long r = layer < 0 ? layer : mount_overlay(layer, target);
    *readonly = *readonly && r == 0 && is_readonly(tree->target);
    sys_close(layer);
    sys_close(target);
    return r;
}

int layer_cover_overlay(struct layer_cover *self, size_t step, bool *readonly, struct cordon_error *err)
{
    for (size_t i = 0; i < self->hide->tree_count; i++) {
        const struct hide_tree *tree = &self->hide->trees[i];
        if (tree->step != step || !tree->overlay || tree->name_count == 0)
            continue;
        const char name[] = {(char)('a' + i % 16), (char)('a' + i / 16 % 16), (char)('a' + i / 256 % 16),
                             (char)('a' + i / 4096 % 16), (char)('a' + i / 65536 % 16), '\0'};
        const long umask = sys_call(SYS_umask, 0); /* modes are those of the tree */
        long r = overlay_tree(self->box, name, tree, readonly);
        sys_call(SYS_umask, umask);
        if (r < 0) {
            fail(err, r, "hide names in", bind_place(tree->target).path);
            err_remedy(err, "cordon doctor says whether this host has overlays; some file systems take none");
            return (int)r;
        }
    }
    return 0;
}

/* ---- names in other trees ---- */

static bool is_blank(int box, const struct stat *st)
{
    struct stat own;
    return sys_fstat(box, &own) == 0 && own.st_dev == st->st_dev;
}

/* 0 also when the name is not there. */
static long cover(int box, const struct cover_name *name)
{
    struct stat st = {0};
    int there = sys_open(name->fd, name->name, O_PATH | O_NOFOLLOW, 0);
    if (there == -ENOENT)
        return 0;
    long r = there < 0 ? there : sys_fstat(there, &st);
    if (r == 0 && !is_blank(box, &st)) {
        static const struct sys_mount_attr sealed = {.set = ATTR_RDONLY};
        int blank = sys_open_tree(box, S_ISDIR(st.st_mode) ? BLANK_DIR : BLANK_FILE, TREE_CLONE);
        r = blank < 0 ? blank : sys_mount_setattr(blank, "", TREE_EMPTY_PATH, &sealed);
        if (r == 0)
            r = sys_move_mount(blank, "", there, "", MOVE_FROM_EMPTY | MOVE_TO_EMPTY);
        sys_close(blank);
    }
    sys_close(there);
    return r;
}

static bool is_mount(int dir)
{
    struct sys_statx st = {0};
    return sys_call(SYS_statx, dir, "", AT_EMPTY_PATH, 0, &st) == 0 &&
           (st.attributes & SYS_STATX_ATTR_MOUNT_ROOT) != 0;
}

/* A directory that is a mount cannot be renamed from inside, by whatever bind. */
static long pin(const char *path)
{
    int dir = sys_open_in_root(AT_FDCWD, path, O_PATH | O_DIRECTORY);
    if (dir < 0 || is_mount(dir)) {
        sys_close(dir);
        return dir < 0 ? dir : 0;
    }
    int copy = sys_open_tree(dir, "", TREE_CLONE | TREE_EMPTY_PATH | TREE_RECURSIVE);
    long r = copy < 0 ? copy : sys_move_mount(copy, "", dir, "", MOVE_FROM_EMPTY | MOVE_TO_EMPTY);
    sys_close(copy);
    sys_close(dir);
    return r;
}

/*
 * The directories above a name in a writable tree. Were one renamed, the name in a new one of the
 * old name would be watched by nobody, and an overlay elsewhere would not know the renamed one.
 */
static long pin_parents(const struct cover_name *name)
{
    char part[4096];
    const size_t len = strlen(name->dir);
    long r = len < sizeof part ? 0 : -ENAMETOOLONG;
    for (size_t at = name->fixed; r == 0 && at < len;) {
        at += strcspn(name->dir + at + 1, "/") + 1;
        memcpy(part, name->dir, at);
        part[at] = '\0';
        r = pin(part);
    }
    return r;
}

static long cover_first(struct layer_cover *self, struct cover_name *name)
{
    char path[SYS_FD_PATH_SIZE];
    long r = pin_parents(name);
    if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -EACCES)
        return r;
    name->fd = sys_open_in_root(AT_FDCWD, name->dir, O_PATH | O_DIRECTORY);
    if (name->fd == -ENOENT || name->fd == -ENOTDIR || name->fd == -EACCES)
        return 0; /* nobody inside gets there either */
    if (name->fd < 0)
        return name->fd;
    /* First the watch, so that no change falls between the two. */
    sys_fd_path(path, name->fd);
    r = sys_call(SYS_inotify_add_watch, self->events, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
    return r < 0 ? r : cover(self->box, name);
}

int layer_cover_names(struct layer_cover *self, struct cordon_error *err)
{
    for (size_t i = 0; i < self->name_count; i++) {
        long r = cover_first(self, &self->names[i]);
        if (r == -ELOOP)
            return bind_refuse(err, r, "hide", bind_place(self->names[i].dir).path, "a symbolic link is on the way",
                               "name the place that the link leads to");
        if (r < 0)
            return fail(err, r, "cover the name", self->names[i].name);
    }
    return 0;
}

void layer_cover_again(struct layer_cover *self)
{
    char room[4096];
    sys_read(self->events, room, sizeof room); /* if there is more the descriptor says so again */
    /* Which one it was does not matter: to look at one that is covered costs a microsecond. */
    for (size_t i = 0; i < self->name_count; i++) {
        if (self->names[i].fd >= 0)
            cover(self->box, &self->names[i]);
    }
}

/* ---- proof ---- */

static bool is_missing(const struct hide_tree *tree)
{
    struct stat st;
    int root = sys_open_in_root(AT_FDCWD, tree->target, O_PATH | O_DIRECTORY);
    bool missing = true;
    for (size_t i = 0; root >= 0 && missing && i < tree->name_count; i++)
        missing = !tree->names[i].present || sys_stat(root, tree->names[i].path, &st) == -ENOENT;
    sys_close(root);
    return missing;
}

bool layer_cover_proven(const struct layer_cover *self)
{
    for (size_t i = 0; i < self->hide->tree_count; i++) {
        if (self->hide->trees[i].overlay && !is_missing(&self->hide->trees[i]))
            return false;
    }
    for (size_t i = 0; i < self->name_count; i++) {
        struct stat st;
        const struct cover_name *name = &self->names[i];
        if (name->fd >= 0 && sys_stat(name->fd, name->name, &st) == 0 && !is_blank(self->box, &st))
            return false;
    }
    return true;
}
