#include "cli/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "cli/message.h"
#include "cli/progress.h"
#include "cli/switches.h"
#include "cli/terminal.h"
#include "cli/violation.h"
#include "result/ending.h"

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

/* One file cannot hold two things: of both only the last would be left. */
static int refuse_same(struct session *s)
{
    const struct outfile *const files[] = {&s->document, &s->streams[0], &s->streams[1]};
    static const char *const options[] = {"--result", "--stdout-file", "--stderr-file"};
    for (int i = 1; i < 3; i++) {
        for (int k = 0; k < i; k++) {
            if (!outfile_same(files[k], files[i]))
                continue;
            int r = err_set(&s->result.error, CORDON_ERROR_USAGE, CORDON_LAYER_OUTPUT, EINVAL, "read option", options[i]);
            err_why(&s->result.error, "another option names the same file");
            err_remedy(&s->result.error, "give each a file of its own");
            return r;
        }
    }
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
    return r < 0 ? r : refuse_same(s);
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
    BUF_AUTO text = BUF_INIT(SESSION_TEXT_MAX);
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

void session_digest(struct session *s)
{
    if (s->policy_sha256[0] == '\0' && policy_sha256(&s->options.policy, s->policy_sha256) < 0)
        s->policy_sha256[0] = '\0';
}

static void carry_out(struct session *s, struct cli_terminal *terminal, struct progress *progress)
{
    struct backend_run *run = &s->run;
    bool over = backend_start(run) < 0;
    if (wants_document(s))
        session_digest(s); /* while the others begin, not while somebody waits for the document */
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
        .signals = s->caller.events,
        .next_signal = s->caller.next,
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
    s->notes.raw = false;
    backend_finish(run);
    s->lost = run->lost_output;
}

void session_run(struct session *s, int r)
{
    if (r == 0)
        r = caller_watch(&s->caller, s->options.tty, s->options.die_with, &s->result.error);
    if (r < 0) {
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

int session_open(struct session *s, int argc, char **argv)
{
    int r = copy_command(s);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < s->options.source.warning_count; i++)
        result_warn_document(&s->result, s->options.source.warnings[i]);
    find_arguments(s, argc, argv);
    if (wants_document(s))
        result_trace(&s->result, s->options.trace_id);
    r = open_outputs(s);
    if (r == 0)
        result_warn_policy(&s->result, &s->options.policy);
    return r;
}

void session_init(struct session *s)
{
    s->arena = ARENA_IN(s->room, POLICY_ARENA_BYTES);
    s->document = s->streams[0] = s->streams[1] = OUTFILE_INIT;
    s->input = -1;
    s->value = BUF_INIT(SESSION_TEXT_MAX);
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
