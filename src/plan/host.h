/*
 * Facts about this kernel, user and file tree, as plain data: layer_probe() finds them, tests
 * invent their own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "plan/host_cgroup.h"

/* What can be switched off from outside in test builds, to prove that the ledger follows. */
enum host_switch {
    OFF_MOUNTS,
    OFF_NETNS,
    OFF_IPCNS,
    OFF_LANDLOCK,
    OFF_SECCOMP,
    OFF_CGROUP,
    OFF_RLIMITS,
    OFF_KEYRING,
    OFF_CAPABILITIES,
    OFF_WATCHER,
    OFF_WIPE,
    OFF_USERNS, /* as if this host refused them */
    OFF_GATE,   /* the fork gate of the tier without them */
    OFF_HIDE,   /* names that a policy hides */
    OFF_NATIVE, /* as if this backend could not be used at all */
    OFF_BWRAP,  /* as if there were none */
    OFF_LISTENER, /* nobody names violations */
    HOST_SWITCH_COUNT,
};

const char *host_switch_name(enum host_switch s);

#define HOST_TOP_COUNT 6

/* How one of /bin, /sbin, /lib, /lib32, /lib64, /libx32 looks on the host. */
struct host_top {
    const char *path; /* "/bin" */
    bool present;
    char link[64]; /* its text if it is a symbolic link, else empty */
};

#define HOST_WORK_SIZE 64

/*
 * What is known only after a run that the host refused: namespaces are asked for by using them. The
 * caller then probes what the tier without them needs and makes a second plan.
 */
struct host_refusals {
    bool userns;               /* no user namespaces, or none that are of any use */
    bool procfs;               /* no procfs of its own, as in containers that cover parts of theirs */
    struct cordon_error error; /* of the last: the step, its errno, and what to do about it */

    const char *runtime_dir; /* the caller's, from the first plan: its environment is gone; or NULL */

    /* with userns */
    const char **top;              /* in guard mode: the paths of what stands in "/"; NULL at the end */
};

/* One mount of the host's: the part `root` of a file system stands at `point`. */
struct host_mount {
    const char *device, *root, *point;
};

struct host {
    const char *bwrap; /* a program that can be trusted; NULL: none was looked for, or found */
    uid_t uid;
    gid_t gid;
    unsigned groups;  /* supplementary groups of the caller */
    bool raises_limits; /* a program of the caller's may lift its own hard limits; asked by the posix backend alone */
    bool crash_handler; /* the host runs a program for crashes, and the caller's limit on core files cannot be raised to the
                           1 that stops it */
    int landlock_abi; /* 0: none */
    struct host_cgroup cgroup;
    unsigned cores;
    bool huge_pages;  /* there may be some to take; looked for only where a limit on memory has no filter beside it */
    struct host_top top[HOST_TOP_COUNT];
    bool nix_store;
    const char *cwd;  /* the caller's, absolute; NULL if it is gone */
    char work_dir[HOST_WORK_SIZE]; /* a name for a directory that this run alone will have, where it
                                      takes one */
    const char *home[2]; /* the caller's, by the user database and by $HOME, without links; or NULL */
    uid_t spare_uid;  /* with uid 0: a host uid that nobody uses, for this run */
    struct host_refusals refused;
    const struct host_mount *mounts; /* a later one covers; only where a policy hides names */
    size_t mount_count;
    uint32_t off;     /* bits 1 << enum host_switch */
    uint32_t off_capabilities; /* bits 1 << enum capability */
};

static inline bool host_off(const struct host *host, enum host_switch s)
{
    return (host->off >> s & 1) != 0;
}
