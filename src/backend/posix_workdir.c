/* A directory that stands for /work where there are no mounts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/posix.h"

#define DEPTH_MAX 128 /* a descriptor each */

int posix_workdir_make(struct posix_workdir *dir, const char *path)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 || lstat(path, &st) < 0)
        return -errno;
    *dir = (struct posix_workdir){.path = path, .dev = st.st_dev, .ino = st.st_ino};
    return 0;
}

static bool empty(int fd, unsigned depth);

static bool remove_entry(int parent, const char *name, unsigned depth)
{
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    if (!S_ISDIR(st.st_mode))
        return unlinkat(parent, name, 0) == 0;
    if (depth == 0)
        return false;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && empty(fd, depth - 1) && unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/* Takes `fd`. */
static bool empty(int fd, unsigned depth)
{
    (void)fchmod(fd, 0700); /* its owner may have locked itself out */
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return false;
    }
    bool gone = true;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            gone = remove_entry(dirfd(dir), entry->d_name, depth) && gone;
    }
    closedir(dir);
    return gone;
}

bool posix_workdir_remove(struct posix_workdir *dir)
{
    struct stat st;
    if (dir->path == NULL)
        return true;
    const char *path = dir->path;
    dir->path = NULL;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || rmdir(path) == 0;
    if (fstat(fd, &st) < 0 || st.st_dev != dir->dev || st.st_ino != dir->ino) {
        close(fd); /* somebody put another one in its place: that one is not ours */
        return false;
    }
    return empty(fd, DEPTH_MAX) && rmdir(path) == 0;
}
