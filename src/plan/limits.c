/* Which rung of each ladder carries a limit: cgroup v2, v1, then what works without any. */
#include "plan/build.h"

static enum cgroup_version cgroup_for(const struct plan_build *b, enum cgroup_controller c)
{
    const struct host *host = b->request->host;
    return host_off(host, OFF_CGROUP) || plan_portable(b->plan) ? CGROUP_NONE : host->cgroup.controllers[c].version;
}

static void limit_tasks(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const uint64_t most = b->policy.limits.pids;
    if (most == POLICY_UNLIMITED || plan_off(b, CAP_PIDS))
        return;
    /* Init is a task of its own in both counts; bwrap adds one that waits, and a pid 1. */
    if (cgroup_for(b, CGROUP_PIDS) != CGROUP_NONE)
        plan->cgroup.pids = most + (plan->bwrap != NULL ? 3 : 1);
    else if (plan->bare) /* there RLIMIT_NPROC would count all that this user runs */
        plan->gate_tasks = most;
    else if (!host_off(b->request->host, OFF_RLIMITS) && !plan_portable(plan))
        plan->nproc = most + 1;
}

void plan_build_limits(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const struct policy_limits *limits = &b->policy.limits;
    const bool watcher = !host_off(b->request->host, OFF_WATCHER) && !plan_portable(b->plan);

    plan->cgroup = PLAN_CGROUP_INIT;
    plan->gate_tasks = POLICY_UNLIMITED;
    plan->wall_ms = plan_off(b, CAP_WALL_TIME) ? POLICY_UNLIMITED : limits->wall_ms;
    plan->grace_ms = limits->grace_ms;
    plan->cpu_ms = plan_off(b, CAP_CPU_TIME) ? POLICY_UNLIMITED : limits->cpu_ms;
    plan->mem_bytes = plan_off(b, CAP_MEMORY) ? POLICY_UNLIMITED : limits->mem_bytes;
    plan->output_bytes = plan_off(b, CAP_OUTPUT) ? POLICY_UNLIMITED : limits->output_bytes;
    plan->output_passing = limits->output_given;
    plan->on_overflow = limits->on_overflow;

    if (plan->mem_bytes != POLICY_UNLIMITED) {
        if (cgroup_for(b, CGROUP_MEMORY) != CGROUP_NONE)
            plan->cgroup.mem_bytes = plan->mem_bytes;
        else
            plan->watch_memory = watcher;
    }
    limit_tasks(b);
    if (plan->cpu_ms != POLICY_UNLIMITED) {
        if (cgroup_for(b, CGROUP_CPUACCT) != CGROUP_NONE)
            plan->cgroup.cpu_usage = true;
        else
            plan->watch_cpu = watcher;
    }
    if (limits->cpus > 0 && cgroup_for(b, CGROUP_CPU) != CGROUP_NONE && !plan_off(b, CAP_CPU_RATE))
        plan->cgroup.cpu_quota_us = (uint64_t)(limits->cpus * PLAN_CGROUP_PERIOD_US);
    plan->use_cgroup = plan->cgroup.mem_bytes != POLICY_UNLIMITED ||
                       plan->cgroup.pids != POLICY_UNLIMITED || plan->cgroup.cpu_usage ||
                       plan->cgroup.cpu_quota_us != 0;
    /* Resident pages do not show what lies in an unmapped memfd or a System V segment. */
    plan->deny_memfd = plan->watch_memory;
}
