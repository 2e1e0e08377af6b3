/* Facts about any POSIX system, and the plans that need no more. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/posix.h"

static int probe(struct backend_run *run)
{
    struct host *host = &run->host;
    struct timespec now;
    char cwd[4096];
    *host = (struct host){.uid = geteuid(), .gid = getegid(), .cores = 1};
    if (getcwd(cwd, sizeof cwd) != NULL && cwd[0] == '/')
        host->cwd = arena_strdup(run->arena, cwd);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(host->work_dir, sizeof host->work_dir, "/tmp/cordon-posix-%ld-%lx%lx", (long)getpid(),
             (unsigned long)now.tv_sec, (unsigned long)now.tv_nsec);
    return run->tune != NULL ? run->tune(host, &run->result->error) : 0;
}

int posix_plan(struct backend_run *run)
{
    int r = probe(run);
    return r < 0 ? r : backend_compile(run, BACKEND_POSIX);
}

/* In the environment it may only tighten: set, and neither empty nor 0. */
static bool isolation_required(char *const *env)
{
    static const char name[] = "CORDON_REQUIRE_ISOLATION=";
    for (; *env != NULL; env++) {
        const char *value = *env + sizeof name - 1;
        if (strncmp(*env, name, sizeof name - 1) == 0)
            return value[0] != '\0' && strcmp(value, "0") != 0;
    }
    return false;
}

int posix_plan_none(struct backend_run *run)
{
    struct cordon_error *err = &run->result->error;
    if (isolation_required(run->env)) {
        err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, 0, "use backend", "none");
        err_why(err, "CORDON_REQUIRE_ISOLATION is set, and this backend isolates nothing");
        err_remedy(err, "--backend auto");
        return -EPERM;
    }
    if (!run->unsafe_known)
        result_warn(run->result, "backend none isolates nothing: the command has all of the caller's rights "
                                 "(--backend auto isolates, --unsafe-no-isolation silences this)");
    int r = probe(run);
    return r < 0 ? r : backend_compile(run, BACKEND_NONE);
}
