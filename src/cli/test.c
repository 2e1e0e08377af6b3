#include "cli/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/message.h"
#include "cli/session.h"
#include "project/notes.h"
#include "project/runner.h"
#include "report/report.h"

#define TEMPLATE_MAX (1024 * 1024)
#define REPORT_MAX (64u * 1024 * 1024)

/* One call of `cordon test`. */
struct test {
    struct session session; /* first: put_summary() gets no more */
    struct project project;
    struct workspace workspace;
    struct outfile report_file;
    const char *template; /* NULL: --config names a file, none is generated */
    size_t template_len;
    char **asked;         /* the command as it was asked for; NULL at the end */
    const char *config;   /* absolute; what the child is told */
    struct policy_vars given; /* by options and documents, before any of ours */
    const char *python_path;  /* behind that of the plug-in; NULL: there is none */

    const char *root, *config_option, *report; /* options */
    unsigned on_violation;                     /* enum plan_on_violation */
    bool print_config;
};

/* ---- options ---- */

static const char *const on_violation_names[] = {[VIOLATIONS_FAIL] = "fail",
                                                 [VIOLATIONS_REPORT] = "report"};
static const struct policy_words on_violation_words = {on_violation_names, 2};

/* The first one counts, as for the programs that this option comes from. */
static int apply_config(const struct option_use *use, const char *value)
{
    const struct test *t = use->target;
    return t->config_option == NULL ? option_string(use, value) : 0;
}

#define OPT(field) offsetof(struct test, field)

static const struct option option_items[] = {
    {"root", "DIR", "the project; default: found upward by cordon.json or .git, else the current directory",
     option_string, OPT(root), NULL, false},
    {"config", "FILE", "the configuration for the tests, instead of a generated one", apply_config,
     OPT(config_option), NULL, false},
    {"print-config", NULL, "print the path of that configuration, run nothing", option_flag,
     OPT(print_config), NULL, false},
    {"on-violation", "fail|report", "what a refused write does to the exit status", option_word,
     OPT(on_violation), &on_violation_words, false},
    {"report", "FILE", "write a page (HTML) about the run there", option_string, OPT(report), NULL, false},
};

static int put_help(void)
{
    const struct option_table own = OPTION_TABLE(option_items, NULL);
    BUF_AUTO text = BUF_INIT(64 * 1024);
    buf_puts(&text, "usage: cordon test [options] [-- COMMAND [ARG...]]\n\n"
                    "Runs a test suite that can write beneath tests/ and nowhere else, whatever language it\n"
                    "is written in, and names each write that was refused. Without COMMAND: what cordon.json\n"
                    "says, or pytest.\n\n");
    option_help(&own, &text);
    options_help(&text, PROFILE_TEST, &own, NULL);
    buf_puts(&text, "\nThe exit status is the command's own; 1 if it hid a refused write; else as for\n"
                    "cordon run.\n");
    return message_print(&text) < 0 ? EXIT_SETUP : 0;
}

/* ---- the command ---- */

static bool is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        char file[PATH_MAX];
        const size_t len = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)len, path, name);
        if (access(file, X_OK) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

/* Of the command line, else of cordon.json, else pytest. */
static int choose_command(struct test *t, const struct run_options *options, struct cordon_error *err)
{
    static const char *const pytests[] = {"pytest", "pytest-3", "py.test"};
    const struct project_names *own = &t->project.config.command;
    if (options->command != NULL) {
        if (options->command_count == 0 || options->command[0][0] == '\0')
            return option_misuse(err, "read command", "--", "the command is missing",
                                 "as in: cordon test -- pytest tests");
        t->asked = options->command;
        return 0;
    }
    char **words = arena_array(&t->session.arena, own->count + 2, sizeof *words);
    if (words == NULL)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_NONE, ENOMEM, "read command", "");
    for (size_t i = 0; i < own->count; i++)
        words[i] = arena_strdup(&t->session.arena, own->items[i]);
    for (size_t i = 0; words[0] == NULL && i < sizeof pytests / sizeof pytests[0]; i++) {
        if (is_in_path(pytests[i]))
            words[0] = arena_strdup(&t->session.arena, pytests[i]);
    }
    t->asked = words;
    if (words[0] == NULL || words[0][0] == '\0')
        return option_misuse(err, "find a test command for", t->project.root,
                             "none was given, cordon.json has none, and there is no pytest",
                             "as in: cordon test -- COMMAND; or set test.command in cordon.json");
    return 0;
}

/* ---- the policy ---- */

static int set_variable(struct test *t, struct policy *policy, const char *name, const char *value,
                        struct cordon_error *err)
{
    return policy_add_var(&policy->env.set, &t->session.arena, name, value, err);
}

static const char *in_workspace(struct test *t, const char *place)
{
    const char *path = arena_printf(&t->session.arena, "%s/%s", t->workspace.path, place);
    return path == NULL ? "" : path;
}

static const char *value_of(const struct policy_vars *vars, const char *name)
{
    for (size_t i = 0; i < vars->count; i++) {
        if (strcmp(vars->items[i].name, name) == 0)
            return vars->items[i].value;
    }
    return NULL;
}

/* What the caller has set is not replaced; what a profile sets by itself is. NULL: nothing. */
static const char *given(const struct test *t, const char *name)
{
    struct policy own;
    policy_init(&own, t->session.options.policy.profile);
    const char *value = value_of(&t->given, name), *usual = value_of(&own.env.set, name);
    return value != NULL && usual != NULL && strcmp(value, usual) == 0 ? NULL : value;
}

/* What tools keep in the caller's home stays readable: the variable that names it is set. */
static int keep_home(struct test *t, struct policy *policy, const struct runner_home *h,
                     struct cordon_error *err)
{
    struct stat st;
    const char *home = getenv("HOME");
    if (given(t, h->name) != NULL || getenv(h->name) != NULL || home == NULL || home[0] != '/')
        return 0;
    const char *path = arena_printf(&t->session.arena, "%s/%s", home, h->place);
    return path == NULL || stat(path, &st) < 0 ? 0 : set_variable(t, policy, h->name, path, err);
}

static int set_python_path(struct test *t, struct policy *policy, struct cordon_error *err)
{
    const char *old = t->python_path;
    const char *plugin = in_workspace(t, NOTES_PLUGIN_DIR);
    const char *both = old == NULL || old[0] == '\0'
                           ? plugin
                           : arena_printf(&t->session.arena, "%s:%s", plugin, old);
    return set_variable(t, policy, "PYTHONPATH", both == NULL ? plugin : both, err);
}

static int set_environment(struct test *t, struct policy *policy, struct cordon_error *err)
{
    const struct project_names *selectors = &t->project.config.config_env;
    int r = set_variable(t, policy, "CORDON_TEST_CONFIG", t->config, err);
    if (r == 0)
        r = set_variable(t, policy, "PWD", policy->cwd, err);
    for (size_t i = 0; r == 0 && i < runner_variable_count; i++) {
        if (given(t, runner_variables[i].name) == NULL)
            r = set_variable(t, policy, runner_variables[i].name, in_workspace(t, runner_variables[i].place), err);
    }
    for (size_t i = 0; r == 0 && i < runner_home_count; i++)
        r = keep_home(t, policy, &runner_homes[i], err);
    if (r == 0) /* git status refreshes the index by the way, and goes on where it cannot */
        r = policy_add_var(&policy->env.fallback, &t->session.arena, "GIT_OPTIONAL_LOCKS", "0", err);
    for (size_t i = 0; r == 0 && i < selectors->count; i++)
        r = policy_add_name(&policy->env.deny, &t->session.arena, selectors->items[i], err);
    if (r == 0 && runner_find(t->asked).runner == RUNNER_PYTEST)
        r = set_python_path(t, policy, err);
    return r;
}

static int set_writable(struct test *t, struct policy *policy, struct cordon_error *err)
{
    const struct project_names *writable = &t->project.config.writable;
    const char *root = strcmp(t->project.root, "/") == 0 ? "" : t->project.root;
    int r = 0;
    for (size_t i = 0; r == 0 && i < writable->count; i++) {
        const char *path = arena_printf(&t->session.arena, "%s/%s", root, writable->items[i]);
        /* The first one is made if it is not there; others may come later. */
        r = path == NULL ? -ENOMEM
                         : policy_add_bind(&policy->rw, &t->session.arena, path, path, i > 0, err);
    }
    if (r == 0 && policy->cwd == NULL)
        policy->cwd = t->project.root;
    return r;
}

/* Everything that depends on the name of the workspace; again if that changed. */
static int refine_policy(struct test *t, struct run_options *options, struct cordon_error *err)
{
    struct policy *policy = &options->policy;
    t->config = t->config_option != NULL ? t->config : t->workspace.config;
    int r = set_environment(t, policy, err);
    char **command = r < 0 ? NULL : runner_command(&t->session.arena, t->asked, &t->workspace, t->config);
    if (r == 0 && command == NULL)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_NONE, ENOMEM, "read command", "");
    options->command = command;
    for (options->command_count = 0; r == 0 && command[options->command_count] != NULL;)
        options->command_count++;
    return r;
}

static int open_project(struct test *t, struct cordon_error *err)
{
    int r = project_open(&t->project, &t->session.arena, t->root, ".", err);
    /* Not the machine's root by mere chance. */
    if (r == 0 && t->project.found == PROJECT_BY_CWD && strcmp(t->project.root, "/") == 0)
        r = option_misuse(err, "find project root", "/",
                          "this is the root of the file system, and has neither " PROJECT_FILE " nor .git",
                          "change into the project, or name it: --root DIR");
    if (r == 0 && t->root == NULL)
        r = project_enter_test_root(&t->project, err);
    return r < 0 ? r : workspace_name(&t->workspace, &t->project, err);
}

/* The text of the configuration that is generated, and its path or the one that was given. */
static int choose_config(struct test *t, struct cordon_error *err)
{
    const char *given = t->config_option, *own = t->project.config.config_template;
    if (given != NULL) {
        const char *cwd = cwd_name(&t->session.arena);
        if (given[0] != '/' && cwd == NULL)
            return err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_NONE, ENOENT, "read option", "--config");
        const char *joined = given[0] == '/' ? given
                                             : arena_printf(&t->session.arena, "%s/%s", cwd, given);
        t->config = joined == NULL ? NULL : policy_normalize_path(&t->session.arena, joined);
        return t->config != NULL ? 0 : option_misuse(err, "read option", "--config", "the path is too long", NULL);
    }
    t->template = workspace_template;
    t->template_len = strlen(workspace_template);
    return own == NULL ? 0
                       : project_read(&t->project, &t->session.arena, own, TEMPLATE_MAX, &t->template,
                                      &t->template_len, err);
}

static int refine(void *context, struct run_options *options, struct cordon_error *err)
{
    struct test *t = context;
    if (options->policy.fs_mode != FS_GUARD)
        return option_misuse(err, "use policy of", policy_profile_name(options->policy.profile),
                             "cordon test guards the host's tree", "take the profile test, or cordon run");
    int r = open_project(t, err);
    if (r == 0)
        r = choose_config(t, err);
    if (r == 0 && !t->print_config)
        r = choose_command(t, options, err);
    if (r < 0 || t->print_config)
        return r;
    if (options->within_spec != NULL && project_config_names_caches(&t->project.config))
        return option_misuse(err, "keep the project within its ceiling", "/test/caches",
                             "a ceiling grants no caches, and cordon.json names some",
                             "name them as writable there, and grant that in the document of --within");
    t->given = options->policy.env.set;
    t->python_path = given(t, "PYTHONPATH") != NULL ? given(t, "PYTHONPATH") : getenv("PYTHONPATH");
    r = set_writable(t, &options->policy, err);
    return r < 0 ? r : refine_policy(t, options, err);
}

/* ---- the run ---- */

/* Caches of cordon.json and of the runner. */
static int set_guard(struct test *t)
{
    const struct project_names *own = &t->project.config.caches;
    const char *const *more = runner_caches(runner_find(t->asked).runner);
    size_t count = 0;
    while (more[count] != NULL)
        count++;
    const char **all = arena_array(&t->session.arena, own->count + count + 1, sizeof *all);
    if (all == NULL)
        return -ENOMEM;
    if (own->count > 0)
        memcpy(all, own->items, own->count * sizeof *all);
    memcpy(all + own->count, more, count * sizeof *all);
    t->session.guard = (struct plan_guard){.root = t->project.root, .caches = all,
                                           .test_notes = in_workspace(t, NOTES_DIR),
                                           .on_violation = (enum plan_on_violation)t->on_violation};
    return 0;
}

static int print_line(const char *text)
{
    BUF_AUTO line = BUF_INIT(PATH_MAX * 2);
    buf_printf(&line, "%s\n", text);
    return message_print(&line) < 0 ? EXIT_SETUP : 0;
}

/* Nothing is made: the names are those that the run would get. */
static int dry_run(struct test *t)
{
    BUF_AUTO text = BUF_INIT(1024 * 1024);
    const char *const lines[][2] = {{"project root: ", t->project.root},
                                    {"\nconfiguration: ", t->config},
                                    {"\nworkspace: ", t->workspace.path}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        buf_puts(&text, lines[i][0]);
        text_put(&text, lines[i][1]); /* cordon.json may be a stranger's */
    }
    buf_puts(&text, "\ncommand:");
    for (int i = 0; i < t->session.options.command_count; i++) {
        buf_puts(&text, " ");
        text_put(&text, t->session.options.command[i]);
    }
    buf_puts(&text, "\n\n");
    if (message_print(&text) < 0)
        return EXIT_SETUP;
    return session_print_plan(&t->session);
}

static int make_workspace(struct test *t, struct cordon_error *err)
{
    const unsigned named = t->workspace.run;
    int r = workspace_make(&t->workspace, t->template, t->template_len, err);
    if (r == 0 && t->workspace.run != named)
        r = refine_policy(t, &t->session.options, err);
    if (r == 0 && set_guard(t) < 0)
        r = err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_NONE, ENOMEM, "make workspace", t->workspace.path);
    return r;
}

static struct report report_of(const struct test *t)
{
    return (struct report){.root = t->project.root,
                           .writable = t->project.config.writable.items[0],
                           .command = t->session.options.command,
                           .command_count = (size_t)t->session.options.command_count,
                           .config = t->config,
                           .result = &t->session.result};
}

/* 0, or an error that was said. */
static int write_page(struct test *t)
{
    const struct report report = report_of(t);
    BUF_AUTO page = BUF_INIT(REPORT_MAX);
    struct cordon_error err = {0};
    if (t->report == NULL)
        return 0;
    report_html(&report, &page);
    int r = page.failed ? err_set(&err, CORDON_ERROR_IO, CORDON_LAYER_OUTPUT, ENOMEM, "write", t->report)
                        : outfile_write(&t->report_file, page.data, page.len, &err);
    if (r == 0)
        r = outfile_commit(&t->report_file, &err);
    if (r < 0)
        message_error(&err);
    return r;
}

/* What the run made is kept if there may be something to see in it. */
static bool is_kept(const struct result *r)
{
    const bool ran = r->status != STATUS_INTERNAL_ERROR && r->status != STATUS_SPAWN_FAILED;
    return ran && (r->status != STATUS_OK || r->violations.total > 0);
}

static void put_summary(const struct session *s)
{
    const struct test *t = (const struct test *)(const void *)s; /* its first member */
    const struct report report = report_of(t);
    BUF_AUTO summary = BUF_INIT(REPORT_MAX);
    report_summary(&report, &summary);
    if (is_kept(&t->session.result) && !t->session.options.quiet) {
        buf_puts(&summary, "cordon: kept ");
        text_put(&summary, t->workspace.path);
        buf_puts(&summary, " until the next run\n");
    }
    (void)fd_write_all(STDERR_FILENO, summary.data, summary.len);
}

static int run(struct test *t)
{
    struct session *s = &t->session;
    int r = make_workspace(t, &s->result.error);
    if (r == 0)
        r = session_plan(s);
    session_run(s, r);
    violations_sort(&s->result.violations);
    const bool written = write_page(t) == 0;
    if (!is_kept(&s->result))
        workspace_remove(&t->workspace);
    s->summary = put_summary;
    return session_conclude(s, written ? session_exit(s) : EXIT_SETUP);
}

static int plan_only(struct test *t)
{
    struct session *s = &t->session;
    int r = set_guard(t) < 0 ? -ENOMEM : session_plan(s);
    if (r == 0)
        return dry_run(t);
    session_refuse(s);
    return session_conclude(s, session_exit(s));
}

/* The page is renamed into its place, and so is each of the others: the last would replace it. */
static int open_report(struct test *t, struct cordon_error *err)
{
    const struct session *s = &t->session;
    if (t->report != NULL && s->options.dry_run)
        return option_misuse(err, "read option", "--report", "--dry-run runs nothing to write about", "leave one of them out");
    int r = t->report == NULL ? 0 : outfile_open(&t->report_file, t->report, err);
    if (r == 0 && (outfile_same(&t->report_file, &s->document) || outfile_same(&t->report_file, &s->streams[0]) ||
                   outfile_same(&t->report_file, &s->streams[1])))
        r = option_misuse(err, "read option", "--report", "another option names the same file",
                          "give each a file of its own");
    return r;
}

static int test(struct test *t, int argc, char **argv)
{
    struct session *s = &t->session;
    struct cordon_error *err = &s->result.error;
    const struct option_table own = OPTION_TABLE(option_items, t);
    const struct options_setting setting = {.profile = PROFILE_TEST, .own = &own, .arena = &s->arena,
                                            .cwd = cwd_name(&s->arena), .refine = refine, .context = t};
    int rest = options_parse(&s->options, &setting, argc - 2, argv + 2, err);
    if (rest >= 0 && s->options.help)
        return put_help();
    if (rest >= 0 && rest < argc - 2 && strcmp(argv[2 + rest], "--") != 0)
        rest = option_misuse(err, "read command", argv[2 + rest], "put -- before the command",
                             "as in: cordon test -- pytest tests");
    int r = rest;
    if (r >= 0 && t->print_config)
        return print_line(t->config_option != NULL ? t->config : t->workspace.config);
    if (r >= 0)
        r = session_open(s, argc, argv);
    if (r >= 0)
        r = open_report(t, err);
    if (r < 0) {
        message_error(err);
        return EXIT_USAGE;
    }
    s->input = s->options.stdin_none ? -1 : STDIN_FILENO;
    s->pass[0] = s->pass[1] = !s->options.json && !s->options.format_text;
    s->ledger = t->report != NULL;
    s->tell_violations = false; /* by path, at the end */
    return s->options.dry_run ? plan_only(t) : run(t);
}

int cli_test(int argc, char **argv)
{
    struct test *t = calloc(1, sizeof *t);
    if (t == NULL)
        return EXIT_SETUP;
    session_init(&t->session);
    t->project = PROJECT_INIT;
    t->workspace = WORKSPACE_INIT;
    t->report_file = OUTFILE_INIT;
    int status = test(t, argc, argv);
    workspace_release(&t->workspace);
    project_release(&t->project);
    outfile_release(&t->report_file);
    session_release(&t->session);
    free(t);
    return status;
}
