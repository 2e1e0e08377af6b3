#include "tools/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "result/ending.h"
#include "supervisor/supervisor.h"

#define ARENA_BYTES ((size_t)16 << 20)
#define MEMORY_BYTES (UINT64_C(2) << 30) /* what a good compressor takes */
#define TASKS 512                        /* searchers start a thread for each core */
#define OPEN_FILES 1024
#define GRACE_MS 1000

/* All that a run needs, for as long as it takes. */
struct run {
    struct arena arena;
    struct policy policy;
    struct backend_run backend;
};

/* The program is shown by itself: it may live anywhere. */
static int make_policy(struct run *run, const struct sandbox_job *job, struct cordon_error *err)
{
    const char *slash = strrchr(job->argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : job->argv[0];
    struct policy *p = &run->policy;
    policy_init(p, PROFILE_STAGE);
    p->backend = BACKEND_NATIVE; /* no other can show an open directory */
    p->env = (struct policy_env){.inherit = false};
    p->cwd = job->cwd;
    p->limits.wall_ms = job->timeout_ms;
    p->limits.grace_ms = GRACE_MS;
    p->limits.cpu_ms = POLICY_UNLIMITED;
    p->limits.mem_bytes = MEMORY_BYTES;
    p->limits.pids = TASKS;
    p->limits.nofile = OPEN_FILES;
    p->limits.output_bytes = job->max_output;
    p->limits.on_overflow = OVERFLOW_KILL;
    job->argv[0] = arena_printf(&run->arena, "/tool/%s", name);
    if (job->argv[0] == NULL)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, ENOMEM, "name a tool", name);
    int r = policy_add_bind(&p->ro, &run->arena, job->program, job->argv[0], false, err);
    if (r == 0 && job->repository != NULL)
        r = policy_add_bind(&p->rw, &run->arena, job->repository, SANDBOX_REPOSITORY, false, err);
    return r;
}

static int start(struct run *run, const struct sandbox_job *job, struct result *result)
{
    static char *const no_environment[] = {NULL};
    struct stat owner = {0};
    int r = fstat(job->dir, &owner) < 0 ? -errno : 0;
    if (r == 0)
        r = make_policy(run, job, &result->error);
    if (r < 0)
        return r;
    run->backend = (struct backend_run){
        .policy = &run->policy,
        .arena = &run->arena,
        .command = job->argv,
        .env = no_environment,
        .work = {.given = true,
                 .fd = job->dir,
                 .readonly = !job->writable,
                 .uid = owner.st_uid,
                 .gid = owner.st_gid},
        .wishes = {.input = -1, .output = {-1, -1}, .capture = true, .signals = -1},
        .result = result,
    };
    r = backend_plan(&run->backend);
    if (r < 0)
        return r;
    supervisor_find_arguments(&run->backend.wishes);
    r = backend_start(&run->backend);
    if (r < 0)
        backend_finish(&run->backend);
    return r;
}

static bool too_much(const struct sandbox_job *job, const struct result *result)
{
    return result->out.bytes + result->err.bytes > job->max_output;
}

/* Both streams were held to the cap alone; together they keep it here. */
static void cut(const struct sandbox_job *job, struct result *result)
{
    const uint64_t left = job->max_output - result->out.captured.len;
    if (result->err.captured.len > left)
        result->err.captured.len = (size_t)left;
}

bool sandbox_stopped(int stop)
{
    struct pollfd fd = {.fd = stop, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

/* Until the run has something to do, or `stop` says that it shall end. */
static void wait_for(struct backend_run *b, int *stop)
{
    struct pollfd fds[] = {{.fd = backend_descriptor(b), .events = POLLIN},
                           {.fd = *stop, .events = POLLIN}};
    poll(fds, 2, -1);
    if (fds[1].revents == 0)
        return;
    backend_kill(b);
    *stop = -1; /* once is enough */
}

bool sandbox_run(const struct sandbox_job *job, struct result *result)
{
    struct run run = {.arena = ARENA_INIT(ARENA_BYTES)};
    result_init(result);
    if (start(&run, job, result) < 0) {
        ending_refused(result);
        arena_free(&run.arena);
        return false;
    }
    int stop = job->stop;
    while (!backend_step(&run.backend, false)) {
        wait_for(&run.backend, &stop);
        if (too_much(job, result)) /* one stream alone is the supervisor's own to watch */
            backend_kill(&run.backend);
    }
    backend_finish(&run.backend);
    arena_free(&run.arena);
    cut(job, result);
    return result->status == STATUS_TIMEOUT || result->status == STATUS_MEM_LIMIT ||
           result->status == STATUS_OUTPUT_LIMIT || too_much(job, result);
}
