#include "layer/cgroup.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "layer/cgroup_file.h"
#include "sys/files.h"
#include "sys/lock.h"

#define RMDIR_TRIES 200 /* a millisecond each: a task that is ending still counts */
#define LOCK_TRIES 200  /* a millisecond each: a lock that somebody of ours holds alone is held for a moment */
#define SWEEP_MAX 64    /* directories that one sweep looks at, in each hierarchy */

static int fail(struct cordon_error *err, int errnum, const char *what, const char *dir,
                const char *name)
{
    char subject[CGROUP_PATH_SIZE + 128]; /* err_set() cuts what does not fit */
    snprintf(subject, sizeof subject, "%s%s%s", dir, name[0] == '\0' ? "" : "/", name);
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_CGROUP, errnum, what, subject);
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* A fresh "DIR/cordon.PID.RANDOM"; its descriptor or -errno. */
static int make_dir(const char *dir, char *path, size_t size)
{
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return -EIO;
    int n = snprintf(path, size, "%s/%s%d.%016" PRIx64, dir, CGROUP_NAME_PREFIX, (int)getpid(),
                     random);
    if (n < 0 || (size_t)n >= size)
        return -ENAMETOOLONG;
    if (mkdir(path, CGROUP_DIR_MODE) < 0)
        return -errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? -errno : fd;
    if (fd < 0)
        rmdir(path);
    return r;
}

/* Sets a limit; in force is what the kernel says, not what was written. */
static int limit(const struct layer_cgroup_group *group, const char *file, uint64_t want,
                 struct cordon_error *err)
{
    uint64_t value = 0;
    int r = cgroup_exchange_u64(group->dir_fd, file, want, &value);
    if (r < 0)
        return fail(err, -r, "set cgroup limit", group->path, file);
    if (value > want) {
        fail(err, EIO, "set cgroup limit", group->path, file);
        err_why(err, "the kernel keeps a higher limit than was written");
        return -EIO;
    }
    return 0;
}

/* Kernels that were told not to count swap lack the file, as some do that have none. */
static int limit_swap(const struct layer_cgroup_group *group, const char *file, uint64_t want,
                      bool has_swap, struct cordon_error *err)
{
    int r = limit(group, file, want, NULL);
    if (r == 0 || (r == -ENOENT && !has_swap))
        return 0;
    fail(err, -r, "set cgroup limit", group->path, file);
    if (r == -ENOENT)
        err_remedy(err, "boot the kernel with swapaccount=1: it does not count what this host swaps out");
    return r;
}

/* v1: an eventfd that counts; v2: the events file itself, which wakes those who have read it. */
static int open_oom_fd(const struct layer_cgroup_group *group)
{
    if (group->version == CGROUP_V2) {
        FD_AUTO events = openat(group->dir_fd, "memory.events", O_RDONLY | O_CLOEXEC);
        char text[CGROUP_FILE_SIZE];
        if (events < 0 || pread(events, text, sizeof text, 0) < 0)
            return -1;
        return fd_take(&events);
    }
    FD_AUTO control = openat(group->dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
    FD_AUTO event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    char text[32];
    snprintf(text, sizeof text, "%d %d", event, control);
    if (control < 0 || event < 0 ||
        cgroup_write(group->dir_fd, "cgroup.event_control", text) < 0)
        return -1;
    return fd_take(&event);
}

static int limit_memory(struct layer_cgroup *self, uint64_t bytes, bool has_swap,
                        struct cordon_error *err)
{
    const struct layer_cgroup_group *group = &self->groups[self->of[CGROUP_MEMORY]];
    int r;
    if (group->version == CGROUP_V2) {
        r = limit(group, "memory.max", bytes, err);
        if (r == 0)
            r = limit_swap(group, "memory.swap.max", 0, has_swap, err);
        if (r == 0) {
            r = cgroup_write(group->dir_fd, "memory.oom.group", "1");
            if (r < 0)
                return fail(err, -r, "write cgroup file", group->path, "memory.oom.group");
        }
    } else {
        r = limit(group, "memory.limit_in_bytes", bytes, err);
        if (r == 0) /* must not be below the limit, so it comes second */
            r = limit_swap(group, "memory.memsw.limit_in_bytes", bytes, has_swap, err);
    }
    if (r == 0)
        self->oom_fd = open_oom_fd(group);
    return r;
}

static int limit_cpu(const struct layer_cgroup *self, uint64_t quota_us, struct cordon_error *err)
{
    const struct layer_cgroup_group *group = &self->groups[self->of[CGROUP_CPU]];
    if (group->version == CGROUP_V1) {
        int r = cgroup_write_u64(group->dir_fd, "cpu.cfs_period_us", PLAN_CGROUP_PERIOD_US);
        if (r < 0)
            return fail(err, -r, "write cgroup limit", group->path, "cpu.cfs_period_us");
        return limit(group, "cpu.cfs_quota_us", quota_us, err);
    }
    /* "QUOTA PERIOD"; a quota alone keeps the period, which is 100 ms in a new group. */
    return limit(group, "cpu.max", quota_us, err);
}

static int open_cpu(struct layer_cgroup *self, struct cordon_error *err)
{
    const struct layer_cgroup_group *group = &self->groups[self->of[CGROUP_CPUACCT]];
    const char *file = group->version == CGROUP_V2 ? "cpu.stat" : "cpuacct.usage";
    self->cpu_fd = openat(group->dir_fd, file, O_RDONLY | O_CLOEXEC);
    return self->cpu_fd < 0 ? fail(err, errno, "open", group->path, file) : 0;
}

/* The leaf as it stands there now, with a shared lock; its descriptor, -EAGAIN if it is going or locked, or -errno. */
static int hold_leaf(const char *leaf)
{
    struct stat held, named;
    if (mkdir(leaf, CGROUP_DIR_MODE) < 0 && errno != EEXIST)
        return -errno;
    FD_AUTO fd = open(leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    int r = sys_flock(fd, SYS_LOCK_SHARED | SYS_LOCK_TRY);
    if (r < 0)
        return r;
    if (fstat(fd, &held) < 0 || stat(leaf, &named) < 0 || held.st_ino != named.st_ino)
        return -EAGAIN; /* another run of this process has just left it */
    return fd_take(&fd);
}

/*
 * Makes room in the own group of v2: this process goes into a leaf, because a group with processes
 * cannot pass controllers on. The shared lock tells the last run of this process to undo it. It is on
 * the leaf, which nobody else can open: the own group is often for all to read, and so to lock.
 */
static int step_aside(struct layer_cgroup *self, const char *own, const char *leaf,
                      const struct plan_cgroup *want, struct cordon_error *err)
{
    int fd = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail(err, errno, "open cgroup", own, "");
    self->own_fd = fd;
    /* One leaf for all runs of this process, so a second one finds it; the probe's may be gone. */
    if (leaf[0] != '\0' && access(leaf, F_OK) == 0)
        snprintf(self->leaf, sizeof self->leaf, "%s", leaf);
    else
        snprintf(self->leaf, sizeof self->leaf, "%s/%s%d%s", own, CGROUP_NAME_PREFIX, (int)getpid(),
                 CGROUP_LEAF_SUFFIX);
    for (int i = 0; (self->leaf_fd = hold_leaf(self->leaf)) == -EAGAIN && i < LOCK_TRIES; i++)
        pause_briefly();
    if (self->leaf_fd == -EAGAIN) {
        fail(err, EAGAIN, "lock cgroup", self->leaf, "");
        err_why(err, "another process of this user holds it locked");
        return -EAGAIN;
    }
    if (self->leaf_fd < 0)
        return fail(err, -self->leaf_fd, "make cgroup", self->leaf, "");
    int r = cgroup_write(self->leaf_fd, "cgroup.procs", "0");
    if (r < 0)
        return fail(err, -r, "move into cgroup", self->leaf, "");
    const char *enable[] = {want->mem_bytes != PARSE_UNLIMITED ? "+memory" : NULL,
                            want->pids != PARSE_UNLIMITED ? "+pids" : NULL,
                            want->cpu_quota_us != 0 ? "+cpu" : NULL};
    for (size_t i = 0; i < sizeof enable / sizeof enable[0]; i++) {
        r = enable[i] == NULL ? 0 : cgroup_write(fd, "cgroup.subtree_control", enable[i]);
        if (r < 0)
            return fail(err, -r, "enable cgroup controller", own, enable[i] + 1);
    }
    return 0;
}

static void remove_dir(const char *path)
{
    for (int i = 0; i < RMDIR_TRIES; i++) {
        if (rmdir(path) == 0 || errno != EBUSY)
            return;
        pause_briefly();
    }
}

/* The other direction; only the last run that shares the leaf finds the lock free. */
static void step_back(struct layer_cgroup *self)
{
    if (self->leaf_fd >= 0 && sys_flock(self->leaf_fd, SYS_LOCK_EXCLUSIVE | SYS_LOCK_TRY) == 0) {
        static const char *const disable[] = {"-memory", "-pids", "-cpu"};
        for (size_t i = 0; i < sizeof disable / sizeof disable[0]; i++)
            cgroup_write(self->own_fd, "cgroup.subtree_control", disable[i]);
        cgroup_write(self->own_fd, "cgroup.procs", "0");
        remove_dir(self->leaf);
    }
    fd_close(&self->leaf_fd);
    fd_close(&self->own_fd);
    self->leaf[0] = '\0';
}

/*
 * For those who sweep in another pid namespace, where the number in the name says nothing. They hold a directory alone
 * for a moment; whoever does for longer keeps them away as well, so nobody is waited for: what they could take
 * away is an empty directory, and a run that finds it gone fails.
 */
static void lock_group(int fd)
{
    for (int i = 0; sys_flock(fd, SYS_LOCK_SHARED | SYS_LOCK_TRY) == -EAGAIN && i < LOCK_TRIES; i++)
        pause_briefly();
}

static int add_group(struct layer_cgroup *self, const struct host_cgroup_controller *c, const char *dir,
                     struct cordon_error *err)
{
    struct layer_cgroup_group *group = &self->groups[self->group_count];
    *group = (struct layer_cgroup_group){
        .version = c->version, .hierarchy = c->hierarchy, .dir_fd = -1, .procs_fd = -1};
    int fd = make_dir(dir, group->path, sizeof group->path);
    if (fd < 0)
        return fail(err, -fd, "make cgroup", dir, "");
    group->dir_fd = fd;
    self->group_count++; /* from here on release() removes it */
    lock_group(fd);
    /* A thread may move itself without a lock. To move a process is to wait for all cores, some 10 ms; v2 has only that,
     * but there init can be born inside. */
    const char *door = c->version == CGROUP_V1 ? "tasks" : "cgroup.procs";
    group->procs_fd = openat(fd, door, O_WRONLY | O_CLOEXEC);
    if (group->procs_fd < 0)
        return fail(err, errno, "open", group->path, door);
    return 0;
}

/* One controller: a directory of its own, or the one of its hierarchy that exists already. */
static int add_controller(struct layer_cgroup *self, const struct host_cgroup *host,
                          enum cgroup_controller which, struct cordon_error *err)
{
    const struct host_cgroup_controller *c = &host->controllers[which];
    if (c->version == CGROUP_NONE) {
        char why[CGROUP_LACK_SIZE];
        layer_cgroup_lack(why, host, which);
        err_set(err, CORDON_ERROR_PARTIAL, CORDON_LAYER_CGROUP, EOPNOTSUPP, "use cgroup controller",
                cgroup_controller_name(which));
        err_why(err, why);
        return -EOPNOTSUPP;
    }
    unsigned i = 0;
    while (i < self->group_count && self->groups[i].hierarchy != c->hierarchy)
        i++;
    if (i == self->group_count) {
        int r = add_group(self, c, host->dirs[which], err);
        if (r < 0)
            return r;
    }
    self->of[which] = (int)i;
    return 0;
}

static int build(struct layer_cgroup *self, const struct host_cgroup *host,
                 const struct plan_cgroup *want, struct cordon_error *err)
{
    const bool wanted[CGROUP_CONTROLLER_COUNT] = {
        [CGROUP_MEMORY] = want->mem_bytes != PARSE_UNLIMITED,
        [CGROUP_PIDS] = want->pids != PARSE_UNLIMITED,
        [CGROUP_CPUACCT] = want->cpu_usage,
        [CGROUP_CPU] = want->cpu_quota_us != 0,
    };
    int r = 0;
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT && r == 0; i++) {
        const struct host_cgroup_controller *c = &host->controllers[i];
        if (!wanted[i])
            continue;
        if (c->version == CGROUP_V2 && c->route == CGROUP_ROUTE_LEAF && i != CGROUP_CPUACCT &&
            self->own_fd < 0)
            r = step_aside(self, host->dirs[i], host->leaf, want, err);
        if (r == 0)
            r = add_controller(self, host, (enum cgroup_controller)i, err);
    }
    if (r == 0 && wanted[CGROUP_MEMORY])
        r = limit_memory(self, want->mem_bytes, host->swap, err);
    if (r == 0 && wanted[CGROUP_PIDS])
        r = limit(&self->groups[self->of[CGROUP_PIDS]], "pids.max", want->pids, err);
    if (r == 0 && wanted[CGROUP_CPUACCT])
        r = open_cpu(self, err);
    if (r == 0 && wanted[CGROUP_CPU])
        r = limit_cpu(self, want->cpu_quota_us, err);
    return r;
}

int layer_cgroup_prepare(struct layer_cgroup *self, const struct host_cgroup *host,
                         const struct plan_cgroup *want, struct cordon_error *err)
{
    assert(self->group_count == 0);
    struct layer_cgroup made = LAYER_CGROUP_INIT;
    int r = build(&made, host, want, err);
    if (r < 0) {
        layer_cgroup_release(&made);
        return r;
    }
    *self = made;
    return 0;
}

int layer_cgroup_birthplace(const struct layer_cgroup *self)
{
    for (unsigned i = 0; i < self->group_count; i++) {
        if (self->groups[i].version == CGROUP_V2)
            return self->groups[i].dir_fd;
    }
    return -1;
}

long layer_cgroup_enter(const struct layer_cgroup *self, bool born_inside)
{
    for (unsigned i = 0; i < self->group_count; i++) {
        if (born_inside && self->groups[i].version == CGROUP_V2)
            continue;
        long r = sys_write(self->groups[i].procs_fd, "0", 1);
        if (r < 0)
            return r;
    }
    return 0;
}

void layer_cgroup_release(struct layer_cgroup *self)
{
    fd_close(&self->cpu_fd);
    fd_close(&self->oom_fd);
    for (unsigned i = 0; i < self->group_count; i++) {
        fd_close(&self->groups[i].procs_fd);
        remove_dir(self->groups[i].path);
        fd_close(&self->groups[i].dir_fd);
    }
    step_back(self);
    *self = LAYER_CGROUP_INIT;
}

/* True if nobody who could be using the directory is alive. */
static bool abandoned(int parent_fd, const char *name)
{
    struct stat st;
    char *end;
    long pid = strtol(name + strlen(CGROUP_NAME_PREFIX), &end, 10);
    if (*end != '.' || pid <= 0 || pid > INT32_MAX || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != geteuid())
        return false;
    /* The number may belong to another pid namespace; the lock does not. */
    FD_AUTO fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && sys_flock(fd, SYS_LOCK_EXCLUSIVE | SYS_LOCK_TRY) == 0;
}

static void sweep_dir(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    int seen = 0;
    for (struct dirent *e; seen < SWEEP_MAX && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, CGROUP_NAME_PREFIX, strlen(CGROUP_NAME_PREFIX)) != 0)
            continue;
        seen++;
        if (abandoned(dirfd(dir), e->d_name))
            unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR); /* EBUSY if something lives in it */
    }
    closedir(dir);
}

void layer_cgroup_sweep(const struct host_cgroup *host)
{
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        bool done = host->controllers[i].version == CGROUP_NONE;
        for (unsigned j = 0; j < i && !done; j++)
            done = host->controllers[j].version != CGROUP_NONE && strcmp(host->dirs[j], host->dirs[i]) == 0;
        if (!done)
            sweep_dir(host->dirs[i]);
    }
}
