/* What a run leaves: its document, its files, what passes on to standard output, and words on stderr. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/stopped.h"
#include "wire/result_json.h"

#define DOCUMENT_USUAL 4096 /* without output */

static int make_document(struct session *s, struct buf *text)
{
    struct utsname host;
    if (!s->no_policy)
        session_digest(s); /* of a run that never was */
    const struct result_context context = {
        .cmd = s->options.command,
        .cmd_count = (size_t)s->options.command_count,
        .profile = policy_profile_name(s->options.policy.profile),
        .policy_sha256 = s->policy_sha256[0] != '\0' ? s->policy_sha256 : NULL,
        .kernel = uname(&host) == 0 ? host.release : NULL,
        .bwrap_path = s->result.bwrap_path[0] == '\0' ? NULL : s->result.bwrap_path,
        .module_id = s->module_id,
        .value = &s->value,
    };
    result_write_json(&s->result, &context, text);
    return text->failed ? -ENOMEM : 0;
}

/* A line of its own, behind what was kept. */
static int write_truncation(int fd, const struct result_stream *stream)
{
    char line[128];
    char text[132];
    result_truncation_line(stream, line, sizeof line);
    int n = snprintf(text, sizeof text, "%s%s\n", stream->ends_line || stream->kept == 0 ? "" : "\n", line);
    return fd_write_all(fd, text, (size_t)n);
}

/* The legacy shape: a header, then both streams. */
static int write_text(struct session *s)
{
    const struct result *result = &s->result;
    const struct result_stream *streams[2] = {&result->out, &result->err};
    char header[256];
    const char *colour = !message_colour(STDOUT_FILENO)    ? ""
                         : result->status == STATUS_OK ? "\033[32m"
                                                       : "\033[31m";
    int n = snprintf(header, sizeof header, "cordon: %sstatus=%s%s rc=%d duration_ms=%llu traceId=%s\n", colour,
                     status_name(result->status), colour[0] == '\0' ? "" : "\033[0m", result->rc,
                     (unsigned long long)result->duration_ms, result->trace_id);
    int r = fd_write_all(STDOUT_FILENO, header, (size_t)n);
    for (int i = 0; r == 0 && i < 2; i++) {
        r = fd_write_all(STDOUT_FILENO, streams[i]->captured.data, streams[i]->captured.len);
        if (r == 0 && streams[i]->truncated)
            r = write_truncation(STDOUT_FILENO, streams[i]);
    }
    return r;
}

/* Output that passed through and was cut ends in a visible line, too. */
static void mark_truncation(const struct session *s)
{
    const struct result_stream *streams[2] = {&s->result.out, &s->result.err};
    for (int i = 0; i < 2; i++) {
        struct result_stream passed = *streams[i]; /* more of it, perhaps, than was captured */
        if (passed.bytes <= s->run.plan.output_bytes || !s->run.plan.output_passing || s->streams[i].fd >= 0 ||
            !s->pass[i])
            continue;
        passed.kept = s->run.plan.output_bytes;
        (void)write_truncation(1 + i, &passed);
    }
}

static void report_errors(const struct session *s)
{
    const struct result *result = &s->result;
    for (unsigned i = 0; i < result->warning_count && !s->options.quiet; i++)
        message_warning("%s", result->warnings[i]);
    if (result->error.kind != CORDON_ERROR_NONE)
        message_error(&result->error);
}

static int write_result(struct session *s, const struct buf *document)
{
    struct cordon_error err = {0};
    int r = outfile_write(&s->document, document->data, document->len, &err);
    if (r == 0)
        r = outfile_commit(&s->document, &err);
    if (r < 0)
        message_error(&err);
    return r;
}

/* Files first: nothing can keep us from them, and no signal may. */
static int write_files(struct session *s, const struct buf *document)
{
    struct cordon_error err = {0};
    int r = 0;
    for (int i = 0; r == 0 && i < 2; i++) {
        if (s->streams[i].fd >= 0 && s->result.status != STATUS_INTERNAL_ERROR)
            r = outfile_commit(&s->streams[i], &err);
    }
    if (r < 0)
        message_error(&err);
    else if (s->options.result != NULL && !s->document.direct)
        r = write_result(s, document);
    return r;
}

/* What a module returned, on a line. */
static int write_value(const struct session *s)
{
    int r = fd_write_all(STDOUT_FILENO, s->value.data, s->value.len);
    return r < 0 ? r : fd_write_all(STDOUT_FILENO, "\n", 1);
}

/* From here on a signal ends cordon as any program. */
static void allow_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int write_streams(struct session *s, const struct buf *document)
{
    struct cordon_error err = {0};
    mark_truncation(s);
    int r = s->options.format_text ? write_text(s) : 0;
    if (r == 0 && s->options.json)
        r = fd_write_all(STDOUT_FILENO, document->data, document->len);
    else if (r == 0 && s->value.len > 0)
        r = write_value(s);
    if (r < 0) {
        err_set(&err, CORDON_ERROR_IO, CORDON_LAYER_OUTPUT, -r, "write result to", "standard output");
        message_error(&err);
    }
    return r;
}

/* Last, after all output; of a module `call` says it, and a document says it by itself. */
static void report_stop(const struct session *s)
{
    if (!s->options.quiet && !s->options.json && !s->options.format_text && s->module_id == NULL)
        stopped_say(&s->result, &s->run.plan);
}

int session_conclude(struct session *s, int status)
{
    char room[DOCUMENT_USUAL];
    BUF_AUTO document = BUF_IN(room, SESSION_TEXT_MAX);
    int r = 0;
    if (s->options.json || s->options.result != NULL)
        r = make_document(s, &document);
    if (r == 0)
        r = write_files(s, &document);
    allow_signals(); /* then what a reader may be slow to take */
    if (s->tell_violations)
        violation_say_rest(&s->notes, &s->result.violations);
    if (s->summary != NULL)
        s->summary(s);
    report_errors(s);
    if (r == 0 && s->options.result != NULL && s->document.direct)
        r = write_result(s, &document);
    int written = write_streams(s, &document);
    report_stop(s);
    if (r < 0 || written < 0)
        return EXIT_SETUP;
    return s->lost != 0 && status == 0 ? EXIT_SETUP : status;
}
