/*
 * What this caller can do with control groups, as plain data: the probe fills it, the plan reads
 * it, tests invent their own.
 */
#pragma once

#include <stdbool.h>

#define CGROUP_PATH_SIZE 1024

enum cgroup_controller {
    CGROUP_MEMORY,  /* limit the tree's sum of memory */
    CGROUP_PIDS,    /* limit the number of tasks */
    CGROUP_CPUACCT, /* count the cpu time of the tree */
    CGROUP_CPU,     /* limit the share of the cores */
    CGROUP_CONTROLLER_COUNT,
};

#define HOST_CGROUP_ROOT "/sys/fs/cgroup"

enum cgroup_version { CGROUP_NONE = 0, CGROUP_V1 = 1, CGROUP_V2 = 2 };

/* How a directory for the sandbox is made beneath `dir`. */
enum cgroup_route {
    CGROUP_ROUTE_CHILD,    /* in the caller's own group */
    CGROUP_ROUTE_LEAF,     /* the same, after this process stepped aside into a leaf (v2) */
    CGROUP_ROUTE_ANCESTOR, /* in a group above the caller's: limits of the caller's own group do
                              not hold inside */
};

/* Why a controller cannot be used; layer_cgroup_lack() has the words. */
enum cgroup_lack {
    LACK_FILE_SYSTEM, /* none is mounted where one is looked for */
    LACK_V1_MOUNT,    /* the controller is v1's, and not mounted there */
    LACK_ACCESS,      /* the own group: `errnum` */
    LACK_CROWDED,     /* it could give the controller if the caller were alone in it */
    LACK_DISABLED,
    LACK_SWAP,        /* what the host swaps out would not be counted */
};

struct host_cgroup_controller {
    enum cgroup_version version; /* CGROUP_NONE: not usable, for want of `lack` */
    enum cgroup_route route;
    unsigned hierarchy;          /* equal for controllers that share a directory; 0 is v2 */
    enum cgroup_lack lack;
    int errnum;
};

/* The long ones come last: a run that finds no cgroup touches no page of theirs but the first. */
struct host_cgroup {
    struct host_cgroup_controller controllers[CGROUP_CONTROLLER_COUNT];
    bool swap;                   /* this host has some: a limit on memory must hold it, too */
    char leaf[CGROUP_PATH_SIZE]; /* CGROUP_ROUTE_LEAF: the leaf this process is in already; or "" */
    char dirs[CGROUP_CONTROLLER_COUNT][CGROUP_PATH_SIZE]; /* of each that is usable: where the sandbox's goes */
};

/* "memory", "pids", "cpuacct", "cpu"; never NULL. */
const char *cgroup_controller_name(enum cgroup_controller c);

/* The mechanism's name for the ledger: "cgroup2", "cgroup1", "none". */
const char *cgroup_version_name(enum cgroup_version v);

/* A sentence for the ledger's details about whose limits hold besides; never NULL. */
const char *cgroup_route_note(enum cgroup_route r);
