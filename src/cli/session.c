#include "cli/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/stopped.h"
#include "cli/switches.h"
#include "cli/terminal.h"
#include "cli/violation.h"
#include "result/ending.h"
#include "sys/pidfd.h"
#include "wire/result_json.h"

#define DOCUMENT_MAX (1024u * 1024 * 1024)
#define DOCUMENT_USUAL (8u * 1024) /* without output: at once, and not bit by bit */

extern char **environ;

static bool wants_document(const struct session *s)
{
    return s->options.json || s->options.result != NULL || s->options.format_text;
}

/*
 * The caller's environment leaves this process before anything is cloned from it; what the payload
 * may have is in the plan by now.
 */
static void wipe_environment(void)
{
    for (char **e = environ; *e != NULL; e++)
        memset(*e, 0, strlen(*e));
    environ[0] = NULL;
}

/* TERM, INT and HUP are passed on, unless whoever started us has them ignored (nohup, `&`). */
static int open_signals(struct session *s)
{
    static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    const size_t count = s->options.tty ? 4 : 3; /* the last one would leave the terminal as it is */
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) {
        struct sigaction old;
        if (sigaction(passed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&set, passed[i]);
    }
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an errno here, */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow */
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals < 0 ? -errno : 0;
}

static int next_signal(int signals)
{
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

/* Of the descriptor that watch_process() made. */
static int next_event(int events)
{
    struct epoll_event event;
    if (epoll_wait(events, &event, 1, 0) != 1)
        return 0;
    return event.data.fd < 0 ? SIGKILL : next_signal(event.data.fd);
}

/*
 * The end of a process is one more signal, and not to be argued with. By a descriptor, and not by
 * the kernel's parent-death signal: that one is sent when the parent's thread ends.
 */
static int watch_process(struct session *s)
{
    struct epoll_event signals = {.events = EPOLLIN, .data.fd = s->signals};
    struct epoll_event process = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = -1};
    int pidfd = (int)sys_call(SYS_pidfd_open, s->options.die_with, 0);
    if (pidfd < 0)
        return pidfd;
    int events = epoll_create1(EPOLL_CLOEXEC);
    if (events < 0 || epoll_ctl(events, EPOLL_CTL_ADD, s->signals, &signals) < 0 ||
        epoll_ctl(events, EPOLL_CTL_ADD, pidfd, &process) < 0)
        return -errno;
    s->signals = events; /* both descriptors are in use until this process ends */
    return 0;
}

/* Files for the caller, opened before the payload exists. */
static int open_outputs(struct session *s)
{
    const char *specs[2] = {s->options.stdout_file, s->options.stderr_file};
    struct cordon_error *err = &s->result.error;
    int r = s->options.result == NULL ? 0 : outfile_open(&s->document, s->options.result, err);
    for (int i = 0; r == 0 && i < 2; i++)
        r = specs[i] == NULL ? 0 : outfile_open(&s->streams[i], specs[i], err);
    return r;
}

static void digest_policy(struct session *s)
{
    if (s->policy_sha256[0] == '\0' && policy_sha256(&s->options.policy, s->policy_sha256) < 0)
        s->policy_sha256[0] = '\0';
}

static int make_document(struct session *s, struct buf *text)
{
    struct utsname host;
    if (!s->no_policy)
        digest_policy(s); /* of a run that never was */
    (void)buf_reserve(text, DOCUMENT_USUAL);
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
        if (r == 0 && streams[i]->truncated) {
            char line[128];
            result_truncation_line(streams[i], line, sizeof line);
            n = snprintf(header, sizeof header, "%s%s\n",
                         streams[i]->ends_line || streams[i]->kept == 0 ? "" : "\n", line);
            r = fd_write_all(STDOUT_FILENO, header, (size_t)n);
        }
    }
    return r;
}

/* Output that passed through and was cut ends in a visible line, too. */
static void mark_truncation(const struct session *s)
{
    const struct result_stream *streams[2] = {&s->result.out, &s->result.err};
    for (int i = 0; i < 2; i++) {
        char line[128];
        char text[132];
        struct result_stream passed = *streams[i]; /* more of it, perhaps, than was captured */
        if (passed.bytes <= s->run.plan.output_bytes || !s->run.plan.output_passing || s->streams[i].fd >= 0 ||
            !s->pass[i])
            continue;
        passed.kept = s->run.plan.output_bytes;
        result_truncation_line(&passed, line, sizeof line);
        int n = snprintf(text, sizeof text, "%s%s\n", passed.ends_line || passed.kept == 0 ? "" : "\n", line);
        (void)fd_write_all(1 + i, text, (size_t)n);
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

/* Files first: nothing can keep us from them, and no signal may. */
static int write_files(struct session *s, const struct buf *document)
{
    struct cordon_error err = {0};
    int r = 0;
    for (int i = 0; r == 0 && i < 2; i++) {
        if (s->streams[i].fd >= 0 && s->result.status != STATUS_INTERNAL_ERROR)
            r = outfile_commit(&s->streams[i], &err);
    }
    if (r == 0 && s->options.result != NULL) {
        r = outfile_write(&s->document, document->data, document->len, &err);
        if (r == 0)
            r = outfile_commit(&s->document, &err);
    }
    if (r < 0)
        message_error(&err);
    return r;
}

/* What a module returned, on a line. */
static int write_value(const struct session *s)
{
    int r = fd_write_all(STDOUT_FILENO, s->value.data, s->value.len);
    return r < 0 ? r : fd_write_all(STDOUT_FILENO, "\n", 1);
}

/* Then what a reader may be slow to take: from here on a signal ends cordon as any program. */
static int write_streams(struct session *s, const struct buf *document)
{
    struct cordon_error err = {0};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
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

/* Test programs only: the release program has no switches. */
static int tune(struct host *host, struct cordon_error *err)
{
    const char *unknown = NULL;
    if (switches_read(host, environ, &unknown) < 0)
        return err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_PLAN, 0, "switch off", unknown);
    return 0;
}

int session_plan(struct session *s)
{
    struct backend_run *run = &s->run;
    run->policy = &s->options.policy;
    run->arena = &s->arena;
    run->command = s->options.command;
    run->env = environ;
    run->guard = s->guard;
    run->tty = s->options.tty;
    run->result = &s->result;
    run->unsafe_known = s->options.unsafe_no_isolation;
    run->tune = tune;
    return backend_plan(run);
}

/* Where a host refuses something, that shows only by trying: all but the command itself. */
int session_print_plan(struct session *s)
{
    BUF_AUTO text = BUF_INIT(DOCUMENT_MAX);
    backend_rehearse(&s->run);
    if (s->result.error.kind != CORDON_ERROR_NONE) {
        session_refuse(s);
        return session_conclude(s, session_exit(s));
    }
    plan_print(&s->run.plan, &text);
    return message_print(&text) < 0 ? EXIT_SETUP : 0;
}

void session_refuse(struct session *s)
{
    ending_refused(&s->result);
    if (s->run.plan.policy != NULL)
        ledger_fill(&s->result.ledger, &s->run.plan, 0, false);
}

/* Until the run is over: its own events, the caller's terminal, the live line. */
static void watch_run(struct backend_run *run, struct cli_terminal *terminal, struct progress *progress)
{
    bool over = false;
    while (!over) {
        struct pollfd fds[] = {{.fd = backend_descriptor(run), .events = POLLIN},
                               {.fd = terminal->signals, .events = POLLIN},
                               {.fd = progress->timer, .events = POLLIN}};
        if (poll(fds, 3, -1) < 0)
            continue; /* a signal that is not ours */
        if (fds[1].revents != 0)
            cli_terminal_signal(terminal, run);
        if (fds[2].revents != 0)
            progress_tick(progress);
        over = backend_step(run, false);
    }
}

static void carry_out(struct session *s, struct cli_terminal *terminal, struct progress *progress)
{
    struct backend_run *run = &s->run;
    bool over = backend_start(run) < 0;
    if (wants_document(s))
        digest_policy(s); /* while the others begin, not while somebody waits for the document */
    cli_terminal_pass_keys(terminal);
    if (s->options.progress)
        progress_begin(progress, run);
    if (!over && (terminal->signals >= 0 || progress->timer >= 0)) {
        watch_run(run, terminal, progress);
        over = true;
    }
    while (!over)
        over = backend_step(run, true);
    progress_end(progress);
}

/* Where violations are told, and what must make way for it. */
struct telling {
    struct violation_notes *notes;
    struct progress *progress;
};

static void tell_violation(void *context, const struct result_violation *violation)
{
    struct telling *telling = context;
    progress_erase(telling->progress);
    violation_say(telling->notes, violation);
}

static void supervise(struct session *s)
{
    struct backend_run *run = &s->run;
    struct cli_terminal terminal = CLI_TERMINAL_INIT;
    struct progress progress = PROGRESS_INIT;
    struct telling telling = {.notes = &s->notes, .progress = &progress};
    s->notes.quiet = s->options.quiet;
    run->wishes = (struct run_wishes){
        .input = s->input,
        .capture = s->capture || wants_document(s),
        .ledger = s->ledger || wants_document(s),
        .before_output = s->options.progress ? progress_erase : NULL,
        .user = &progress,
        .signals = s->signals,
        .next_signal = s->options.die_with != 0 ? next_event : next_signal,
        .death_signal = true,
        .quick_end = true,
        .last = true,
        .arguments = s->arguments,
        .arguments_size = s->arguments_size,
        .on_violation = s->tell_violations ? tell_violation : NULL,
        .on_violation_context = &telling,
    };
    for (int i = 0; i < 2; i++)
        run->wishes.output[i] = s->streams[i].fd >= 0 ? s->streams[i].fd : s->pass[i] ? 1 + i : -1;
    if (run->plan.wipe)
        wipe_environment();
    int r = s->options.tty ? cli_terminal_begin(&terminal) : 0;
    if (r < 0) {
        cli_terminal_end(&terminal);
        err_set(&s->result.error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, -r, "use the terminal", "standard input");
        session_refuse(s);
        return;
    }
    s->notes.raw = terminal.raw;
    carry_out(s, &terminal, &progress);
    cli_terminal_end(&terminal);
    backend_finish(run);
    s->lost = run->lost_output;
}

/* What can end the run from outside. */
static int watch_caller(struct session *s)
{
    struct cordon_error *err = &s->result.error;
    int r = open_signals(s);
    if (r < 0)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, -r, "watch signals", "signalfd");
    r = s->options.die_with == 0 ? 0 : watch_process(s);
    return r == 0 ? 0 : err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, -r, "watch the process of", "--die-with");
}

void session_run(struct session *s)
{
    if (watch_caller(s) < 0) {
        session_refuse(s);
        return;
    }
    supervise(s);
    if (s->lost != 0) {
        struct cordon_error lost = {0};
        err_set(&lost, CORDON_ERROR_IO, CORDON_LAYER_OUTPUT, s->lost, "pass on output", s->run.plan.command);
        message_error(&lost);
    }
}

int session_exit(const struct session *s)
{
    return s->options.exit_style == EXIT_NORMALIZED ? result_exit_normalized(&s->result)
                                                    : result_exit_child(&s->result);
}

int session_conclude(struct session *s, int status)
{
    BUF_AUTO document = BUF_INIT(DOCUMENT_MAX);
    report_errors(s);
    int r = 0;
    if (s->options.json || s->options.result != NULL)
        r = make_document(s, &document);
    if (r == 0)
        r = write_files(s, &document);
    int written = write_streams(s, &document);
    report_stop(s);
    if (r < 0 || written < 0)
        return EXIT_SETUP;
    return s->lost != 0 && status == 0 ? EXIT_SETUP : status;
}

/* The caller's words, for init to wipe: the program's name and all that follow lie in one block. */
static void find_arguments(struct session *s, int argc, char **argv)
{
    const char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    s->arguments = argv[0];
    s->arguments_size = (size_t)(end - argv[0]);
}

/* The command is executed from a copy: its own words are wiped in init before it is looked at. */
static int copy_command(struct session *s)
{
    char **copy = arena_strings(&s->arena, s->options.command);
    if (copy == NULL)
        return err_set(&s->result.error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, ENOMEM, "copy the command", "");
    s->options.command = copy;
    return 0;
}

static void add_warning(void *result, const char *pointer, const char *text)
{
    /* Whoever carries it out knows more: which backend, and whether anything is missing. */
    if (strcmp(pointer, "/backend") != 0 && strcmp(pointer, "/allow_partial") != 0)
        result_warn(result, "%s (policy %s)", text, pointer);
}

int session_open(struct session *s, int argc, char **argv)
{
    int r = copy_command(s);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < s->options.source.warning_count; i++)
        result_warn(&s->result, "%s", s->options.source.warnings[i]);
    find_arguments(s, argc, argv);
    if (wants_document(s))
        result_trace(&s->result, s->options.trace_id);
    r = open_outputs(s);
    if (r == 0)
        policy_warnings(&s->options.policy, add_warning, &s->result);
    return r;
}

void session_init(struct session *s)
{
    s->arena = ARENA_IN(s->room, POLICY_ARENA_BYTES);
    s->document = s->streams[0] = s->streams[1] = OUTFILE_INIT;
    s->signals = s->input = -1;
    s->value = BUF_INIT(DOCUMENT_MAX);
    s->tell_violations = true;
    s->notes.fix = "write to a place that --rw names, or to the current directory where the profile makes it "
                   "writable";
    result_init_zeroed(&s->result);
}

void session_release(struct session *s)
{
    outfile_release(&s->document);
    for (int i = 0; i < 2; i++)
        outfile_release(&s->streams[i]);
}
