/*
 * Cgroup layer: limits and counts the whole tree of a sandbox.
 *
 * Lifecycle    probe(), sweep(), prepare(), release() and the questions in between run in the
 *              supervisor; enter() is the first act of the sandbox's init, so nothing of the
 *              sandbox ever runs outside.
 * Invariant    A prepared layer has every limit of the plan in force: each was read back and is
 *              not above what was asked. A failed prepare() leaves nothing behind.
 * Liveness     The supervisor holds a lock on each directory it made, which no other user can
 *              open; a directory that nobody locks, of a process that is gone, was left by a
 *              supervisor that was killed. Nobody who holds such a lock can make a run hang.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/host_cgroup.h"
#include "plan/plan_cgroup.h"

#define CGROUP_UNKNOWN UINT64_MAX /* a counter that this kernel does not offer */

/* One directory that was made; controllers of one hierarchy share it. */
struct layer_cgroup_group {
    enum cgroup_version version;
    unsigned hierarchy;
    int dir_fd;   /* owned; carries the lock */
    int procs_fd; /* owned; for writing: who writes 0 there moves in */
    char path[CGROUP_PATH_SIZE + 64];
};

struct layer_cgroup {
    struct layer_cgroup_group groups[CGROUP_CONTROLLER_COUNT];
    unsigned group_count;
    int of[CGROUP_CONTROLLER_COUNT]; /* index into groups, or -1 */

    int cpu_fd; /* owned; where cpu time is counted; -1: nobody asked. Open all the time: nothing may keep us from looking */
    int oom_fd; /* owned; -1: the kernel offers none */
    bool oom_seen;

    /* CGROUP_ROUTE_LEAF */
    int own_fd;  /* owned; the caller's own group */
    int leaf_fd; /* owned; with a shared lock */
    char leaf[CGROUP_PATH_SIZE + 64];
};

#define LAYER_CGROUP_INIT \
    ((struct layer_cgroup){.of = {-1, -1, -1, -1}, .cpu_fd = -1, .oom_fd = -1, .own_fd = -1, .leaf_fd = -1})

struct cgroup_usage {
    uint64_t cpu_usec;
    uint64_t mem_peak_bytes;
};

/* A handful of system calls for a caller without any cgroup; never reads the mount table. */
void layer_cgroup_probe(struct host_cgroup *out);

/* Where the probe looks; tests have their own tree. */
struct cgroup_source {
    const char *root;      /* "/sys/fs/cgroup" */
    const char *self_text; /* the content of /proc/self/cgroup */
    enum cgroup_version (*mounted)(const char *path); /* what is mounted there */
    bool swap;             /* this host has some: a limit on memory must hold it, too */
};
void layer_cgroup_probe_from(const struct cgroup_source *source, struct host_cgroup *out);

/* A line of /proc/self/cgroup, NUMBER:LIST:PATH, in place. */
struct cgroup_line {
    unsigned hierarchy;
    const char *list, *path; /* not terminated; NULL: there is no such line */
    size_t list_len, path_len;
};

/* Those that matter here. */
struct cgroup_lines {
    struct cgroup_line v1[CGROUP_CONTROLLER_COUNT];
    struct cgroup_line v2;
};
void cgroup_read_lines(const char *self_text, struct cgroup_lines *out);

/* One sentence: why this controller, of which the probe found none, cannot be used. */
#define CGROUP_LACK_SIZE 224
void layer_cgroup_lack(char out[static CGROUP_LACK_SIZE], const struct host_cgroup *host, enum cgroup_controller which);

/* Every controller that `want` needs must be in `host`. On failure `self` is unchanged. */
int layer_cgroup_prepare(struct layer_cgroup *self, const struct host_cgroup *host,
                         const struct plan_cgroup *want, struct cordon_error *err);

/* The directory for CLONE_INTO_CGROUP, which only v2 has; -1: none. */
int layer_cgroup_birthplace(const struct layer_cgroup *self);

/*
 * Moves the calling process in, which has one thread, as far as it was not born there; 0 or -errno. Raw
 * calls, async-signal-safe. Works after a change of uid and in a new user namespace: the credentials that
 * opened the descriptors count.
 */
long layer_cgroup_enter(const struct layer_cgroup *self, bool born_inside);

/*
 * A descriptor to poll for layer_cgroup_oom_events(); when it fires, layer_cgroup_oom_seen() says
 * whether memory really ran out, and arms it again. -1 where there is none.
 */
int layer_cgroup_oom_fd(const struct layer_cgroup *self);
short layer_cgroup_oom_events(const struct layer_cgroup *self);
bool layer_cgroup_oom_seen(struct layer_cgroup *self);

/* Counters of controllers that are not prepared are CGROUP_UNKNOWN. 0 or -errno. */
int layer_cgroup_usage(const struct layer_cgroup *self, struct cgroup_usage *out);

/* The cpu time of all, if it was asked for; 0 or -errno. */
int layer_cgroup_cpu(const struct layer_cgroup *self, uint64_t *usec);

/* Removes what prepare() made. Idempotent; safe on a layer that was never prepared. */
void layer_cgroup_release(struct layer_cgroup *self);

/* Removes empty directories that killed supervisors of the same user left. */
void layer_cgroup_sweep(const struct host_cgroup *host);
