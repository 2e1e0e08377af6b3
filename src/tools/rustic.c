#include "tools/rustic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "tools/program.h"

#define INIT_MS 30000
#define LOOK_MS 30000
#define OWN_WORDS 16

/* An empty password: whoever can read the repository can read the tree as well. */
static const char *const repository[] = {"--password", "", "--no-cache", "-r",
                                         SANDBOX_REPOSITORY};

static void add_repository(struct tool_job *job)
{
    job_words(job, repository, sizeof repository / sizeof repository[0]);
    job->repository = true;
}

/* Runs a command of our own in the repository, where `job` will run its. */
static int run_first(const struct tool_job *job, const char *const *words, size_t count,
                     uint32_t timeout_ms, struct cordon_root_tool_result *out)
{
    const struct cordon_root_tool_options usual = {.size = sizeof usual,
                                                   .stop_fd = job->options->stop_fd};
    struct tool_job own;
    int rc = job_begin(&own, job->call, TOOL_RUSTIC, &usual, OWN_WORDS);
    if (rc == 0)
        rc = job_show_base(&own, "");
    if (rc == 0) {
        add_repository(&own);
        job_words(&own, words, count);
        rc = job_run(&own, timeout_ms, out);
    }
    job_release(&own);
    return rc;
}

static int check_repository(const struct tool_job *job)
{
    const char *repo = job->call->root->rustic_repo;
    char config[PATH_MAX];
    if (repo == NULL)
        return job_fail(job, "no backup repository is configured");
    const int n = snprintf(config, sizeof config, "%s/config", repo);
    if (n < 0 || (size_t)n >= sizeof config || access(config, F_OK) == 0)
        return 0;
    struct cordon_root_tool_result made = {.code = -1};
    int rc = run_first(job, (const char *const[]){"init"}, 1, INIT_MS, &made);
    if (rc == 0 && made.code != 0)
        rc = job_fail(job, "the backup repository cannot be made");
    cordon_root_tool_result_free(&made);
    return rc;
}

/* ---- whose snapshot is it ---- */

/* Looks at every snapshot in the answer, however they are grouped; NULL, or a host that is not ours. */
static const char *foreign_host(const struct json *value, const char *host, size_t *seen)
{
    const struct json *id = value->type == JSON_OBJECT ? json_get(value, "id") : NULL;
    const struct json *name = id != NULL ? json_get(value, "hostname") : NULL;
    if (name != NULL && name->type == JSON_STRING) {
        ++*seen;
        return strcmp(name->text, host) == 0 ? NULL : name->text;
    }
    for (const struct json *v = value->first; v != NULL; v = v->next) {
        const char *other = foreign_host(v, host, seen);
        if (other != NULL)
            return other;
    }
    return NULL;
}

static int judge(struct tool_job *job, const char *id, const struct cordon_root_tool_result *answer)
{
    const struct json_limits limits = {.max_bytes = TOOL_OUTPUT_MAX, .max_depth = 32};
    const char *host = job->call->root->host;
    struct json_error where;
    const struct json *doc =
        answer->code == 0 && !answer->truncated
            ? json_parse(&job->arena, answer->out.data, answer->out.len, &limits, &where)
            : NULL;
    size_t seen = 0;
    const char *other = doc != NULL ? foreign_host(doc, host, &seen) : NULL;
    if (other == NULL && seen > 0)
        return 0;
    char shown[160];
    text_escape(shown, sizeof shown, other != NULL ? other : "not known",
                strlen(other != NULL ? other : "not known"));
    return call_fail_code(job->call, NULL, "EINVAL", EINVAL, "",
                          "host for snapshot with id %s must be '%s' but it is %s", id, host,
                          shown);
}

/* `snapshot` is ID or ID:PATH; an id is hex digits, so it is no option and no expression. */
static int check_snapshot(struct tool_job *job, const char *snapshot)
{
    char id[65];
    const size_t len = strcspn(snapshot, ":");
    if (strncmp(snapshot, "latest", 6) == 0)
        return job_fail(job, "latest is not allowed");
    if (len == 0 || len >= sizeof id || strspn(snapshot, "0123456789abcdef") != len)
        return job_fail(job, "a snapshot is named by hex digits");
    memcpy(id, snapshot, len);
    id[len] = '\0';
    struct cordon_root_tool_result answer = {.code = -1};
    int rc = run_first(job, (const char *const[]){"snapshots", "--json", "--", id}, 4, LOOK_MS,
                       &answer);
    if (rc == 0)
        rc = judge(job, id, &answer);
    cordon_root_tool_result_free(&answer);
    return rc;
}

/* ---- the commands; the words that follow COMMAND, count of them ---- */

static int backup(struct tool_job *job, const char *const *words, size_t count)
{
    if (count == 0)
        return job_fail(job, "missing backup source");
    int rc = job_show_base(job, words[count - 1]);
    if (rc < 0)
        return rc;
    job_words(job, (const char *const[]){"backup", "--no-scan", "--host", job->call->root->host}, 4);
    rc = job_options(job, RUSTIC_BACKUP, words, count - 1);
    job_word(job, "--");
    return rc < 0 ? rc : job_path(job, words[count - 1]);
}

static int snapshots(struct tool_job *job, const char *const *words, size_t count)
{
    job_words(job, (const char *const[]){"snapshots", "--filter-host", job->call->root->host}, 3);
    int rc = job_options(job, RUSTIC_SNAPSHOTS, words, count);
    return rc < 0 ? rc : job_show_base(job, "");
}

static int restore(struct tool_job *job, const char *const *words, size_t count)
{
    if (count < 2)
        return job_fail(job, "missing <SNAPSHOT[:PATH]>");
    const char *to = words[count - 1];
    job->writable = true;
    int rc = job_show_base(job, to);
    if (rc < 0)
        return rc;
    job_word(job, "restore");
    rc = job_options(job, RUSTIC_RESTORE, words, count - 2);
    if (rc == 0)
        rc = check_snapshot(job, words[count - 2]);
    job_words(job, (const char *const[]){"--", words[count - 2]}, 2);
    return rc < 0 ? rc : job_path(job, to);
}

/* By ids, each of them ours; or by rules, among ours. */
static int forget(struct tool_job *job, const char *const *words, size_t count)
{
    const bool by_id = count > 0 && words[0][0] != '-';
    int rc = job_show_base(job, "");
    job_word(job, "forget");
    if (by_id)
        job_word(job, "--");
    for (size_t i = 0; by_id && i < count && rc == 0; i++) {
        rc = strchr(words[i], ':') == NULL ? check_snapshot(job, words[i])
                                           : job_fail(job, "a snapshot is named by hex digits");
        job_word(job, words[i]);
    }
    if (by_id || rc < 0)
        return rc;
    job_words(job, (const char *const[]){"--filter-host", job->call->root->host}, 2);
    return job_options(job, RUSTIC_FORGET, words, count);
}

int rustic_prepare(struct tool_job *job, const char *const *args, size_t count)
{
    static int (*const commands[])(struct tool_job *, const char *const *, size_t) = {
        [RUSTIC_BACKUP] = backup,
        [RUSTIC_SNAPSHOTS] = snapshots,
        [RUSTIC_RESTORE] = restore,
        [RUSTIC_FORGET] = forget,
    };
    struct tool_problem problem;
    const int command = tool_check_command(TOOL_RUSTIC, count > 0 ? args[0] : "", &problem);
    if (command < 0)
        return job_fail(job, problem.message);
    int rc = command == RUSTIC_RESTORE ? call_writable(job->call, args[count - 1]) : 0;
    if (rc == 0)
        rc = check_repository(job);
    if (rc < 0)
        return rc;
    add_repository(job);
    return commands[command](job, args + 1, count - 1);
}
