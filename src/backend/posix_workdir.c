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

/* By this call, or by somebody else meanwhile. */
static bool gone(int answer)
{
    return answer == 0 || errno == ENOENT;
}

static bool empty(int fd, unsigned depth);

static bool remove_entry(int parent, const char *name, unsigned depth)
{
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    if (!S_ISDIR(st.st_mode))
        return gone(unlinkat(parent, name, 0));
    /* Something is mounted on what is busy, and what stands in there is not this run's. */
    if (gone(unlinkat(parent, name, AT_REMOVEDIR)))
        return true;
    if (errno == EBUSY || depth == 0)
        return false;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && empty(fd, depth - 1) && gone(unlinkat(parent, name, AT_REMOVEDIR));
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
    bool all = true;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            all = remove_entry(dirfd(dir), entry->d_name, depth) && all;
    }
    closedir(dir);
    return all;
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
        return errno == ENOENT || gone(rmdir(path));
    if (fstat(fd, &st) < 0 || st.st_dev != dir->dev || st.st_ino != dir->ino) {
        close(fd); /* somebody put another one in its place: that one is not ours */
        return false;
    }
    return empty(fd, DEPTH_MAX) && gone(rmdir(path));
}
