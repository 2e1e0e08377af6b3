/* Groups of kernels that this machine does not have: files that come with a new directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "layer/cgroup.h"
#include "layer/cgroup_file.h"
#include "sys/lock.h"

#define MIB (1024UL * 1024)

static const char *const *files_of_a_group; /* NULL: none come with it */
static bool locked_by_another;              /* before its maker can look at it */
static mode_t mode_of_a_group;

static unsigned still_counted;              /* how often a leaf says that somebody is in it */

static void make_file(const char *dir, const char *name)
{
    char path[CGROUP_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    close(fd);
}

/* Nothing closes it: as long as the test lasts, somebody holds the lock. */
static void lock_alone(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(sys_flock(fd, SYS_LOCK_EXCLUSIVE | SYS_LOCK_TRY), 0);
}

/* Stands before the C library's. */
int mkdir(const char *path, mode_t mode)
{
    const long r = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    for (const char *const *name = files_of_a_group; r == 0 && name != NULL && *name != NULL; name++)
        make_file(path, *name);
    if (r == 0)
        mode_of_a_group = mode;
    if (r == 0 && locked_by_another)
        lock_alone(path);
    return (int)r;
}

/* Stands before the C library's: a group goes with its files, as soon as nobody is in it. */
int rmdir(const char *path)
{
    for (const char *const *name = files_of_a_group; name != NULL && *name != NULL; name++) {
        char file[CGROUP_PATH_SIZE + 64];
        snprintf(file, sizeof file, "%s/%s", path, *name);
        unlink(file);
    }
    if (still_counted > 0 && strstr(path, CGROUP_LEAF_SUFFIX) != NULL) {
        still_counted--;
        errno = EBUSY;
        return -1;
    }
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
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
    snprintf(host.dirs[CGROUP_MEMORY], CGROUP_PATH_SIZE, "%s", dir);
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

/* As the kernel tells it, in a group that has met its own limit so many times. */
static bool told(const char *times)
{
    static const char *const files[] = {"tasks",
                                        "memory.limit_in_bytes",
                                        "memory.memsw.limit_in_bytes",
                                        "memory.oom_control",
                                        "cgroup.event_control",
                                        "memory.failcnt",
                                        NULL};
    static struct host_cgroup host;
    char dir[] = "/tmp/cgroup-invented-XXXXXX";
    struct layer_cgroup layer = LAYER_CGROUP_INIT;
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    struct cordon_error err = {0};
    const uint64_t one = 1;
    CHECK(test_directory(dir) != NULL);
    host.controllers[CGROUP_MEMORY].version = CGROUP_V1;
    snprintf(host.dirs[CGROUP_MEMORY], CGROUP_PATH_SIZE, "%s", dir);
    want.mem_bytes = 32 * MIB;
    files_of_a_group = files;
    CHECK_INT(layer_cgroup_prepare(&layer, &host, &want, &err), 0);
    const int fd = openat(layer.groups[0].dir_fd, "memory.failcnt", O_WRONLY | O_CLOEXEC);
    CHECK_INT(write(fd, times, strlen(times)), (long)strlen(times));
    close(fd);
    CHECK(!layer_cgroup_oom_seen(&layer));
    CHECK_INT(write(layer_cgroup_oom_fd(&layer), &one, sizeof one), sizeof one);
    const bool seen = layer_cgroup_oom_seen(&layer);
    layer_cgroup_release(&layer);
    files_of_a_group = NULL;
    return seen;
}

TEST(memory_that_ran_out_above_a_group_of_v1_did_not_run_out_in_it)
{
    CHECK(told("3\n"));
    CHECK(!told("0\n"));
}

static const char *const files_of_v2[] = {"cgroup.procs", "memory.max", "memory.oom.group", "memory.events",
                                          "memory.swap.max", NULL};

TEST(somebody_who_locks_a_new_directory_does_not_hang_a_run)
{
    struct cordon_error err = {0};
    alarm(20);
    locked_by_another = true;
    CHECK_INT(limited(CGROUP_V2, false, files_of_v2, &err), 0);
    CHECK_INT(mode_of_a_group & 077, 0); /* nobody but this user can open it at all */
}

/* A group of this process's own, in which it steps aside. */
static struct host_cgroup *own_group(char *dir)
{
    static struct host_cgroup host;
    static const char *const own[] = {"cgroup.procs", "cgroup.subtree_control"};
    CHECK(test_directory(dir) != NULL);
    for (size_t i = 0; i < 2; i++)
        make_file(dir, own[i]);
    host.controllers[CGROUP_MEMORY].version = CGROUP_V2;
    host.controllers[CGROUP_MEMORY].route = CGROUP_ROUTE_LEAF;
    snprintf(host.dirs[CGROUP_MEMORY], CGROUP_PATH_SIZE, "%s", dir);
    files_of_a_group = files_of_v2;
    return &host;
}

static char first_letter(const char *dir, const char *name)
{
    char text[CGROUP_FILE_SIZE];
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0 && cgroup_read(fd, name, text) >= 0);
    close(fd);
    return text[0];
}

static int limit_memory(struct layer_cgroup *out, const struct host_cgroup *host, struct cordon_error *err)
{
    struct plan_cgroup want = PLAN_CGROUP_INIT;
    want.mem_bytes = 32 * MIB;
    return layer_cgroup_prepare(out, host, &want, err);
}

TEST(a_lock_on_the_own_group_which_others_can_open_means_nothing)
{
    char dir[] = "/tmp/cgroup-invented-XXXXXX";
    struct layer_cgroup layer = LAYER_CGROUP_INIT;
    struct cordon_error err = {0};
    const struct host_cgroup *host = own_group(dir);
    alarm(20);
    lock_alone(dir);
    CHECK_INT(limit_memory(&layer, host, &err), 0);
    CHECK_INT(mode_of_a_group & 077, 0);
    CHECK_INT(first_letter(dir, "cgroup.subtree_control"), '+');
    layer_cgroup_release(&layer); /* and undoes it */
    CHECK_INT(first_letter(dir, "cgroup.subtree_control"), '-');
}

TEST(the_last_run_that_shares_a_leaf_undoes_it)
{
    char dir[] = "/tmp/cgroup-invented-XXXXXX";
    struct layer_cgroup first = LAYER_CGROUP_INIT;
    struct layer_cgroup second = LAYER_CGROUP_INIT;
    struct cordon_error err = {0};
    const struct host_cgroup *host = own_group(dir);
    CHECK_INT(limit_memory(&first, host, &err), 0);
    CHECK_INT(limit_memory(&second, host, &err), 0);
    CHECK_STR(first.leaf, second.leaf);
    layer_cgroup_release(&first);
    CHECK_INT(first_letter(dir, "cgroup.subtree_control"), '+');
    layer_cgroup_release(&second);
    CHECK_INT(first_letter(dir, "cgroup.subtree_control"), '-');
}

TEST(a_leaf_is_removed_when_the_last_that_left_it_is_no_longer_counted)
{
    char dir[] = "/tmp/cgroup-invented-XXXXXX";
    struct layer_cgroup layer = LAYER_CGROUP_INIT;
    struct cordon_error err = {0};
    const struct host_cgroup *host = own_group(dir);
    char leaf[sizeof layer.leaf];
    CHECK_INT(limit_memory(&layer, host, &err), 0);
    snprintf(leaf, sizeof leaf, "%s", layer.leaf);
    CHECK_INT(access(leaf, F_OK), 0);
    still_counted = 3;
    layer_cgroup_release(&layer);
    CHECK_INT(still_counted, 0);
    CHECK_ERRNO(access(leaf, F_OK), ENOENT);
}

TEST(a_leaf_that_stays_locked_is_said_and_not_waited_for)
{
    char dir[] = "/tmp/cgroup-invented-XXXXXX";
    struct layer_cgroup layer = LAYER_CGROUP_INIT;
    struct cordon_error err = {0};
    const struct host_cgroup *host = own_group(dir);
    alarm(20);
    locked_by_another = true;
    CHECK_INT(limit_memory(&layer, host, &err), -EAGAIN);
    CHECK_STR(err.what, "lock cgroup");
    CHECK(strstr(err.subject, ".self") != NULL && strstr(err.why, "locked") != NULL);
    CHECK_INT(layer.group_count, 0);
}
