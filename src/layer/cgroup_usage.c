#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/fd.h"
#include "layer/cgroup.h"
#include "layer/cgroup_file.h"

#define KILL_ROUNDS 1000 /* a millisecond each */

/* The group that carries a controller, or NULL. */
static const struct layer_cgroup_group *group_of(const struct layer_cgroup *self,
                                                 enum cgroup_controller which)
{
    return self->of[which] < 0 ? NULL : &self->groups[self->of[which]];
}

int layer_cgroup_oom_fd(const struct layer_cgroup *self)
{
    return self->oom_fd;
}

short layer_cgroup_oom_events(const struct layer_cgroup *self)
{
    const struct layer_cgroup_group *memory = group_of(self, CGROUP_MEMORY);
    /* A file of v2 is always readable; news is exceptional. */
    return memory != NULL && memory->version == CGROUP_V2 ? POLLPRI : POLLIN;
}

bool layer_cgroup_oom_seen(struct layer_cgroup *self)
{
    const struct layer_cgroup_group *memory = group_of(self, CGROUP_MEMORY);
    uint64_t count = 0;
    if (memory == NULL)
        return false;
    if (memory->version == CGROUP_V1) {
        /* The event comes before the kill is counted, so it is evidence of its own. */
        if (self->oom_fd >= 0 && read(self->oom_fd, &count, sizeof count) == (ssize_t)sizeof count)
            self->oom_seen = true;
        else if (cgroup_read_key(memory->dir_fd, "memory.oom_control", "oom_kill", &count) == 0)
            self->oom_seen = self->oom_seen || count > 0;
        return self->oom_seen;
    }
    char text[CGROUP_FILE_SIZE];
    ssize_t n = self->oom_fd < 0 ? cgroup_read(memory->dir_fd, "memory.events", text)
                                 : pread(self->oom_fd, text, sizeof text - 1, 0);
    if (n < 0)
        return self->oom_seen;
    text[n] = '\0';
    uint64_t kills = 0;
    (void)cgroup_find_key(text, "oom", &count);
    (void)cgroup_find_key(text, "oom_kill", &kills);
    self->oom_seen = self->oom_seen || count > 0 || kills > 0;
    return self->oom_seen;
}

/* A counter that this kernel lacks stays unknown; any other failure is one. */
static int optional(int r)
{
    return r == -ENOENT || r == -ENODATA ? 0 : r;
}

static int memory_usage(const struct layer_cgroup_group *group, struct cgroup_usage *out)
{
    const bool v2 = group->version == CGROUP_V2;
    const int dir = group->dir_fd;
    int r = optional(cgroup_read_u64(dir, v2 ? "memory.peak" : "memory.max_usage_in_bytes",
                                     &out->mem_peak_bytes));
    if (r == 0)
        r = optional(cgroup_read_key(dir, v2 ? "memory.events" : "memory.oom_control", "oom_kill",
                                     &out->oom_kills));
    return r;
}

int layer_cgroup_cpu(const struct layer_cgroup *self, uint64_t *usec)
{
    const struct layer_cgroup_group *group = group_of(self, CGROUP_CPUACCT);
    char text[CGROUP_FILE_SIZE];
    if (group == NULL)
        return -ENODATA;
    const ssize_t n = pread(self->cpu_fd, text, sizeof text - 1, 0);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    if (group->version == CGROUP_V2)
        return cgroup_find_key(text, "usage_usec", usec);
    uint64_t ns = 0;
    int r = cgroup_number(text, &ns);
    if (r == 0)
        *usec = ns / 1000;
    return r;
}

int layer_cgroup_usage(const struct layer_cgroup *self, struct cgroup_usage *out)
{
    struct cgroup_usage usage = {CGROUP_UNKNOWN, CGROUP_UNKNOWN, CGROUP_UNKNOWN, CGROUP_UNKNOWN};
    const struct layer_cgroup_group *memory = group_of(self, CGROUP_MEMORY);
    const struct layer_cgroup_group *pids = group_of(self, CGROUP_PIDS);
    int r = memory == NULL ? 0 : memory_usage(memory, &usage);
    if (r == 0 && pids != NULL)
        r = optional(cgroup_read_key(pids->dir_fd, "pids.events", "max", &usage.pids_denied));
    if (r == 0 && self->cpu_fd >= 0)
        r = layer_cgroup_cpu(self, &usage.cpu_usec);
    if (r == 0)
        *out = usage;
    return r;
}

/* One reading of cgroup.procs; true if it was empty. With `sig`, every process in it gets that. */
static bool visit(const struct layer_cgroup_group *group, int sig)
{
    char text[CGROUP_FILE_SIZE];
    if (cgroup_read(group->dir_fd, "cgroup.procs", text) < 0)
        return false;
    bool empty = text[0] == '\0';
    for (char *p = text; sig != 0 && *p != '\0';) {
        char *end;
        long pid = strtol(p, &end, 10);
        if (*end != '\n')
            break; /* the last number may be cut; the next round sees it */
        if (pid > 1)
            kill((pid_t)pid, sig);
        p = end + 1;
    }
    return empty;
}

bool layer_cgroup_empty(const struct layer_cgroup *self)
{
    /* All groups hold the same processes: each entered all of them before it could fork. */
    return self->group_count == 0 || visit(&self->groups[0], 0);
}

int layer_cgroup_kill(const struct layer_cgroup *self)
{
    const struct layer_cgroup_group *group = NULL;
    for (unsigned i = 0; i < self->group_count; i++) {
        if (group == NULL || self->groups[i].version == CGROUP_V2)
            group = &self->groups[i];
    }
    if (group == NULL)
        return 0;
    /* cgroup.kill came with Linux 5.14; without it, new children may appear between two rounds. */
    bool at_once =
        group->version == CGROUP_V2 && cgroup_write(group->dir_fd, "cgroup.kill", "1") == 0;
    for (int i = 0; i < KILL_ROUNDS; i++) {
        if (visit(group, at_once ? 0 : SIGKILL))
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return -EBUSY;
}
