#include "cli/call.h"

#include <cordon/call.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/fd.h"
#include "cli/audit_log.h"
#include "cli/call_list.h"
#include "cli/call_options.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/module_runner.h"
#include "cli/session.h"
#include "module/answer.h"
#include "module/direct.h"
#include "module/request.h"
#include "result/ending.h"

#define EXIT_DENIED 77 /* of apcore: the caller does not grant it */

extern char **environ;

struct call {
    struct session session;
    struct call_options own;
    struct module_root root;
    struct module module;
    const char *id;
    struct buf input;
    int input_fd; /* owned */
    bool ran;     /* the result is that of a run, or of one that was tried */
};

static int put_help(void)
{
    static const char *const refused[] = {"tty", "progress", "format", NULL}; /* by check_options() */
    struct call_options ignored;
    const struct option_table own = call_option_table(&ignored);
    BUF_AUTO text = BUF_INIT(64 * 1024);
    buf_puts(&text, "usage: cordon call [options] MODULE_ID < input.json\n"
                    "       cordon call --list [--extensions DIR] [--json]\n\n"
                    "Runs a module: one JSON value in, one JSON value out, in a sandbox of its own. What\n"
                    "the module's manifest asks for is granted only within the policy of these options.\n\n");
    option_help(&own, &text);
    buf_puts(&text, "\nThese options of cordon run hold here, too, with the profile \"module\":\n\n");
    options_help(&text, PROFILE_MODULE, &own, refused);
    buf_puts(&text, "\nThe exit status is 0 if the module returned a value, and else as of cordon run; 65\n"
                    "its output is not one JSON value, 44 there is no such module or it cannot be loaded.\n");
    return message_print(&text) < 0 ? EXIT_SETUP : 0;
}

static int usage(struct cordon_error *err, const char *what, const char *subject, const char *why)
{
    int r = err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_MODULE, EINVAL, what, subject);
    err_why(err, why);
    return r;
}

/* Options that a sandbox carries out; those that it keeps are module_direct_check()'s. */
static const char *only_of_a_sandbox(const struct run_options *o)
{
    return o->dry_run                ? "--dry-run"
           : o->die_with != 0        ? "--die-with"
           : o->stdout_file != NULL  ? "--stdout-file"
           : o->stderr_file != NULL  ? "--stderr-file"
                                     : NULL;
}

/* Options that --list would have nothing for; those of a policy say nothing about it. */
static const char *only_of_a_call(const struct call *c)
{
    const struct run_options *o = &c->session.options;
    return o->result != NULL                         ? "--result"
           : o->stdout_file != NULL                  ? "--stdout-file"
           : o->stderr_file != NULL                  ? "--stderr-file"
           : o->dry_run                              ? "--dry-run"
           : c->own.audit_log != NULL                ? "--audit-log"
           : c->own.timeout_given                    ? "--timeout"
           : c->own.no_sandbox                       ? "--no-sandbox"
           : c->own.exit_style != CALL_EXIT_CHILD    ? "--exit"
                                                     : NULL;
}

static int check_options(const struct call *c, struct cordon_error *err)
{
    const struct run_options *o = &c->session.options;
    const char *what = o->tty           ? "--tty"
                       : o->progress    ? "--progress"
                       : o->format_text ? "--format"
                                        : NULL;
    if (what != NULL)
        return usage(err, "use", what, "a module has JSON and nothing else");
    what = c->own.list ? only_of_a_call(c) : NULL;
    if (what != NULL)
        return usage(err, "use", what, "--list calls no module");
    if (o->dry_run && c->own.audit_log != NULL)
        return usage(err, "use", "--audit-log", "--dry-run calls no module");
    what = c->own.no_sandbox ? only_of_a_sandbox(o) : NULL;
    return what == NULL ? 0 : usage(err, "use", what, "there is no sandbox to do it");
}

/* The id is the only word there is. */
static int take_id(struct call *c, int count, char **words, struct cordon_error *err)
{
    if (count > 0 && strcmp(words[0], "--") == 0) {
        words++;
        count--;
    }
    if (c->own.list && count == 0)
        return 0;
    const char *last = count > 0 ? words[count - 1] : "";
    if (c->own.list || count != 1)
        return usage(err, "read module id", last,
                     c->own.list                     ? "--list calls no module"
                     : count > 1 && last[0] == '-'   ? "options stand before the id"
                     : count > 1                     ? "one module is called at a time"
                                                     : "the id is missing: cordon call --list shows those there are");
    const char *wrong = module_id_wrong(words[0]);
    c->id = words[0];
    return wrong == NULL ? 0 : usage(err, "read module id", words[0], wrong);
}

static int read_input(struct call *c, struct cordon_error *err)
{
    if (c->session.options.stdin_none) {
        buf_puts(&c->input, "null");
        return 0;
    }
    int r = input_read_module(&c->input, err);
    if (r < 0 && c->input.len == 0)
        err_remedy(err, "give a value on standard input, or say --stdin none for null");
    return r;
}

static int no_memory(const struct call *c, struct cordon_error *err)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MODULE, ENOMEM, "call module", c->id);
}

static struct module_terms terms_of(struct call *c)
{
    const struct run_options *o = &c->session.options;
    return (struct module_terms){.policy = &o->policy,
                                 .ceiling = o->ceiling,
                                 .timeout_ms = c->own.timeout_given ? &c->own.timeout_ms : NULL,
                                 .runner = module_runner_place(&c->session.arena)};
}

/* Whoever is to run: the options become the policy that the module was granted. */
static int make_request(struct call *c, struct cordon_error *err)
{
    struct session *s = &c->session;
    struct module_request request = {0};
    const struct module_terms terms = terms_of(c);
    int r = 0;
    if (terms.runner == NULL)
        return no_memory(c, err);
    if (c->own.no_sandbox)
        r = module_direct_check(c->id, &terms, environ, err);
    if (r == 0 && c->own.no_sandbox)
        request.command = module_command(&s->arena, &c->module, terms.runner);
    else if (r == 0)
        r = module_request(&request, &s->arena, &c->root, &c->module, &terms, err);
    if (request.command == NULL)
        return r < 0 ? r : no_memory(c, err);
    if (!c->own.no_sandbox)
        s->options.policy = request.policy;
    s->options.command = request.command;
    while (request.command[s->options.command_count] != NULL)
        s->options.command_count++;
    return 0;
}

/* Until here nothing of the module's has run. */
static int prepare(struct call *c, int argc, char **argv, struct cordon_error *err)
{
    int r = module_root_open(&c->root, &c->session.arena, c->own.extensions, environ, err);
    if (r == 0)
        r = module_find(&c->module, &c->root, c->id, &c->session.arena, err);
    if (r == 0)
        r = read_input(c, err);
    if (r == 0)
        r = make_request(c, err);
    if (r == 0)
        r = session_open(&c->session, argc, argv);
    return r;
}

static void call_unprotected(struct call *c)
{
    struct session *s = &c->session;
    s->no_policy = true;
    if (!s->options.unsafe_no_isolation)
        result_warn(&s->result, "module '%s' is called without a sandbox: nothing is enforced "
                                "(--unsafe-no-isolation silences this)", c->id);
    if (caller_watch(&s->caller, false, 0, &s->result.error) < 0) {
        module_unprotected(&s->result);
        ending_refused(&s->result);
        return;
    }
    const struct module_caller caller = {.events = s->caller.events, .next = s->caller.next};
    module_direct(s->options.command, environ, c->input.data, c->input.len, s->pass[1], &caller, &s->result);
}

static void call_in_sandbox(struct call *c)
{
    struct session *s = &c->session;
    s->input = c->input_fd = fd_from_memory(c->input.data, c->input.len);
    int r = s->input < 0 ? err_set(&s->result.error, CORDON_ERROR_SETUP, CORDON_LAYER_MODULE, -s->input,
                                   "keep input of", c->id)
                         : session_plan(s);
    session_run(s, r);
}

/* apcore: what the module did is 0 or 1; what kept it from being called has numbers of its own. */
static int apcore_exit(const struct call *c)
{
    const struct result *result = &c->session.result;
    if (result->status == STATUS_OK)
        return 0;
    if (result->caller_signal == SIGINT)
        return 128 + SIGINT;
    const bool unloaded = c->module.manifest.library != NULL && result->exited &&
                          result->exit_code == MODULE_EXIT_UNLOADED;
    return unloaded ? MODULE_EXIT_UNLOADED : 1;
}

static int exit_of_error(const struct call *c, const struct cordon_error *err)
{
    const bool apcore = c->own.exit_style == CALL_EXIT_APCORE;
    switch (err->kind) {
    case CORDON_ERROR_MODULE:
        return MODULE_EXIT_UNLOADED;
    case CORDON_ERROR_POLICY:
        return apcore && err->errnum == EPERM ? EXIT_DENIED : EXIT_USAGE;
    case CORDON_ERROR_USAGE:
    case CORDON_ERROR_IO:
        return EXIT_USAGE;
    default:
        return apcore ? 1 : EXIT_SETUP;
    }
}

/* The module's own words have been seen by now; this says which module it was. */
static void report_failure(const struct call *c)
{
    const struct result *result = &c->session.result;
    struct cordon_error err;
    if (result->error.kind != CORDON_ERROR_NONE)
        return; /* conclude() says it */
    module_failure(result, c->id, &err);
    if (err.kind != CORDON_ERROR_NONE)
        message_error(&err);
}

static int call(struct call *c, int argc, char **argv, struct cordon_error *err)
{
    struct session *s = &c->session;
    s->module_id = c->id;
    s->capture = true;
    s->pass[1] = !s->options.json;
    int r = prepare(c, argc, argv, err);
    if (r == 0 && s->options.dry_run)
        r = session_plan(s);
    if (r < 0) {
        message_error(err);
        return exit_of_error(c, err);
    }
    if (s->options.dry_run)
        return session_print_plan(s);
    c->ran = true;
    if (c->own.no_sandbox)
        call_unprotected(c);
    else
        call_in_sandbox(c);
    module_answer(&s->result, &s->value);
    report_failure(c);
    return session_conclude(s, c->own.exit_style == CALL_EXIT_APCORE ? apcore_exit(c) : session_exit(s));
}

static void keep_log(const struct call *c, int log, int status)
{
    const struct result *result = &c->session.result;
    const struct audit_entry entry = {
        .module_id = c->id,
        .input = c->input.data,
        .input_len = c->input.len,
        .status = c->ran ? status_name(result->status) : "REFUSED",
        .exit_code = status,
        .duration_ms = result->duration_ms,
    };
    if (c->own.audit_log != NULL)
        audit_log_append(c->own.audit_log, log, &entry);
}

static int list(struct call *c, struct cordon_error *err)
{
    if (module_root_open(&c->root, &c->session.arena, c->own.extensions, environ, err) < 0) {
        message_error(err);
        return MODULE_EXIT_UNLOADED;
    }
    return call_list(&c->root, &c->session.arena, c->session.options.json, err);
}

static int begin(struct call *c, int argc, char **argv)
{
    struct session *s = &c->session;
    struct cordon_error *err = &s->result.error;
    const struct option_table own = call_option_table(&c->own);
    const struct options_setting setting = {
        .profile = PROFILE_MODULE, .own = &own, .arena = &s->arena, .cwd = cwd_name(&s->arena)};
    int r = options_parse(&s->options, &setting, argc - 2, argv + 2, err);
    if (r >= 0 && s->options.help)
        return put_help();
    if (r >= 0)
        r = take_id(c, argc - 2 - r, argv + 2 + r, err);
    if (r >= 0)
        r = check_options(c, err);
    if (r < 0) {
        message_error(err);
        return EXIT_USAGE;
    }
    if (c->own.exit_style == CALL_EXIT_NORMALIZED)
        s->options.exit_style = EXIT_NORMALIZED;
    if (c->own.list)
        return list(c, err);
    const int log = c->own.audit_log == NULL ? -1 : audit_log_open(c->own.audit_log);
    int status = call(c, argc, argv, err);
    keep_log(c, log, status);
    return status;
}

int cli_call(int argc, char **argv)
{
    static struct call c;
    c.root = MODULE_ROOT_INIT;
    c.input_fd = -1;
    c.input = BUF_INIT(CORDON_CALL_INPUT_MAX);
    session_init(&c.session);
    int status = begin(&c, argc, argv);
    fd_close(&c.input_fd);
    module_root_close(&c.root);
    buf_free(&c.input);
    session_release(&c.session);
    return status;
}
