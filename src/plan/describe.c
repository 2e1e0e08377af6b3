/* The words of the ledger: what was asked for as JSON, and how well it holds as a sentence. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/build.h"

static void put_number(struct plan_words *out, uint64_t value)
{
    if (value == POLICY_UNLIMITED)
        snprintf(out->requested, sizeof out->requested, "null");
    else
        snprintf(out->requested, sizeof out->requested, "%" PRIu64, value);
}

static void put_word(struct plan_words *out, const char *word)
{
    snprintf(out->requested, sizeof out->requested, "\"%s\"", word);
}

static void requested(const struct plan *plan, enum capability c, struct plan_words *out)
{
    const struct policy *policy = plan->policy;
    const struct policy_limits *limits = &policy->limits;
    switch (c) {
    case CAP_WALL_TIME:
        put_number(out, limits->wall_ms);
        return;
    case CAP_CPU_TIME:
        put_number(out, limits->cpu_ms);
        return;
    case CAP_CPU_RATE:
        snprintf(out->requested, sizeof out->requested, "%.10g", limits->cpus);
        return;
    case CAP_MEMORY:
        put_number(out, limits->mem_bytes);
        return;
    case CAP_PIDS:
        put_number(out, limits->pids);
        return;
    case CAP_OPEN_FILES:
        put_number(out, limits->nofile);
        return;
    case CAP_OUTPUT:
        put_number(out, limits->output_bytes);
        return;
    case CAP_FILESYSTEM:
        put_word(out, policy_fs_mode_name(policy->fs_mode));
        return;
    case CAP_NETWORK:
        if (policy->net != NET_HOST)
            put_word(out, policy_net_name(policy->net));
        return;
    case CAP_SYSCALLS:
        if (policy->seccomp != SECCOMP_OFF)
            put_word(out, policy_seccomp_name(policy->seccomp));
        return;
    case CAP_IPC:
        put_word(out, plan->netns || plan_on_host_paths(plan) || plan_scopes_sockets(plan)
                          ? "private"
                          : "private, but abstract sockets of the host's network");
        return;
    default:
        snprintf(out->requested, sizeof out->requested, "true");
        return;
    }
}

static const char *route(const struct plan *plan, enum cgroup_controller c)
{
    return cgroup_route_note(plan->host->cgroup.controllers[c].route);
}

/* A bind brings back what guard mode covers there. */
static bool shows_run(const struct policy *policy)
{
    const struct policy_binds *lists[] = {&policy->rw, &policy->ro};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            const struct policy_bind *bind = &lists[k]->items[i];
            if (policy_path_beneath(bind->host, "/run") || policy_path_beneath("/run", bind->host) ||
                policy_path_beneath(bind->sandbox, "/run"))
                return true;
        }
    }
    return false;
}

/* Sockets in the file system are reached by whoever can name them. */
const char *plan_named_sockets(const struct policy *policy)
{
    if (policy->fs_mode == FS_GUARD)
        return shows_run(policy) ? "; unix sockets and fifos can still be reached"
                                 : "; unix sockets and fifos outside /run can still be reached";
    if (policy->rw.count + policy->ro.count > 0 || policy->rw_cwd || policy->work == WORK_HOST)
        return "; unix sockets and fifos inside the listed binds can be reached";
    return "";
}

const char *plan_inherited(const struct policy *policy)
{
    return policy->env.inherit ? "; the policy passes on all variables but the denied ones" : "";
}

const char *plan_forbidden(const struct plan *plan)
{
    return plan->on_forbidden == FORBIDDEN_KILL           ? "kills"
           : plan->on_forbidden == FORBIDDEN_KILL_SOCKETS ? "fails, a socket kills"
                                                          : "fails";
}

#define SAY(...) snprintf(out->details, sizeof out->details, __VA_ARGS__)

static void limit_details(const struct plan *plan, enum capability c, struct plan_words *out)
{
    switch (c) {
    case CAP_WALL_TIME:
        SAY("SIGTERM at %" PRIu64 " ms, everything inside is killed %" PRIu64 " ms later", plan->wall_ms,
            plan->grace_ms);
        return;
    case CAP_CPU_TIME:
        if (plan->cgroup.cpu_usage)
            SAY("total of the tree, read at least every 100 ms: it may be exceeded by 100 ms on each core; %s",
                route(plan, CGROUP_CPUACCT));
        else
            SAY("total of the tree, sampled at least every 100 ms; of children that nobody reaps (SIGCHLD ignored) "
                "as much is missed as others use until the next sample; the backstop is wall time on each core");
        return;
    case CAP_CPU_RATE:
        SAY("cores of the tree, %" PRIu64 " of every %d us; %s", plan->cgroup.cpu_quota_us,
            PLAN_CGROUP_PERIOD_US, route(plan, CGROUP_CPU));
        return;
    case CAP_MEMORY:
        if (plan->cgroup.mem_bytes != POLICY_UNLIMITED)
            SAY("sum of the tree, enforced by the kernel; %s", route(plan, CGROUP_MEMORY));
        else
            SAY("sum of the tree's resident anonymous and shared pages, page tables and tmpfs files, sampled every 2 to "
                "100 ms: some 64 MiB over the limit are possible, more by processes with very many mappings; other kernel "
                "memory is not counted; memfd_create, "
                "vmsplice, splice, sendfile, shmget and shared memory without a file are refused");
        return;
    case CAP_PIDS:
        if (plan->cgroup.pids != POLICY_UNLIMITED)
            SAY("tasks of the tree, threads too; %s", route(plan, CGROUP_PIDS));
        else
            SAY("RLIMIT_NPROC, counted inside the own user namespace only; threads count");
        return;
    case CAP_OPEN_FILES:
        SAY("for each process");
        return;
    default:
        SAY("each stream; %s%s",
            plan->on_overflow == OVERFLOW_KILL ? "more ends the run" : "more is counted and dropped",
            plan->output_passing ? "" : "; output that passes through is not cut");
        return;
    }
}

static void add_words(struct plan_words *out, const char *words)
{
    strncat(out->details, words, sizeof out->details - strlen(out->details) - 1);
}

/* What is hidden, by what, and what that leaves open. */
static void hide_details(const struct plan *plan, struct plan_words *out)
{
    const struct policy_names *names = &plan->policy->hide;
    bool overlay = false;
    bool cover = false;
    bool wild = false;
    for (size_t i = 0; i < plan->hide_count; i++) {
        overlay = overlay || plan->hides[i].overlay;
        cover = cover || !plan->hides[i].overlay;
        wild = wild || plan->hides[i].glob->wild;
    }
    if (names->count == 0)
        return;
    char list[96];
    snprintf(list, sizeof list, "; hidden: %.60s%s", names->items[0], names->count > 1 ? " and others" : "");
    add_words(out, list);
    if (overlay)
        add_words(out, ", missing by an overlay also where they come later");
    if (overlay && wild)
        add_words(out, " (but not in directories made later, nor for * in the name itself)");
    if (cover)
        add_words(out, "; in writable trees and the host's own an empty file covers them: the name is seen, and one "
                       "that comes or is replaced can be read for about a millisecond until it is covered, and "
                       "always if its directory was missing at the start");
    add_words(out, "; other hard links to a hidden file are not hidden");
}

static void file_details(const struct plan *plan, struct plan_words *out)
{
    if (plan->landlock_abi > 0)
        SAY("Landlock ABI %d is the second layer%s", plan->landlock_abi,
            plan->landlock_abi < 3 ? "; it does not check truncate() before ABI 3" : "");
    else
        SAY("there is no second layer: Landlock is not available");
    if (plan->policy->protect.count > 0)
        add_words(out, "; protected names that do not exist yet, or lie in nested repositories, are not covered");
    hide_details(plan, out);
}

static void details(const struct plan *plan, enum capability c, struct plan_words *out)
{
    switch (c) {
    case CAP_FILESYSTEM:
        file_details(plan, out);
        return;
    case CAP_NETWORK:
        SAY("%s; other socket families are refused",
            plan->loopback ? "an own loopback interface and no other" : "no interface is up");
        return;
    case CAP_SYSCALLS:
        SAY("allow list, all architectures; a forbidden call %s", plan_forbidden(plan));
        return;
    case CAP_PRIVILEGES:
        if (plan->switch_user)
            SAY("a host uid that only this run uses; no supplementary groups");
        else
            SAY("the caller's own host uid; supplementary groups that stay: %u (an ordinary user cannot drop them)",
                plan->host->groups);
        return;
    case CAP_ENVIRONMENT:
        SAY("init holds no copy of the caller's and cannot be read%s%s",
            !plan->host_proc ? "" : "; Landlock keeps processes outside closed", plan_inherited(plan->policy));
        return;
    case CAP_PROCESSES:
        SAY("the kernel ends all with init; init was the last one and was reaped%s",
            !plan->host_proc ? "" : "; /proc is the host's, read-only, because it refuses a new one: numbers and "
                                  "command lines of the host's processes are seen");
        return;
    case CAP_IPC:
        SAY("own System V, queues%s and session keyring%s%s", plan->netns ? ", abstract sockets" : "",
            !plan->netns && plan_scopes_sockets(plan) ? "; abstract sockets outside cannot be reached" : "",
            plan_named_sockets(plan->policy));
        return;
    case CAP_DEVICES:
        SAY("null, zero, full, random, urandom and own pseudo-terminals");
        return;
    default:
        limit_details(plan, c, out);
        return;
    }
}

void plan_describe(const struct plan *plan, enum capability c, struct plan_words *out)
{
    const struct plan_claim *claim = &plan->claims[c];
    snprintf(out->requested, sizeof out->requested, "null");
    if (claim->requested)
        requested(plan, c, out);
    if (claim->why != NULL)
        SAY("%s", claim->why);
    else if (!(plan->bare && plan_bare_details(plan, c, out)) &&
             !(plan->bwrap != NULL && plan_bwrap_details(plan, c, out)))
        details(plan, c, out);
    if (c == CAP_PRIVILEGES && claim->mechanism != NULL && plan->host->crash_handler)
        add_words(out, "; a crash starts the host's handler, which a limit of 1 on core files stops: the caller's is 0, for good");
    if (c == CAP_OUTPUT && plan->output_bytes > PLAN_CAPTURE_MAX)
        add_words(out, "; a result keeps the first 64 MiB of each stream in any case");
}
