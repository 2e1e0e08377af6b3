/* The tools by name, and the fixed words of each: what keeps it from following links and paths. */
#include <errno.h>
#include <string.h>

#include "tools/job.h"
#include "tools/program.h"
#include "tools/rustic.h"

#define FIXED_WORDS 16 /* beside the options and arguments of the caller */

void cordon_root_tool_result_free(struct cordon_root_tool_result *result)
{
    cordon_root_data_free(&result->out);
    cordon_root_data_free(&result->err);
}

struct arguments {
    const char *const *items;
    size_t count;
};

static int own_options(struct tool_job *job)
{
    return job_options(job, 0, job->options->options, job->options->option_count);
}

static int find(struct tool_job *job, const struct arguments *args)
{
    job_words(job, (const char *const[]){"-P", "."}, 2);
    int rc = own_options(job);
    return rc < 0 ? rc : job_show_directory(job, args->items[0]);
}

static int fd(struct tool_job *job, const struct arguments *args)
{
    job_word(job, "--no-follow");
    int rc = own_options(job);
    if (args->count > 1)
        job_words(job, (const char *const[]){"--", args->items[1]}, 2);
    return rc < 0 ? rc : job_show_directory(job, args->items[0]);
}

/* What rg prints then has nothing to do with a pattern, and it takes none. */
static bool searches(const struct cordon_root_tool_options *o)
{
    for (size_t i = 0; i < o->option_count; i++) {
        if (strcmp(o->options[i], "--files") == 0 || strcmp(o->options[i], "--type-list") == 0)
            return false;
    }
    return true;
}

/* The pattern is no positional: beside -e or --files that would be a path. */
static int ripgrep(struct tool_job *job, const struct arguments *args)
{
    if (args->count < 2)
        return job_fail(job, "pattern must be specified");
    char *pattern = arena_printf(&job->arena, "--regexp=%s", args->items[1]);
    if (pattern == NULL)
        return job_fail(job, "the pattern is too long");
    job_words(job, (const char *const[]){"--no-follow", "--block-buffered", "--no-config"}, 3);
    int rc = own_options(job);
    if (searches(job->options))
        job_word(job, pattern);
    return rc < 0 ? rc : job_show_directory(job, args->items[0]);
}

static int dust(struct tool_job *job, const struct arguments *args)
{
    int rc = own_options(job);
    job_words(job, (const char *const[]){"--", "."}, 2);
    return rc < 0 ? rc : job_show_directory(job, args->items[0]);
}

static int ouch(struct tool_job *job, const struct arguments *args)
{
    struct tool_problem problem;
    const char *command = args->count > 0 ? args->items[0] : "";
    if (tool_check_command(TOOL_OUCH, command, &problem) < 0)
        return job_fail(job, problem.message);
    const char *last = args->count > 1 ? args->items[args->count - 1] : "";
    job->writable = command[0] != 'l'; /* all but list, l, ls */
    int rc = job->writable ? call_writable(job->call, last) : 0;
    if (rc == 0)
        rc = job_show_base(job, last);
    if (rc < 0)
        return rc;
    job_words(job, (const char *const[]){command, "-y", "-q"}, 3);
    rc = own_options(job);
    job_word(job, "--");
    for (size_t i = 1; i < args->count && rc == 0; i++)
        rc = job_path(job, args->items[i]);
    return rc;
}

static int prepare(struct tool_job *job, const struct arguments *args)
{
    static int (*const all[TOOL_COUNT])(struct tool_job *, const struct arguments *) = {
        [TOOL_FIND] = find,       [TOOL_FD] = fd,     [TOOL_RIPGREP] = ripgrep,
        [TOOL_DUST] = dust,       [TOOL_OUCH] = ouch,
    };
    if (job->tool == TOOL_RUSTIC)
        return rustic_prepare(job, args->items, args->count);
    if (args->count == 0 && job->tool != TOOL_OUCH)
        return job_fail(job, "path must be specified");
    return all[job->tool](job, args);
}

int cordon_root_tool(struct cordon_root *root, const char *tool, const char *const *args,
                     size_t count, const struct cordon_root_tool_options *options,
                     struct cordon_root_tool_result *out, struct cordon_root_error *err)
{
    static const struct cordon_root_tool_options usual = {.size = sizeof usual};
    const int which = tool_parse(tool);
    struct call c = call_begin(root, which < 0 ? "tool" : tool_name((enum tool)which), err);
    int rc = call_options(&c, options, sizeof *options);
    if (rc == 0 && which < 0)
        rc = call_fail_code(&c, NULL, "ERR_INVALID_ARG_VALUE", EINVAL, "", "no such tool: %s", tool);
    if (rc < 0)
        return rc;
    const struct cordon_root_tool_options *o = options != NULL ? options : &usual;
    const struct arguments words = {.items = args, .count = count};
    struct tool_job job;
    rc = job_begin(&job, &c, (enum tool)which, o, count + FIXED_WORDS);
    if (rc == 0)
        rc = prepare(&job, &words);
    if (rc == 0)
        rc = job_run(&job, tool_timeout_ms(job.tool, o->timeout_ms), out);
    job_release(&job);
    return rc;
}
