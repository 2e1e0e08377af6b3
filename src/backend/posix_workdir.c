/* A directory that stands for /work where there are no mounts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/posix.h"

#define DEEPEST 128 /* a descriptor each; below it directories are moved up first */
#define PASSES 1024

int posix_workdir_make(struct posix_workdir *dir, const char *path)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 || lstat(path, &st) < 0)
        return -errno;
    *dir = (struct posix_workdir){.path = path, .dev = st.st_dev, .ino = st.st_ino};
    return 0;
}

/* By this call, or by somebody else meanwhile. */
static bool gone(int answer)
{
    return answer == 0 || errno == ENOENT;
}

struct removal {
    int top;        /* where deep directories are moved to; the descriptor that is read, for there may be few */
    unsigned moved; /* gives them their names */
};

/* Its owner may have locked itself out. */
static int open_dir(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    return fd;
}

static void empty(struct removal *r, int fd, unsigned depth);

static void remove_entry(struct removal *r, int parent, const char *name, unsigned depth)
{
    char moved[32];
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        unlinkat(parent, name, 0);
        return;
    }
    /* Something is mounted on what is busy, and what stands in there is not this run's. */
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == EBUSY)
        return;
    if (depth == DEEPEST) {
        snprintf(moved, sizeof moved, ".cordon-%u", r->moved++); /* if that is there, the next pass has another one */
        (void)renameat(parent, name, r->top, moved);
        return;
    }
    const int fd = open_dir(parent, name);
    if (fd < 0)
        return;
    empty(r, fd, depth + 1);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* As far as it can be. Takes `fd`. */
static void empty(struct removal *r, int fd, unsigned depth)
{
    (void)fchmod(fd, 0700);
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(r, dirfd(dir), entry->d_name, depth);
    }
    closedir(dir);
}

/* What the path names, if that is still what was made; an error: somebody put another one in its place. */
static int open_ours(const struct posix_workdir *dir, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return -errno;
    if (st.st_dev != dir->dev || st.st_ino != dir->ino)
        return -EEXIST;
    const int fd = open_dir(AT_FDCWD, path);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || st.st_dev != dir->dev || st.st_ino != dir->ino) {
        close(fd);
        return -EEXIST;
    }
    return fd;
}

bool posix_workdir_remove(struct posix_workdir *dir)
{
    struct removal r = {.top = -1};
    unsigned before = 0;
    if (dir->path == NULL)
        return true;
    const char *path = dir->path;
    dir->path = NULL;
    for (int pass = 0; pass < PASSES; pass++) { /* one for each level that was moved up */
        r.top = open_ours(dir, path);
        if (r.top < 0)
            return r.top == -ENOENT || (r.top != -EEXIST && gone(rmdir(path)));
        empty(&r, r.top, 0);
        if (gone(rmdir(path)))
            return true;
        if (r.moved == before)
            break;
        before = r.moved;
    }
    return false;
}
