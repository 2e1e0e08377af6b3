#include "tools/job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "tools/program.h"

#define ARENA_BYTES ((size_t)16 << 20)

int job_fail(const struct tool_job *job, const char *message)
{
    return call_fail_code(job->call, NULL, "EINVAL", EINVAL, "", "%s", message);
}

static int no_memory(const struct tool_job *job)
{
    return call_fail_code(job->call, NULL, "ENOMEM", ENOMEM, "", "ENOMEM: not enough memory, %s",
                          tool_name(job->tool));
}

int job_begin(struct tool_job *job, const struct call *call, enum tool tool,
              const struct cordon_root_tool_options *options, size_t extra)
{
    *job = (struct tool_job){.call = call, .options = options, .tool = tool, .dir = -1, .cwd = ""};
    job->arena = ARENA_INIT(ARENA_BYTES);
    job->room = options->option_count + extra + 1;
    job->argv = arena_array(&job->arena, job->room + 1, sizeof *job->argv);
    if (job->argv == NULL)
        return no_memory(job);
    job_word(job, tool_name(tool));
    return 0;
}

void job_release(struct tool_job *job)
{
    fd_close(&job->dir);
    arena_free(&job->arena);
}

void job_word(struct tool_job *job, const char *word)
{
    if (job->count < job->room)
        job->argv[job->count++] = (char *)(uintptr_t)word;
}

void job_words(struct tool_job *job, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        job_word(job, words[i]);
}

int job_options(struct tool_job *job, int sub, const char *const *options, size_t count)
{
    struct tool_problem problem;
    if (tool_check_options(job->tool, sub, options, count, &problem) < 0)
        return job_fail(job, problem.message);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const int kind = tool_option_kind(job->tool, sub, options[i]);
        job_word(job, options[i]);
        if (kind == VALUE_PATH)
            rc = job_path(job, options[++i]);
        else if (kind != VALUE_NONE)
            job_word(job, options[++i]);
    }
    return rc;
}

int job_show_directory(struct tool_job *job, const char *path)
{
    TARGET_AUTO(t);
    int fd = -1;
    int rc = target_open_fd(job->call, path, "open", O_PATH | O_DIRECTORY, &t, &fd);
    if (rc == 0 && fd < 0)
        rc = call_fail(job->call, &t, "open", fd);
    job->dir = fd < 0 ? -1 : fd;
    return rc;
}

/* The name without links; what does not exist yet is in a directory that does. */
static int real_name(const struct target *t, char out[PATH_MAX])
{
    int rc = resolve_real(&t->base, t->mapped.name, out);
    if (rc != -ENOENT)
        return rc;
    char parent[PATH_MAX];
    size_t len = 0;
    const char *leaf = path_split(t->mapped.name, &len);
    memcpy(parent, t->mapped.name, len);
    parent[len] = '\0';
    rc = resolve_real(&t->base, parent, out);
    if (rc < 0)
        return rc;
    len = strlen(out);
    const size_t leaf_len = strlen(leaf);
    if (len + leaf_len + 2 > PATH_MAX)
        return -ENAMETOOLONG;
    if (len > 0)
        out[len++] = '/';
    memcpy(out + len, leaf, leaf_len + 1);
    return 0;
}

int job_show_base(struct tool_job *job, const char *anchor)
{
    const char *cwd = job->options->cwd;
    TARGET_AUTO(t);
    int rc = target_open(job->call, cwd != NULL ? cwd : anchor, "open", &t);
    if (rc < 0)
        return rc;
    char real[PATH_MAX] = "";
    if (cwd != NULL)
        rc = resolve_real(&t.base, t.mapped.name, real);
    if (rc == 0)
        job->dir = fcntl(t.base.fd, F_DUPFD_CLOEXEC, 3);
    if (rc < 0 || job->dir < 0)
        return call_fail(job->call, &t, "open", rc < 0 ? rc : -errno);
    job->base = t.mapped.base;
    job->cwd = arena_strdup(&job->arena, real);
    return job->cwd == NULL ? no_memory(job) : 0;
}

int job_path(struct tool_job *job, const char *path)
{
    TARGET_AUTO(t);
    int rc = target_open(job->call, path, "open", &t);
    if (rc < 0)
        return rc;
    if (t.mapped.base != job->base)
        return call_fail_code(job->call, &t, "EXDEV", EXDEV, "",
                              "the paths of one %s must be in one base", tool_name(job->tool));
    char real[PATH_MAX];
    rc = real_name(&t, real);
    if (rc < 0)
        return call_fail(job->call, &t, "open", rc);
    const size_t len = path_relative(NULL, 0, job->cwd, real);
    char *word = arena_alloc(&job->arena, len + 1);
    if (word == NULL)
        return no_memory(job);
    path_relative(word, len + 1, job->cwd, real);
    job_word(job, word);
    return 0;
}

/* The words of the sandbox without its subject, which may be a path of the host's. */
static int fail_sandbox(const struct tool_job *job, const struct cordon_error *e)
{
    return call_fail_code(job->call, NULL, e->errnum != 0 ? text_errno_name(e->errnum) : "EIO",
                          e->errnum != 0 ? e->errnum : EIO, "spawn",
                          "%s cannot be run in a sandbox: %s: %s", tool_name(job->tool), e->what,
                          e->why[0] != '\0' ? e->why : text_errno(e->errnum));
}

/* Moves the bytes of a stream out of the record of the run. */
static bool take_stream(struct result_stream *stream, struct cordon_root_data *out)
{
    if (buf_string(&stream->captured) == NULL)
        return false;
    *out = (struct cordon_root_data){.data = stream->captured.data, .len = stream->captured.len};
    stream->captured = BUF_INIT(0);
    return true;
}

static int take_result(const struct tool_job *job, struct result *result, bool truncated,
                       struct cordon_root_tool_result *out)
{
    if (result->status == STATUS_SPAWN_FAILED || result->status == STATUS_INTERNAL_ERROR)
        return fail_sandbox(job, &result->error);
    struct cordon_root_tool_result r = {
        .code = result->exited && !truncated ? result->exit_code : -1, .truncated = truncated};
    if (!take_stream(&result->out, &r.out) || !take_stream(&result->err, &r.err)) {
        cordon_root_tool_result_free(&r);
        return no_memory(job);
    }
    *out = r;
    return 0;
}

int job_run(struct tool_job *job, uint32_t timeout_ms, struct cordon_root_tool_result *out)
{
    const uint64_t asked = job->options->max_output;
    char program[PATH_MAX];
    if (tool_program(job->tool, program) < 0)
        return call_fail_code(job->call, NULL, "ENOENT", ENOENT, "spawn",
                              "%s is not installed: no such program on the PATH",
                              tool_name(job->tool));
    char *cwd = arena_printf(&job->arena, SANDBOX_WORK "%s%s", *job->cwd != '\0' ? "/" : "",
                             job->cwd);
    if (cwd == NULL)
        return no_memory(job);
    const struct sandbox_job run = {
        .program = program,
        .argv = job->argv,
        .dir = job->dir,
        .writable = job->writable,
        .cwd = cwd,
        .repository = job->repository ? job->call->root->rustic_repo : NULL,
        .timeout_ms = timeout_ms,
        .max_output = asked > 0 && asked < TOOL_OUTPUT_MAX ? asked : TOOL_OUTPUT_MAX,
        .stop = job->options->stop_fd > 0 ? job->options->stop_fd : -1,
    };
    struct result result;
    const bool truncated = sandbox_run(&run, &result);
    int rc = sandbox_stopped(run.stop)
                 ? call_fail_code(job->call, NULL, "ECANCELED", ECANCELED, "spawn",
                                  "ECANCELED: operation canceled, %s", tool_name(job->tool))
                 : take_result(job, &result, truncated, out);
    result_release(&result);
    return rc;
}
