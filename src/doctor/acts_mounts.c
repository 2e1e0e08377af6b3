#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "doctor/acts.h"
#include "sys/files.h"
#include "sys/mounting.h"
#include "sys/process.h"

void act_pidns(struct attempt *a)
{
    attempt_failed(a, getpid() == 1 ? 0 : -ESRCH, "be process 1");
}

/* Stands on an empty file system of its own afterwards, as a sandbox does. */
static bool stand_on_tmpfs(struct attempt *a)
{
    if (attempt_failed(a, sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
                       "make mounts private"))
        return false;
    int context = (int)sys_call(SYS_fsopen, "tmpfs", 1 /* FSOPEN_CLOEXEC */);
    if (attempt_failed(a, context, "fsopen tmpfs") ||
        attempt_failed(a, sys_call(SYS_fsconfig, context, FSCONFIG_CREATE, 0, 0, 0),
                       "fsconfig tmpfs"))
        return false;
    int root = (int)sys_call(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, 0);
    return !attempt_failed(a, root, "fsmount tmpfs") &&
           !attempt_failed(a, sys_move_mount(root, "", AT_FDCWD, "/", MOVE_FROM_EMPTY),
                           "move_mount tmpfs") &&
           !attempt_failed(a, sys_call(SYS_fchdir, root), "fchdir to tmpfs");
}

void act_tmpfs(struct attempt *a)
{
    if (!stand_on_tmpfs(a) || attempt_failed(a, sys_mkdir("t", 0755), "mkdir on tmpfs"))
        return;
    attempt_failed(a, sys_mount("tmpfs", "t", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k"),
                   "mount tmpfs");
}

void act_procfs(struct attempt *a)
{
    struct stat st;
    if (!stand_on_tmpfs(a) || attempt_failed(a, sys_mkdir("p", 0755), "mkdir on tmpfs") ||
        attempt_failed(a, sys_mount("proc", "p", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL),
                       "mount proc"))
        return;
    attempt_failed(a, stat("p/1/status", &st) < 0 ? -errno : 0, "see process 1 in it");
}

void act_devpts(struct attempt *a)
{
    if (!stand_on_tmpfs(a) || attempt_failed(a, sys_mkdir("d", 0755), "mkdir on tmpfs"))
        return;
    attempt_failed(a, sys_mount("devpts", "d", "devpts", MS_NOSUID | MS_NOEXEC,
                                "newinstance,ptmxmode=0666,mode=620"),
                   "mount devpts");
}

/* As `hide` uses it: two lower layers, a whiteout in the upper one of them. */
void act_overlay(struct attempt *a)
{
    struct stat st;
    if (!stand_on_tmpfs(a))
        return;
    if (attempt_failed(a, sys_mkdir("mask", 0755), "mkdir on tmpfs") ||
        attempt_failed(a, sys_mkdir("below", 0755), "mkdir on tmpfs") ||
        attempt_failed(a, sys_mkdir("below/name", 0755), "mkdir on tmpfs") ||
        attempt_failed(a, sys_mkdir("joined", 0755), "mkdir on tmpfs") ||
        attempt_failed(a, mknod("mask/name", S_IFCHR, 0) < 0 ? -errno : 0, "make a whiteout") ||
        attempt_failed(a, sys_mount("overlay", "joined", "overlay", 0,
                                    "lowerdir=mask:below,userxattr"),
                       "mount overlay"))
        return;
    attempt_failed(a, stat("joined/name", &st) < 0 && errno == ENOENT ? 0 : -EEXIST,
                   "hide a name with it");
}

void act_pivot_root(struct attempt *a)
{
    if (!stand_on_tmpfs(a) || attempt_failed(a, sys_mkdir("mark", 0755), "mkdir on tmpfs") ||
        attempt_failed(a, sys_pivot_root(".", "."), "pivot_root") ||
        attempt_failed(a, sys_umount(".", MNT_DETACH), "umount the old root"))
        return;
    attempt_failed(a, access("/mark", F_OK) < 0 ? -errno : 0, "stand on the new root");
}

void act_mount_setattr(struct attempt *a)
{
    const struct sys_mount_attr attr = {.set = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV};
    const unsigned flags = (unsigned)TREE_EMPTY_PATH | (unsigned)TREE_RECURSIVE;
    int tree = sys_open_tree(AT_FDCWD, "/", (unsigned)TREE_CLONE | (unsigned)TREE_RECURSIVE);
    if (attempt_failed(a, tree, "open_tree /") ||
        attempt_failed(a, sys_mount_setattr(tree, "", flags, &attr), "mount_setattr"))
        return;
    struct statfs fs = {0};
    if (attempt_failed(a, sys_fstatfs(tree, &fs), "fstatfs"))
        return;
    attempt_failed(a, (fs.f_flags & ST_RDONLY) != 0 ? 0 : -EROFS, "see it read-only");
}

/* A user namespace for an id-mapped mount: a descriptor, or -errno. */
static int mapped_namespace(void)
{
    char path[64];
    int ready[2];
    int pidfd = -1;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    long pid = sys_fork(CLONE_NEWUSER, &pidfd);
    if (pid == 0) {
        char byte;
        close(ready[1]);
        (void)!read(ready[0], &byte, 1);
        _exit(0);
    }
    if (pid < 0)
        return (int)pid;
    int fd = -1;
    static const char *const maps[] = {"uid_map", "gid_map"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%ld/%s", pid, maps[i]);
        FD_AUTO map = open(path, O_WRONLY | O_CLOEXEC);
        fd = map < 0 || write(map, "0 1879048193 1", 14) < 0 ? -errno : 0;
        if (fd < 0)
            break;
    }
    if (fd == 0) {
        snprintf(path, sizeof path, "/proc/%ld/ns/user", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        fd = fd < 0 ? -errno : fd;
    }
    close(ready[1]);
    sys_waitid(P_PID, (int)pid, NULL, WEXITED | __WALL, NULL);
    return fd;
}

void act_idmap(struct attempt *a)
{
    int space = mapped_namespace();
    if (attempt_failed(a, space, "make a user namespace to map to"))
        return;
    int tree = sys_open_tree(AT_FDCWD, "/", (unsigned)TREE_CLONE);
    const struct sys_mount_attr attr = {.set = ATTR_IDMAP, .userns_fd = (uint64_t)space};
    if (!attempt_failed(a, tree, "open_tree /"))
        attempt_failed(a, sys_mount_setattr(tree, "", TREE_EMPTY_PATH, &attr),
                       "id-map the file system of /");
}
