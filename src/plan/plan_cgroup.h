/* The part of a plan that a cgroup carries out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/parse.h"

struct plan_cgroup {
    uint64_t mem_bytes;    /* PARSE_UNLIMITED: no memory cgroup */
    uint64_t pids;         /* tasks, the sandbox's init too; PARSE_UNLIMITED: no pids cgroup */
    uint64_t cpu_quota_us; /* of each period of 100 ms, over all cores; 0: no rate */
    bool cpu_usage;        /* count the cpu time */
};

#define PLAN_CGROUP_INIT \
    ((struct plan_cgroup){.mem_bytes = PARSE_UNLIMITED, .pids = PARSE_UNLIMITED})
#define PLAN_CGROUP_PERIOD_US 100000
