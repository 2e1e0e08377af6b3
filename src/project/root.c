#include "project/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/resolve.h"

#define LEVELS_MAX 256

static int fail(struct cordon_error *err, int errnum, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_NONE, errnum, what, subject);
}

/*
 * Whoever can write a directory above, /tmp for one, must not choose the root: what counts
 * belongs to the caller, to root, or to the owner of the directory that we start in.
 */
static bool there(int dir, const char *name, uid_t owner)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (st.st_uid == geteuid() || st.st_uid == 0 || st.st_uid == owner);
}

static int open_dir(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Upward from project->root, which becomes what is found. */
static int walk_up(struct project *project)
{
    char path[PATH_MAX];
    struct stat st;
    uid_t owner = 0;
    memcpy(path, project->root, sizeof path);
    for (int i = 0; i < LEVELS_MAX; i++) {
        FD_AUTO dir = open_dir(path);
        if (dir < 0)
            return i == 0 ? dir : 0; /* further up we may not look */
        if (i == 0 && fstat(dir, &st) == 0)
            owner = st.st_uid;
        const bool file = there(dir, PROJECT_FILE, owner);
        if (file || there(dir, ".git", owner)) {
            project->found = file ? PROJECT_BY_FILE : PROJECT_BY_GIT;
            memcpy(project->root, path, sizeof path);
            return 0;
        }
        char *slash = strrchr(path, '/');
        if (slash == path && path[1] == '\0')
            return 0;
        slash[slash == path ? 1 : 0] = '\0';
    }
    return 0;
}

static int find(struct project *project, const char *given, const char *start,
                struct cordon_error *err)
{
    char *real = realpath(given != NULL ? given : start, NULL);
    if (real == NULL)
        return fail(err, errno, "find project root", given != NULL ? given : start);
    snprintf(project->root, sizeof project->root, "%s", real);
    free(real);
    project->found = given != NULL ? PROJECT_GIVEN : PROJECT_BY_CWD;
    int r = given != NULL ? 0 : walk_up(project);
    if (r == 0)
        r = project->fd = open_dir(project->root);
    return r < 0 ? fail(err, -r, "open project root", project->root) : 0;
}

int project_open_beneath(const struct project *project, const char *name, int flags)
{
    struct resolve_counts counts = {0};
    const struct resolve_base base = {.fd = project->fd, .strict = true, .counts = &counts};
    int fd = resolve_open(&base, strcmp(name, ".") == 0 ? "" : name, flags | O_CLOEXEC);
    if (fd == RESOLVE_OUTSIDE)
        return -ELOOP;
    return fd == RESOLVE_NOTDIR ? -ENOTDIR : fd;
}

int project_read(const struct project *project, struct arena *arena, const char *name, size_t max,
                 const char **text, size_t *len, struct cordon_error *err)
{
    struct stat st;
    FD_AUTO fd = project_open_beneath(project, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int r = fail(err, -fd, "read", name);
        if (fd == -ELOOP)
            err_why(err, "is a symbolic link, or behind one");
        return r;
    }
    if (fstat(fd, &st) < 0)
        return fail(err, errno, "read", name);
    if (!S_ISREG(st.st_mode)) {
        int r = fail(err, EINVAL, "read", name);
        err_why(err, "is not a regular file");
        return r;
    }
    /* One byte more than its size says: it may have grown. */
    size_t room = (uint64_t)st.st_size > max ? max + 1 : (size_t)st.st_size + 1;
    char *data = arena_alloc(arena, room + 1);
    if (data == NULL)
        return fail(err, ENOMEM, "read", name);
    ssize_t n = fd_read_full(fd, data, room);
    if (n < 0)
        return fail(err, (int)-n, "read", name);
    if ((size_t)n > max)
        return fail(err, EFBIG, "read", name);
    *text = data;
    *len = (size_t)n;
    return 0;
}

static int read_config(struct project *project, struct arena *arena, struct cordon_error *err)
{
    struct stat st;
    const char *text = NULL;
    size_t len = 0;
    project_config_default(&project->config);
    if (fstatat(project->fd, PROJECT_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : fail(err, errno, "read", PROJECT_FILE);
    project->has_file = true;
    int r = project_read(project, arena, PROJECT_FILE, PROJECT_CONFIG_MAX, &text, &len, err);
    return r < 0 ? r : project_config_parse(&project->config, arena, text, len, err);
}

int project_open(struct project *project, struct arena *arena, const char *given, const char *start,
                 struct cordon_error *err)
{
    *project = PROJECT_INIT;
    int r = find(project, given, start, err);
    if (r == 0)
        r = read_config(project, arena, err);
    if (r < 0)
        project_release(project);
    return r;
}

int project_enter_test_root(struct project *project, struct cordon_error *err)
{
    const char *name = project->config.test_root;
    const size_t len = strcmp(project->root, "/") == 0 ? 0 : strlen(project->root);
    if (strcmp(name, ".") == 0)
        return 0;
    if (len + strlen(name) + 2 > sizeof project->root)
        return fail(err, ENAMETOOLONG, "open test root", name);
    FD_AUTO fd = project_open_beneath(project, name, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return fail(err, -fd, "open test root", name);
    project->root[len] = '/';
    memcpy(project->root + len + 1, name, strlen(name) + 1);
    close(project->fd);
    project->fd = fd_take(&fd);
    return 0;
}

void project_release(struct project *project)
{
    fd_close(&project->fd);
}
