/* Groups of kernels that this machine does not have: files that come with a new directory. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "layer/cgroup.h"

#define MIB (1024UL * 1024)

static const char *const *files_of_a_group; /* NULL: none come with it */

static void make_file(const char *dir, const char *name)
{
    char path[CGROUP_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    close(fd);
}

/* Stands before the C library's. */
int mkdir(const char *path, mode_t mode)
{
    const long r = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    for (const char *const *name = files_of_a_group; r == 0 && name != NULL && *name != NULL; name++)
        make_file(path, *name);
    return (int)r;
}

/* A limit on memory in a group of this version that has these files. */
static int limited(enum cgroup_version version, bool swap, const char *const files[], struct cordon_error *err)
{
    static struct host_cgroup host;
    char dir[] = "/tmp/cgroup-invented-XXXXXX";
    struct layer_cgroup layer = LAYER_CGROUP_INIT;
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    CHECK(test_directory(dir) != NULL);
    host = (struct host_cgroup){.swap = swap};
    host.controllers[CGROUP_MEMORY].version = version;
    snprintf(host.controllers[CGROUP_MEMORY].dir, CGROUP_PATH_SIZE, "%s", dir);
    want.mem_bytes = 32 * MIB;
    files_of_a_group = files;
    const int r = layer_cgroup_prepare(&layer, &host, &want, err);
    layer_cgroup_release(&layer);
    files_of_a_group = NULL;
    return r;
}

static void check_swap(enum cgroup_version version, const char *const with[], const char *const without[], const char *file)
{
    struct cordon_error err = {0};
    CHECK_INT(limited(version, true, with, &err), 0);
    CHECK_INT(limited(version, false, with, &err), 0);
    CHECK_INT(limited(version, false, without, &err), 0); /* there is none to hold */
    CHECK_INT(limited(version, true, without, &err), -ENOENT);
    CHECK(strstr(err.subject, file) != NULL);
    CHECK(strstr(err.remedy, "swapaccount=1") != NULL);
}

TEST(a_group_of_v2_that_cannot_hold_swap_is_refused_where_there_is_some)
{
    static const char *const with[] = {"cgroup.procs", "memory.max", "memory.oom.group", "memory.events", "memory.swap.max", NULL};
    static const char *const without[] = {"cgroup.procs", "memory.max", "memory.oom.group", "memory.events", NULL};
    check_swap(CGROUP_V2, with, without, "memory.swap.max");
}

TEST(a_group_of_v1_that_cannot_hold_swap_is_refused_where_there_is_some)
{
    static const char *const with[] = {"tasks", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", NULL};
    static const char *const without[] = {"tasks", "memory.limit_in_bytes", NULL};
    check_swap(CGROUP_V1, with, without, "memory.memsw.limit_in_bytes");
}
