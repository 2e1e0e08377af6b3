/* Facts about any POSIX system, and the plans that need no more. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/posix.h"
#include "base/cwd.h"
#include "base/variable.h"

extern char **environ;

/* Root mostly may, and others who were given the privilege: seen by doing, and undone. */
static bool raises_limits(void)
{
    struct rlimit limit;
    if (geteuid() == 0)
        return true;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max == RLIM_INFINITY)
        return false;
    const struct rlimit more = {.rlim_cur = limit.rlim_cur, .rlim_max = limit.rlim_max + 1};
    return setrlimit(RLIMIT_NOFILE, &more) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int probe(struct backend_run *run)
{
    struct host *host = &run->host;
    struct timespec now;
    *host = (struct host){.uid = geteuid(), .gid = getegid(), .cores = 1, .raises_limits = raises_limits()};
    host->cwd = cwd_name(run->arena);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(host->work_dir, sizeof host->work_dir, "/tmp/cordon-posix-%ld-%lx%lx", (long)getpid(),
             (unsigned long)now.tv_sec, (unsigned long)now.tv_nsec);
    return run->tune != NULL ? run->tune(host, &run->result->error) : 0;
}

/* What the policy lists must be there, although nothing has to be done with it. `work`: as a directory. */
static int look_for(struct backend_run *run, const char *path, bool work)
{
    struct cordon_error *err = &run->result->error;
    struct stat st;
    const int errnum = stat(path, &st) < 0 ? errno : work && !S_ISDIR(st.st_mode) ? ENOTDIR : 0;
    if (errnum == 0)
        return 0;
    err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, errnum, "open bind source", path);
    err_remedy(err, !work               ? "create it first, or give the bind \"optional\": true in a policy document"
                    : errnum == ENOTDIR ? "--work takes a directory"
                                        : "create it first");
    return -errnum;
}

static int compile(struct backend_run *run, enum policy_backend by)
{
    const struct policy *policy = run->policy;
    const struct policy_binds *lists[2] = {&policy->rw, &policy->ro};
    int r = probe(run);
    if (r == 0)
        r = backend_compile(run, by);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; r == 0 && i < lists[k]->count; i++)
            r = lists[k]->items[i].optional ? 0 : look_for(run, lists[k]->items[i].host, false);
    }
    return r == 0 && policy->work == WORK_HOST ? look_for(run, policy->work_host, true) : r;
}

static bool demands_isolation(char *const *env)
{
    const char *value = variable_of(env, "CORDON_REQUIRE_ISOLATION");
    return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

bool backend_isolation_required(char *const *env)
{
    return demands_isolation(environ) || demands_isolation(env);
}

static int refuse_if_required(struct backend_run *run, const char *backend)
{
    struct cordon_error *err = &run->result->error;
    if (!backend_isolation_required(run->env))
        return 0;
    err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0, "use backend", backend);
    err_why(err, "CORDON_REQUIRE_ISOLATION is set, and this backend isolates nothing");
    err_remedy(err, "--backend auto");
    return -EPERM;
}

int posix_plan(struct backend_run *run)
{
    int r = refuse_if_required(run, "posix");
    return r < 0 ? r : compile(run, BACKEND_POSIX);
}

int posix_plan_none(struct backend_run *run)
{
    int r = refuse_if_required(run, "none");
    if (r < 0)
        return r;
    if (!run->unsafe_known)
        result_warn(run->result, "backend none isolates nothing: the command has all of the caller's rights "
                                 "(--backend auto isolates, --unsafe-no-isolation silences this)");
    return compile(run, BACKEND_NONE);
}
