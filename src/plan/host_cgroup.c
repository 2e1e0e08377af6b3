#include "plan/host_cgroup.h"

const char *cgroup_controller_name(enum cgroup_controller c)
{
    switch (c) {
    case CGROUP_MEMORY:
        return "memory";
    case CGROUP_PIDS:
        return "pids";
    case CGROUP_CPUACCT:
        return "cpuacct";
    case CGROUP_CPU:
        return "cpu";
    case CGROUP_CONTROLLER_COUNT:
        break;
    }
    return "none";
}

const char *cgroup_version_name(enum cgroup_version v)
{
    switch (v) {
    case CGROUP_V1:
        return "cgroup1";
    case CGROUP_V2:
        return "cgroup2";
    case CGROUP_NONE:
        break;
    }
    return "none";
}

const char *cgroup_route_note(enum cgroup_route r)
{
    switch (r) {
    case CGROUP_ROUTE_CHILD:
        return "beneath the caller's own cgroup";
    case CGROUP_ROUTE_LEAF:
        return "beneath the caller's own cgroup, in which the caller moved into a leaf meanwhile";
    case CGROUP_ROUTE_ANCESTOR:
        break;
    }
    return "beneath a cgroup above the caller's: limits of the caller's own do not hold inside";
}
