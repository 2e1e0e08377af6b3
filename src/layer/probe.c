#include "layer/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/fd.h"
#include "layer/cgroup.h"
#include "layer/mount_table.h"
#include "sys/landlock.h"

/* Above everything that distributions, containers and systemd hand out, below what 32-bit signed
 * numbers cannot hold. */
#define SPARE_UID_FIRST 0x70000000u
#define SPARE_UID_BITS 28

static const char *const switch_names[] = {
    [OFF_MOUNTS] = "mounts",     [OFF_NETNS] = "netns",     [OFF_IPCNS] = "ipcns",
    [OFF_LANDLOCK] = "landlock", [OFF_SECCOMP] = "seccomp", [OFF_CGROUP] = "cgroup",
    [OFF_RLIMITS] = "rlimits",   [OFF_KEYRING] = "keyring", [OFF_CAPABILITIES] = "capabilities",
    [OFF_WATCHER] = "watcher",   [OFF_WIPE] = "wipe",
    [OFF_USERNS] = "userns",     [OFF_GATE] = "gate",        [OFF_LISTENER] = "listener",
    [OFF_HIDE] = "hide",         [OFF_NATIVE] = "native",     [OFF_BWRAP] = "bwrap",
};

const char *host_switch_name(enum host_switch s)
{
    return switch_names[s];
}

static void probe_top(struct host *out)
{
    static const char *const paths[HOST_TOP_COUNT] = {"/bin",   "/sbin",  "/lib",
                                                      "/lib32", "/lib64", "/libx32"};
    for (size_t i = 0; i < HOST_TOP_COUNT; i++) {
        struct host_top *top = &out->top[i];
        top->path = paths[i];
        ssize_t n = readlink(top->path, top->link, sizeof top->link - 1);
        top->present = n > 0 || (n < 0 && errno == EINVAL);
        top->link[n > 0 ? n : 0] = '\0';
    }
}

/* Not sysconf(): glibc reads files for it. */
static unsigned cores_of(void)
{
    unsigned long mask[64] = {0};
    unsigned cores = 0;
    long n = sys_call(SYS_sched_getaffinity, 0, sizeof mask, mask);
    for (long i = 0; i < n / (long)sizeof mask[0]; i++)
        cores += (unsigned)__builtin_popcountl(mask[i]);
    return cores > 0 ? cores : 1;
}

/* A file of sysfs with a number in it, which is not 0. */
static bool is_set(int dir, const char *size, const char *name)
{
    char path[300];
    char first = '0';
    snprintf(path, sizeof path, "%s/%s", size, name);
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    bool set = fd >= 0 && read(fd, &first, 1) == 1 && first != '0';
    if (fd >= 0)
        close(fd);
    return set;
}

/* Pages of any size, in the pool or to be had beyond it. Without sysfs nobody knows. */
static bool has_huge_pages(void)
{
    bool found = false;
    DIR *sizes = opendir("/sys/kernel/mm/hugepages");
    if (sizes == NULL)
        return access("/sys/kernel/mm", F_OK) < 0;
    for (const struct dirent *entry; !found && (entry = readdir(sizes)) != NULL;)
        found = is_set(dirfd(sizes), entry->d_name, "nr_hugepages") ||
                is_set(dirfd(sizes), entry->d_name, "nr_overcommit_hugepages");
    closedir(sizes);
    return found;
}

/* 1 is above a hard limit of 0, and only 1 stops a handler. */
static bool has_crash_handler(void)
{
    struct rlimit core;
    char first = '|';
    if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max > 0)
        return false;
    FD_AUTO fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    const ssize_t ignored = fd < 0 ? 0 : read(fd, &first, 1);
    (void)ignored;
    return first == '|';
}

uid_t layer_probe_spare_uid(uint32_t random)
{
    const uid_t usual = SPARE_UID_FIRST + random % ((1u << SPARE_UID_BITS) - 2);
    unsigned long first = 0;
    unsigned long count = 0;
    unsigned long largest_first = 0;
    unsigned long largest = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    while (map != NULL && fscanf(map, "%lu %*u %lu", &first, &count) == 2) {
        if (count > largest) {
            largest = count;
            largest_first = first;
        }
    }
    if (map != NULL)
        fclose(map);
    if (largest < 2 || (usual >= largest_first && usual - largest_first < largest))
        return usual;
    return (uid_t)(largest_first + largest / 2 + random % (largest - largest / 2));
}

/* As getcwd() would name it. */
static const char *without_links(struct arena *arena, const char *path)
{
    char room[PATH_MAX];
    return path != NULL && realpath(path, room) != NULL ? arena_strdup(arena, room) : NULL;
}

/* The user database by its file: name services would load code into this process. */
static const char *database_home(struct arena *arena, uid_t uid)
{
    char line[1024];
    const char *home = NULL;
    FILE *file = fopen("/etc/passwd", "re");
    while (file != NULL && home == NULL && fgets(line, sizeof line, file) != NULL) {
        const char *fields[6] = {NULL};
        char *rest = line;
        for (int i = 0; i < 6 && (fields[i] = strsep(&rest, ":")) != NULL; i++) {
        }
        if (fields[5] != NULL && strtoul(fields[2], NULL, 10) == uid)
            home = without_links(arena, fields[5]);
    }
    if (file != NULL)
        fclose(file);
    return home;
}

static const char *named_home(struct arena *arena, char *const *env)
{
    for (; *env != NULL; env++) {
        if (strncmp(*env, "HOME=/", 6) == 0)
            return without_links(arena, *env + 5);
    }
    return NULL;
}

int layer_probe(struct host *out, struct arena *arena, const struct policy *policy, char *const *caller_env,
                struct cordon_error *err)
{
    uint32_t random = 0;
    out->uid = geteuid();
    out->gid = getegid();

    int groups = getgroups(0, NULL);
    out->groups = groups > 0 ? (unsigned)groups : 0;
    out->crash_handler = has_crash_handler();
    int abi = sys_landlock_abi();
    out->landlock_abi = abi > 0 ? abi : 0;
    out->cores = cores_of();
    if (policy->fs_mode == FS_VIEW && policy->system_ro) {
        probe_top(out);
        out->nix_store = access("/nix/store", F_OK) == 0;
    }
    if (policy->rw_cwd) {
        out->home[0] = database_home(arena, out->uid);
        out->home[1] = named_home(arena, caller_env);
    }
    out->cwd = cwd_name(arena);
    const struct policy_limits *limits = &policy->limits;
    if (limits->mem_bytes != POLICY_UNLIMITED || limits->pids != POLICY_UNLIMITED ||
        limits->cpu_ms != POLICY_UNLIMITED || limits->cpus > 0)
        layer_cgroup_probe(&out->cgroup);
    out->huge_pages =
        policy->seccomp == SECCOMP_OFF && limits->mem_bytes != POLICY_UNLIMITED && has_huge_pages();
    if (policy->hide.count > 0) {
        int r = layer_mount_table(arena, &out->mounts, &out->mount_count, err);
        if (r < 0)
            return r;
    }
    if (out->uid != 0)
        return 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_IDENTITY, errno, "choose a host uid", "getrandom");
    out->spare_uid = layer_probe_spare_uid(random);
    return 0;
}
