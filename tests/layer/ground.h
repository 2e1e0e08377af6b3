/*
 * Namespaces of the test's own, as init has them: what a layer does to a process cannot be undone,
 * and here it does not have to be.
 */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness.h"

static inline void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        test_fail(__FILE__, __LINE__, "cannot write %s: errno %d", path, errno);
    close(fd);
}

/* Namespaces with a map of the caller onto root. */
static inline void enter_namespaces(int flags)
{
    char map[48];
    const unsigned uid = getuid();
    const unsigned gid = getgid();
    if (unshare(CLONE_NEWUSER | flags) < 0)
        test_skip("this host gives no user namespaces");
    write_text("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", uid);
    write_text("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", gid);
    write_text("/proc/self/gid_map", map);
    if ((flags & CLONE_NEWPID) != 0) { /* a fresh procfs needs a member of the namespace */
        fflush(stdout);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid > 0) {
            int status = 0;
            CHECK_INT(waitpid(pid, &status, 0), pid);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
    }
}

/* A directory with a file and a directory in it; gone with the mount namespace. */
static inline void scratch(void)
{
    CHECK_INT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    CHECK_INT(mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"), 0);
    CHECK_INT(mkdir("/mnt/tree", 0755), 0);
    CHECK_INT(mkdir("/mnt/tree/sub", 0755), 0);
    write_text("/mnt/tree/file", "host\n");
    write_text("/mnt/tree/sub/deep", "deep\n");
    CHECK_INT(symlink("tree", "/mnt/link"), 0);
}
