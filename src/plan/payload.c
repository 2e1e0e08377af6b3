/* What is executed, with which environment, where, and under which per-process limits. */
#include "plan/build.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/variable.h"
#include "policy/environment.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define LOCKED_MAX (8u * 1024 * 1024) /* as the kernel gives it to everybody */

static const char *path_of(char *const *envp)
{
    const char *path = variable_of(envp, "PATH");
    return path != NULL && path[0] != '\0' ? path : DEFAULT_PATH;
}

/* As execvp() would look: by name along PATH, or exactly where a slash says. */
static int candidates(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const char *command = plan->command;
    const char *path = strchr(command, '/') != NULL ? NULL : path_of(plan->envp);
    size_t count = 1;
    for (const char *p = path; p != NULL && *p != '\0'; p++)
        count += *p == ':';

    plan->candidates = arena_array(b->arena, count + 1, sizeof *plan->candidates);
    if (plan->candidates == NULL)
        return plan_no_memory(b);
    if (path == NULL) {
        plan->candidates[0] = command;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(path, ":");
        /* An empty element means the current directory. */
        plan->candidates[i] = arena_printf(b->arena, "%.*s/%s", len == 0 ? 1 : (int)len,
                                           len == 0 ? "." : path, command);
        if (plan->candidates[i] == NULL)
            return plan_no_memory(b);
        path += len + (path[len] == ':');
    }
    return 0;
}

static void limit(struct plan *plan, int resource, uint64_t soft, uint64_t hard)
{
    plan->rlimits[plan->rlimit_count++] = (struct plan_rlimit){resource, soft, hard};
}

/* Somebody must get his turn in time to keep it. */
static bool is_watched(const struct plan *plan)
{
    return plan->wall_ms != POLICY_UNLIMITED || plan->cpu_ms != POLICY_UNLIMITED || plan->mem_bytes != POLICY_UNLIMITED;
}

static void rlimits(struct plan_build *b)
{
    struct plan *plan = b->plan;
    const struct policy_limits *limits = &b->policy.limits;

    if (host_off(b->request->host, OFF_RLIMITS) || plan->backend == BACKEND_NONE)
        return;
    limit(plan, RLIMIT_CORE, 1, 1); /* no file is that small, and only 1 stops a pipe of the host's */
    if (limits->nofile != POLICY_UNLIMITED && !plan_off(b, CAP_OPEN_FILES)) {
        limit(plan, RLIMIT_NOFILE, limits->nofile, limits->nofile);
        plan->nofile = limits->nofile;
    }
    if (plan->nproc != 0)
        limit(plan, RLIMIT_NPROC, plan->nproc, plan->nproc);
    if (plan->cpu_ms != POLICY_UNLIMITED) {
        /* A backstop for one process, soft below hard so that SIGXCPU comes first; the tree's total
         * is counted elsewhere. */
        uint64_t seconds = plan->cpu_ms / 1000 + 1;
        limit(plan, RLIMIT_CPU, seconds, seconds + 1);
    }
    if (is_watched(plan) && !plan_portable(plan)) { /* a caller who may go before others does not pass that on */
        limit(plan, RLIMIT_RTPRIO, 0, 0);
        limit(plan, RLIMIT_NICE, 0, 0);
    }
    if (plan->watch_memory) /* what is locked of a file cannot be taken back, and is in no sum */
        limit(plan, RLIMIT_MEMLOCK, LOCKED_MAX, LOCKED_MAX);
}

static const char *work_directory(struct plan_build *b)
{
    if (plan_on_host_paths(b->plan))
        return plan_work_directory(b);
    if (!b->plan->own_tree && b->policy.cwd == NULL)
        return b->request->host->cwd;
    if (b->policy.cwd != NULL)
        return b->policy.cwd;
    if (b->policy.fs_mode == FS_GUARD || b->policy.rw_cwd)
        return b->request->host->cwd;
    return b->policy.work == WORK_NONE ? "/" : "/work";
}

/* A program on a terminal must know which one. */
static char **with_term(struct plan_build *b, char **envp)
{
    static const char name[] = "TERM=";
    char *const *caller = b->request->caller_env;
    size_t count = 0;
    for (; envp[count] != NULL; count++) {
        if (strncmp(envp[count], name, sizeof name - 1) == 0)
            return envp;
    }
    while (*caller != NULL && strncmp(*caller, name, sizeof name - 1) != 0)
        caller++;
    char **more = *caller == NULL ? envp : arena_array(b->arena, count + 2, sizeof *more);
    if (more == NULL || more == envp)
        return more;
    memcpy(more, envp, count * sizeof *more);
    more[count] = arena_strdup(b->arena, *caller);
    return more[count] == NULL ? NULL : more;
}

int plan_build_payload(struct plan_build *b)
{
    struct plan *plan = b->plan;
    char *const *caller = b->request->caller_env;

    plan->argv = b->request->command;
    plan->command = plan->argv[0];
    plan->cwd = work_directory(b);
    if (plan->cwd == NULL) {
        err_set(b->err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, ENOENT, "find the current directory", ".");
        return -ENOENT;
    }
    if (plan_off(b, CAP_ENVIRONMENT)) {
        plan->envp = caller;
    } else {
        char **envp = policy_environment(&b->policy, caller, b->arena);
        if (envp != NULL && plan->tty && !policy_variable_denied(&b->policy.env, "TERM"))
            envp = with_term(b, envp);
        plan->envp = envp != NULL && plan_on_host_paths(plan) ? plan_work_environment(b, envp) : envp;
    }
    if (plan->envp == NULL)
        return plan_no_memory(b);

    plan->seccomp = host_off(b->request->host, OFF_SECCOMP) || plan_off(b, CAP_SYSCALLS)
                        ? SECCOMP_OFF
                        : b->policy.seccomp;
    plan->on_forbidden = b->policy.on_forbidden;
    plan->host_sockets = b->policy.net == NET_HOST ||
                         (plan->bare && (host_off(b->request->host, OFF_NETNS) || plan_off(b, CAP_NETWORK)));
    rlimits(b);
    return candidates(b);
}
