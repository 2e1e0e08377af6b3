/*
 * Files in the tier without namespaces: the host's own tree, of which Landlock opens what the policy
 * lists, at the paths that it has there. A directory made for the run stands for /work.
 */
#include "plan/build.h"

#include <errno.h>
#include <string.h>

#include "plan/system_files.h"

#define FIXED_RULES 32
#define OWN_PATH "without user namespaces a directory can only be had at its own path"

static void allow(struct plan_build *b, const char *path, uint64_t access, unsigned flags)
{
    struct plan *plan = b->plan;
    plan->rules[plan->rule_count++] = (struct plan_rule){.path = path, .access = access, .flags = flags};
}

/* /dev/urandom without a write right is the canary by which Landlock is proven. */
static void allow_devices(struct plan_build *b)
{
    static const char *const both[] = {"/dev/null", "/dev/zero", "/dev/full"};
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++)
        allow(b, both[i], LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE, 0);
    allow(b, "/dev/random", LL_READ_FILE, 0);
    allow(b, "/dev/urandom", LL_READ_FILE, 0);
}

/* What of /proc speaks of the machine and of no process: the rest would show other people's. */
static void allow_machine(struct plan_build *b)
{
    static const char *const files[] = {
        "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo",
        "/proc/stat",    "/proc/uptime",      "/proc/version", "/proc/sys/vm/overcommit_memory",
        "/proc/sys/kernel/osrelease"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        allow(b, files[i], LL_READ_FILE, 0);
}

static void allow_system(struct plan_build *b)
{
    const struct host *host = b->request->host;
    allow(b, "/usr", RULE_READ, 0);
    for (size_t i = 0; i < HOST_TOP_COUNT; i++) {
        if (host->top[i].present)
            allow(b, host->top[i].path, RULE_READ, 0);
    }
    for (size_t i = 0; i < SYSTEM_FILE_COUNT; i++) {
        /* Hidden here means forbidden, not missing, and the library ends on that. */
        if (!system_files[i].network || b->policy.net == NET_HOST ||
            strcmp(system_files[i].path, "/etc/ssl/openssl.cnf") == 0)
            allow(b, system_files[i].path, RULE_READ, 0);
    }
    if (host->nix_store)
        allow(b, "/nix/store", RULE_READ, 0);
}

/* Everything may be read but devices; the names of all may be listed. */
static void allow_host(struct plan_build *b)
{
    allow(b, "/", LL_READ_DIR, 0);
    for (const char **p = b->request->host->refused.top; p != NULL && *p != NULL; p++) {
        if (strcmp(*p, "/dev") != 0)
            allow(b, *p, RULE_READ, 0);
    }
}

/* What a mount would do and a rule cannot. */
static int refuse(struct plan_build *b, const char *what, const char *subject, const char *why)
{
    const struct cordon_error *met = &b->request->host->refused.error;
    err_set(b->err, CORDON_ERROR_PARTIAL, CORDON_LAYER_PLAN, 0, what, subject);
    err_why(b->err, why);
    err_remedy(b->err, met->remedy);
    return -EOPNOTSUPP;
}

int plan_refuse_elsewhere(struct plan_build *b, const char *path, const char *why)
{
    return refuse(b, "show at another path", path, why);
}

static int allow_listed(struct plan_build *b)
{
    const struct policy_binds *lists[2] = {&b->policy.rw, &b->policy.ro};
    int r = b->policy.rw_cwd ? plan_check_cwd(b) : 0;
    for (int k = 0; r == 0 && k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            const struct policy_bind *bind = &lists[k]->items[i];
            if (k == 1 && plan_shown_by_system(b, bind))
                continue;
            if (strcmp(bind->host, bind->sandbox) != 0)
                return plan_refuse_elsewhere(b, bind->sandbox, OWN_PATH);
            allow(b, bind->host, k == 0 ? RULE_READ | RULE_WRITE : RULE_READ,
                  STEP_LISTED | (bind->optional ? (unsigned)STEP_OPTIONAL : 0));
        }
    }
    if (r == 0 && b->policy.rw_cwd)
        allow(b, b->request->host->cwd, RULE_READ | RULE_WRITE, STEP_LISTED);
    return r;
}

static bool beneath_writable(const struct plan_build *b, const char *path)
{
    const struct policy_binds *rw = &b->policy.rw;
    for (size_t i = 0; i < rw->count; i++) {
        if (policy_path_beneath(path, rw->items[i].host))
            return true;
    }
    const char *cwd = b->policy.rw_cwd ? b->request->host->cwd : NULL; /* it may be gone */
    return (cwd != NULL && policy_path_beneath(path, cwd)) ||
           (b->policy.work == WORK_HOST && policy_path_beneath(path, b->policy.work_host));
}

/* Rights add up along a path: beneath a writable directory nothing can be taken away again. */
static const char *gap_of(const struct plan_build *b)
{
    const struct policy *policy = &b->policy;
    if (policy->hide.count > 0)
        return "names inside what is listed cannot be hidden without a mount namespace";
    for (size_t i = 0; i < policy->ro.count; i++) {
        if (beneath_writable(b, policy->ro.items[i].host))
            return "what is read-only inside something writable cannot be kept so without a mount namespace";
    }
    if (policy->protect.count > 0 && (policy->rw.count > 0 || policy->rw_cwd || policy->work == WORK_HOST))
        return "protected names in a writable tree (.git/hooks, ...) cannot be kept without a mount namespace";
    return NULL;
}

int plan_build_bare_files(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const struct policy *policy = &b->policy;
    const struct host *host = b->request->host;
    size_t top = 0;
    for (const char **p = host->refused.top; p != NULL && *p != NULL; p++)
        top++;
    plan->fs_mode = policy->fs_mode;
    plan->rules = arena_array(b->arena, policy->rw.count + policy->ro.count + top + SYSTEM_FILE_COUNT + FIXED_RULES,
                              sizeof *plan->rules);
    if (plan->rules == NULL)
        return plan_no_memory(b);
    if (!host_off(host, OFF_LANDLOCK) && !plan_off(b, CAP_FILESYSTEM))
        plan->landlock_abi = host->landlock_abi;
    if (policy->net == NET_LOOPBACK)
        return refuse(b, "give a network of its own", "loopback",
                      "without user namespaces there is only the host's network, or none");
    if (b->request->work.given)
        return plan_refuse_elsewhere(b, "/work", OWN_PATH);
    plan->gap = gap_of(b);
    if (policy->work == WORK_PRIVATE || policy->private_tmp)
        plan->work_dir = host->work_dir;

    if (policy->fs_mode == FS_GUARD)
        allow_host(b);
    else
        allow_machine(b);
    if (policy->fs_mode == FS_VIEW && policy->system_ro)
        allow_system(b);
    allow_devices(b);
    if (plan->work_dir != NULL)
        allow(b, plan->work_dir, RULE_READ | RULE_WRITE, STEP_LISTED);
    if (policy->work == WORK_HOST)
        allow(b, policy->work_host, RULE_READ | RULE_WRITE, STEP_LISTED);
    return allow_listed(b);
}
