#include "project/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "project/notes.h"
#include "rooted/remove.h"

#define MARK ".cordon-workspace" /* in every workspace of ours, once it is locked */
#define OVER ".cordon-workspace-over" /* in one that could not be locked, once its run is over */
#define ARTIFACTS "artifacts"
#define CONFIG "config_overrides.toml"
#define MAKE_TRIES 8 /* another run that ends removes tests/artifacts if it is empty */
#define IGNORE ".gitignore" /* in a tests/artifacts that was made here */

static const char ignore_all[] = "# Made by cordon.\n*\n";

const char workspace_template[] = "# Made for one test run.\n"
                                  "[ai]\nprovider = \"none\"\n\n"
                                  "[projects]\npaths = []\nactive = \"\"\n\n"
                                  "[gui.show_windows]\n";

static int fail(struct cordon_error *err, int errnum, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_ROOTED, errnum, what, subject);
}

/* Of the directory of all workspaces, by its whole path: the project may not be the one that was meant. */
static int fail_in(const struct workspace *w, struct cordon_error *err, int errnum, const char *what)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", strcmp(w->project->root, "/") == 0 ? "" : w->project->root, w->artifacts);
    return fail(err, errnum, what, path);
}

/* ---- names ---- */

static void name_of(char *out, size_t size, const char *stem, unsigned run)
{
    if (strcmp(stem, WORKSPACE_BASE_TEMP) == 0 && run == 1)
        snprintf(out, size, "%s", stem);
    else
        snprintf(out, size, strcmp(stem, WORKSPACE_PREFIX) == 0 ? "%s%u" : "%s_%u", stem, run);
}

static void set_names(struct workspace *w, unsigned run)
{
    char name[64];
    w->run = run;
    name_of(name, sizeof name, WORKSPACE_PREFIX, run);
    snprintf(w->path, sizeof w->path, "%s/%s/%s", w->project->root, w->artifacts, name);
    snprintf(w->config, sizeof w->config, "%s/%s", w->path, CONFIG);
    name_of(name, sizeof name, WORKSPACE_BASE_TEMP, run);
    snprintf(w->base_temp, sizeof w->base_temp, "%s/%s/%s", w->project->root, w->artifacts, name);
}

static bool exists(int dir, const char *stem, unsigned run)
{
    struct stat st;
    char name[64];
    name_of(name, sizeof name, stem, run);
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A number is taken by its workspace, and by a base temp: pytest would empty it. */
static bool is_free(int dir, unsigned run)
{
    return !exists(dir, WORKSPACE_PREFIX, run) && !exists(dir, WORKSPACE_BASE_TEMP, run);
}

static int refuse_link(struct cordon_error *err, const char *name)
{
    int r = fail(err, ELOOP, "use", name);
    err_why(err, "is a symbolic link: what tests write there would land elsewhere");
    err_remedy(err, "make it a directory, or name another one as \"writable\" in cordon.json");
    return r;
}

int workspace_name(struct workspace *w, const struct project *project, struct cordon_error *err)
{
    const char *place = project->config.writable.items[0];
    *w = WORKSPACE_INIT;
    w->project = project;
    if (strlen(project->root) + strlen(place) > PATH_MAX - 256)
        return fail(err, ENAMETOOLONG, "make workspace", place);
    snprintf(w->artifacts, sizeof w->artifacts, "%s/" ARTIFACTS, place);
    FD_AUTO top = project_open_beneath(project, place, O_PATH | O_DIRECTORY);
    if (top == -ELOOP)
        return refuse_link(err, place);
    if (top < 0 && top != -ENOENT)
        return fail(err, -top, "use", place);
    FD_AUTO dir = project_open_beneath(project, w->artifacts, O_PATH | O_DIRECTORY);
    if (dir == -ELOOP)
        return refuse_link(err, w->artifacts);
    unsigned run = 1;
    while (dir >= 0 && run <= WORKSPACE_RUNS_MAX && !is_free(dir, run))
        run++;
    set_names(w, run);
    return 0;
}

/* ---- making ---- */

/* Opens directory `name` in `parent`, or makes it; `made` is filled then. */
static int make_dir(int parent, const char *name, struct workspace_made *made)
{
    const bool fresh = mkdirat(parent, name, 0777) == 0;
    if (!fresh && errno != EEXIST)
        return -errno;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat st;
    made->parent = -1;
    if (fresh && fstat(fd, &st) == 0) {
        *made = (struct workspace_made){fcntl(parent, F_DUPFD_CLOEXEC, 3), "", st.st_dev, st.st_ino};
        snprintf(made->name, sizeof made->name, "%.63s", name);
    }
    return fd;
}

static int put_file(int dir, const char *name, const char *text, size_t len)
{
    FD_AUTO fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd < 0 ? -errno : fd_write_all(fd, text, len);
}

/* tests/artifacts, component by component. Git need not hear of what lies there, unless it is the project's own. */
static int make_parents(struct workspace *w, struct cordon_error *err)
{
    FD_AUTO dir = project_open_beneath(w->project, ".", O_RDONLY | O_DIRECTORY);
    if (dir < 0)
        return fail(err, -dir, "open project root", w->project->root);
    bool fresh = false;
    for (const char *p = w->artifacts; *p != '\0';) {
        char name[NAME_MAX + 1];
        const size_t len = strcspn(p, "/");
        struct workspace_made made = {.parent = -1};
        if (len >= sizeof name)
            return fail(err, ENAMETOOLONG, "make", w->artifacts);
        memcpy(name, p, len);
        name[len] = '\0';
        int below = make_dir(dir, name, &made);
        if (below == -ELOOP || below == -ENOTDIR)
            return refuse_link(err, w->artifacts);
        if (below < 0)
            return fail_in(w, err, -below, "make");
        fresh = made.parent >= 0;
        if (made.parent >= 0 && len < sizeof made.name &&
            w->above_count < sizeof w->above / sizeof w->above[0])
            w->above[w->above_count++] = made;
        else
            fd_close(&made.parent);
        close(dir);
        dir = below;
        p += len + (p[len] == '/');
    }
    int r = fresh ? put_file(dir, IGNORE, ignore_all, sizeof ignore_all - 1) : 0;
    if (r < 0 && r != -EEXIST)
        return fail(err, -r, "write " IGNORE " in", w->artifacts);
    w->parent = fd_take(&dir);
    return 0;
}

/* True if nothing is left of it. Tests, and tools such as go, close directories; whose they are may open them. */
static bool remove_named(int parent, const char *name)
{
    struct buf where = BUF_INIT(PATH_MAX);
    struct remove_progress progress = {0};
    const char *syscall;
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return true;
    int r = remove_tree(parent, name, true, &progress, &where, &syscall);
    if (r == -EACCES) {
        progress.open_up = true;
        r = remove_tree(parent, name, true, &progress, &where, &syscall);
    }
    buf_free(&where);
    return r == 0;
}

static DIR *open_list(int parent, const char *name)
{
    FD_AUTO fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (list != NULL)
        (void)fd_take(&fd);
    return list;
}

/* All but the mark, by which a later run knows that the rest is ours; true if nothing else is left. */
static bool empty_but_for_mark(int parent, const char *name)
{
    DIR *list = open_list(parent, name);
    bool done = list != NULL;
    for (const struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, MARK) != 0)
            done = remove_named(dirfd(list), e->d_name) && done;
    }
    if (list != NULL)
        closedir(list);
    return done;
}

/* A workspace and its base temp. What cannot be removed now is swept by a later run, as long as the mark is there. */
static void discard(int parent, unsigned run)
{
    char name[64];
    name_of(name, sizeof name, WORKSPACE_BASE_TEMP, run);
    bool done = remove_named(parent, name);
    name_of(name, sizeof name, WORKSPACE_PREFIX, run);
    if (empty_but_for_mark(parent, name) && done)
        (void)remove_named(parent, name);
}

static bool is_marked(int dir)
{
    struct stat mark;
    return fstatat(dir, MARK, &mark, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(mark.st_mode);
}

/* Only one gets it, whatever file system this is. */
static bool take_over(int dir)
{
    return unlinkat(dir, OVER, 0) == 0;
}

/*
 * Locks a workspace that no run holds any more; -1: it is none. Somebody else may have swept it between the
 * look and the lock, and the name may be a new run's by now: what was swept has no mark. On a file system without
 * locks a workspace has none until its run has said that it is over.
 */
static int hold_abandoned(int parent, const char *name)
{
    struct stat st;
    FD_AUTO dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool ours = dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid();
    const bool held = ours && is_marked(dir) && flock(dir, LOCK_EX | LOCK_NB) == 0 && is_marked(dir);
    if (ours && !held && take_over(dir))
        return fd_take(&dir);
    return held ? fd_take(&dir) : -1;
}

/* The number in a workspace's name; 0: it is another name. */
static unsigned run_of(const char *name)
{
    char same[64];
    if (!text_starts_with(name, WORKSPACE_PREFIX))
        return 0;
    const unsigned long run = strtoul(name + strlen(WORKSPACE_PREFIX), NULL, 10);
    if (run == 0 || run > WORKSPACE_RUNS_MAX)
        return 0;
    name_of(same, sizeof same, WORKSPACE_PREFIX, (unsigned)run);
    return strcmp(name, same) == 0 ? (unsigned)run : 0;
}

static void sweep(int parent)
{
    DIR *list = open_list(parent, ".");
    for (const struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) {
        const unsigned run = run_of(e->d_name);
        FD_AUTO held = run == 0 ? -1 : hold_abandoned(parent, e->d_name);
        if (held >= 0) {
            discard(parent, run);
            if (!is_marked(held))
                (void)put_file(held, OVER, "", 0); /* for the next, where something is left of it */
        }
    }
    if (list != NULL)
        closedir(list);
}

static int take_number(struct workspace *w, struct cordon_error *err)
{
    char name[64];
    for (unsigned run = 1; run <= WORKSPACE_RUNS_MAX; run++) {
        name_of(name, sizeof name, WORKSPACE_PREFIX, run);
        if (exists(w->parent, WORKSPACE_BASE_TEMP, run))
            continue;
        int fd = make_dir(w->parent, name, &w->made);
        if (fd < 0 || w->made.parent < 0) { /* somebody else's */
            if (fd < 0 && fd != -ELOOP && fd != -ENOTDIR && fd != -EACCES)
                return fail_in(w, err, -fd, "make workspace in");
            if (fd >= 0)
                close(fd);
            continue;
        }
        w->dir = fd;
        set_names(w, run);
        w->unlocked = flock(w->dir, LOCK_EX | LOCK_NB) < 0; /* not every file system has locks */
        return 0;
    }
    return fail_in(w, err, EEXIST, "find a free workspace in");
}

static int fill(struct workspace *w, const char *template, size_t template_len)
{
    static const char *const dirs[] = {"home", "tmp", "cache", "config", NOTES_DIR, NOTES_PLUGIN_DIR};
    int r = w->unlocked ? 0 : put_file(w->dir, MARK, "", 0); /* what has none is never swept */
    for (size_t i = 0; r == 0 && i < sizeof dirs / sizeof dirs[0]; i++)
        r = mkdirat(w->dir, dirs[i], 0777) < 0 ? -errno : 0;
    if (r == 0 && template != NULL)
        r = put_file(w->dir, CONFIG, template, template_len);
    if (r < 0)
        return r;
    FD_AUTO plugin = openat(w->dir, NOTES_PLUGIN_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return plugin < 0 ? -errno
                      : put_file(plugin, NOTES_PLUGIN ".py", notes_plugin, strlen(notes_plugin));
}

int workspace_make(struct workspace *w, const char *template, size_t template_len,
                   struct cordon_error *err)
{
    int r = -ENOENT;
    for (int i = 0; r == -ENOENT && i < MAKE_TRIES; i++) {
        *err = (struct cordon_error){0};
        workspace_release(w);
        r = make_parents(w, err);
        if (r == 0) {
            sweep(w->parent);
            r = take_number(w, err);
        }
    }
    if (r < 0)
        return r;
    r = fill(w, template, template_len);
    return r < 0 ? fail(err, -r, "fill workspace", w->path) : 0;
}

/* ---- removing ---- */

static bool still_there(const struct workspace_made *made)
{
    struct stat st;
    return made->parent >= 0 && fstatat(made->parent, made->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_dev == made->dev && st.st_ino == made->ino;
}

/* Nothing but the file that was put there when it was made. */
static bool is_bare(int artifacts)
{
    char text[sizeof ignore_all];
    FD_AUTO ignore = openat(artifacts, IGNORE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (ignore < 0 || read(ignore, text, sizeof text) != (ssize_t)sizeof ignore_all - 1 ||
        memcmp(text, ignore_all, sizeof ignore_all - 1) != 0)
        return false;
    DIR *list = open_list(artifacts, ".");
    unsigned names = 0;
    while (list != NULL && readdir(list) != NULL)
        names++;
    if (list != NULL)
        closedir(list);
    return names == 3; /* with . and .. */
}

/* Whichever run made it. */
static void remove_artifacts(const struct workspace *w)
{
    FD_AUTO above = project_open_beneath(w->project, w->project->config.writable.items[0], O_PATH | O_DIRECTORY);
    struct stat st;
    if (above < 0 || fstat(w->parent, &st) < 0 || !is_bare(w->parent))
        return;
    const struct workspace_made made = {above, ARTIFACTS, st.st_dev, st.st_ino};
    if (!still_there(&made) || unlinkat(w->parent, IGNORE, 0) < 0)
        return;
    if (unlinkat(above, ARTIFACTS, AT_REMOVEDIR) < 0) /* another run came */
        (void)put_file(w->parent, IGNORE, ignore_all, sizeof ignore_all - 1);
}

void workspace_remove(struct workspace *w)
{
    char name[64];
    if (w->dir < 0)
        return;
    name_of(name, sizeof name, WORKSPACE_BASE_TEMP, w->run);
    if (still_there(&w->made))
        discard(w->parent, w->run);
    else
        (void)remove_named(w->parent, name); /* was not there before; pytest made it, so its inode is not known */
    remove_artifacts(w);
    for (unsigned i = w->above_count; i > 0; i--) {
        if (still_there(&w->above[i - 1]))
            (void)unlinkat(w->above[i - 1].parent, w->above[i - 1].name, AT_REMOVEDIR);
    }
}

void workspace_release(struct workspace *w)
{
    if (w->dir >= 0 && w->unlocked)
        (void)put_file(w->dir, OVER, "", 0); /* fails where it was removed */
    fd_close(&w->dir);
    fd_close(&w->parent);
    fd_close(&w->made.parent);
    for (unsigned i = 0; i < w->above_count; i++)
        fd_close(&w->above[i].parent);
    w->above_count = 0;
}
