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

struct host_cgroup_controller {
    enum cgroup_version version; /* CGROUP_NONE: not usable, `reason` says why */
    enum cgroup_route route;
    unsigned hierarchy;          /* equal for controllers that share a directory; 0 is v2 */
    char dir[CGROUP_PATH_SIZE];  /* where the sandbox's directory goes */
    char reason[224];            /* one sentence, if version is CGROUP_NONE */
};

struct host_cgroup {
    struct host_cgroup_controller controllers[CGROUP_CONTROLLER_COUNT];
    char leaf[CGROUP_PATH_SIZE]; /* CGROUP_ROUTE_LEAF: the leaf this process is in already; or "" */
    bool swap;                   /* this host has some: a limit on memory must hold it, too */
};

/* "memory", "pids", "cpuacct", "cpu"; never NULL. */
const char *cgroup_controller_name(enum cgroup_controller c);

/* The mechanism's name for the ledger: "cgroup2", "cgroup1", "none". */
const char *cgroup_version_name(enum cgroup_version v);

/* A sentence for the ledger's details about whose limits hold besides; never NULL. */
const char *cgroup_route_note(enum cgroup_route r);
