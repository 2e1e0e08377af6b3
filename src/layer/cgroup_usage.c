#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "layer/cgroup.h"
#include "layer/cgroup_file.h"

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

/* v1 tells all groups beneath the one that is full: a container's end of memory is not the end of ours. */
static bool is_full(const struct layer_cgroup_group *memory)
{
    static const char *const files[] = {"memory.failcnt", "memory.memsw.failcnt"};
    bool counted = false;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        uint64_t times = 0;
        if (cgroup_read_u64(memory->dir_fd, files[i], &times) < 0)
            continue;
        if (times > 0)
            return true;
        counted = true;
    }
    return !counted;
}

bool layer_cgroup_oom_seen(struct layer_cgroup *self)
{
    const struct layer_cgroup_group *memory = group_of(self, CGROUP_MEMORY);
    uint64_t count = 0;
    if (memory == NULL)
        return false;
    if (memory->version == CGROUP_V1) {
        /* The event comes before the kill is counted, so it is evidence of its own. */
        if (self->oom_fd >= 0 && read(self->oom_fd, &count, sizeof count) == (ssize_t)sizeof count && is_full(memory))
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
    struct cgroup_usage usage = {CGROUP_UNKNOWN, CGROUP_UNKNOWN};
    const struct layer_cgroup_group *memory = group_of(self, CGROUP_MEMORY);
    int r = 0;
    if (memory != NULL) {
        const char *file = memory->version == CGROUP_V2 ? "memory.peak" : "memory.max_usage_in_bytes";
        r = cgroup_read_u64(memory->dir_fd, file, &usage.mem_peak_bytes);
    }
    if (r == -ENOENT) /* this kernel does not count it */
        r = 0;
    if (r == 0 && self->cpu_fd >= 0)
        r = layer_cgroup_cpu(self, &usage.cpu_usec);
    if (r == 0)
        *out = usage;
    return r;
}
