#include "cli/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/policy_show.h"
#include "sys/files.h"
#include "wire/effects_json.h"
#include "wire/policy_json.h"

#define OUTPUT_MAX (64 * 1024 * 1024)

enum effects_form { EFFECTS_V1, EFFECTS_NOETHER };

struct policy_options {
    int profile; /* -1: not given */
    const char *policy_spec;
    bool json;
    int form; /* enum effects_form; -1: not given */
    bool help;
};

/* One call: what it was asked, and where its answer goes. */
struct command {
    struct policy_options options;
    const char *input; /* FILE or - */
    struct arena arena;
    struct buf out;
    struct cordon_error err;
};

static const char *const form_names[] = {[EFFECTS_V1] = "v1", [EFFECTS_NOETHER] = "noether"};
static const struct policy_words form_words = {form_names, 2};

#define OPT(field) offsetof(struct policy_options, field)

static const struct option option_items[] = {
    {"profile", "NAME", "show: this built-in profile (default: stage)", option_word, OPT(profile),
     &policy_profile_words, false},
    {"policy", "FILE|-|fd:N", "show: this document, with all that it leaves out", option_once,
     OPT(policy_spec), NULL, false},
    {"form", "v1|noether", "from-effects: the form to print", option_word, OPT(form), &form_words,
     false},
    {"json", NULL, "print JSON", option_flag, OPT(json), NULL, false},
    {"help", NULL, "this text", option_flag, OPT(help), NULL, false},
};

static int read_policy(struct command *c, const char *spec, struct policy *policy,
                       struct policy_source *source)
{
    BUF_AUTO text = BUF_INIT(0);
    int r = input_read(spec, &text, POLICY_MAX_BYTES, "read policy", &c->err);
    if (r < 0)
        return r;
    return policy_read(policy, &c->arena, text.data != NULL ? text.data : "", text.len, source,
                       &c->err);
}

static int run_show(struct command *c)
{
    struct policy policy;
    struct policy_source source = {.profile = c->options.profile};
    int r = 0;
    if (c->options.policy_spec != NULL)
        r = read_policy(c, c->options.policy_spec, &policy, &source);
    else
        policy_init(&policy, c->options.profile >= 0 ? (enum policy_profile)c->options.profile
                                                     : PROFILE_STAGE);
    if (r < 0)
        return r;
    if (c->options.json)
        policy_write_v1(&policy, &c->out);
    else
        policy_show(&policy, &c->out);
    return 0;
}

/* The list of warnings, as lines or as JSON. */
struct report {
    struct buf *out;
    struct json_writer *json; /* NULL: lines */
};

static void put_warning(void *context, const char *pointer, const char *text)
{
    struct report *report = context;
    char safe[512];
    if (report->json == NULL) {
        text_escape(safe, sizeof safe, pointer, strlen(pointer));
        buf_printf(report->out, "warning: %s%s%s\n", safe, pointer[0] != '\0' ? ": " : "", text);
        return;
    }
    json_begin(report->json, '{');
    json_put_string(report->json, "pointer", pointer);
    json_put_string(report->json, "message", text);
    json_end(report->json, '}');
}

static void put_warnings(struct report *report, const struct policy *policy,
                         const struct policy_source *source)
{
    for (unsigned i = 0; i < source->warning_count; i++)
        put_warning(report, "", source->warnings[i]);
    policy_warnings(policy, put_warning, report);
}

static void put_error(struct json_writer *w, const struct cordon_error *err)
{
    json_key(w, "error");
    json_begin(w, '{');
    json_put_string(w, "pointer", err->subject);
    json_put_string(w, "message", err->why[0] != '\0' ? err->why : text_errno(err->errnum));
    json_put_string(w, "remedy", err->remedy[0] != '\0' ? err->remedy : NULL);
    json_end(w, '}');
}

/* A source that is missing here, or behind a link. Only `check` asks this machine: a policy knows no host. */
static int check_source(struct command *c, const char *host, const char *pointer, const char *cure)
{
    char why[192];
    FD_AUTO fd = sys_open_without_links(host, O_PATH);
    const bool link = fd == -ELOOP;
    if (fd >= 0 || (!link && cure == NULL))
        return 0;
    snprintf(why, sizeof why, "'%.90s': %s", host, link ? "a symbolic link is on the way" : text_errno(-fd));
    int r = err_set(&c->err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, EINVAL, "check bind source", pointer);
    err_why(&c->err, why);
    err_remedy(&c->err, link ? "name the place that it leads to (readlink -f says which)" : cure);
    return r;
}

static int check_binds(struct command *c, const struct policy_binds *list, const char *name)
{
    char pointer[64];
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->count; i++) {
        const struct policy_bind *b = &list->items[i];
        snprintf(pointer, sizeof pointer, "%s/%zu", name, i);
        r = check_source(c, b->host, pointer,
                         b->optional ? NULL : "create it, or mark the bind as \"optional\": true");
    }
    return r;
}

static int check_sources(struct command *c, const struct policy *policy)
{
    int r = check_binds(c, &policy->rw, "/fs/rw");
    if (r == 0)
        r = check_binds(c, &policy->ro, "/fs/ro");
    if (r == 0 && policy->work == WORK_HOST)
        r = check_source(c, policy->work_host, "/fs/work", "create it");
    return r;
}

static int run_check(struct command *c)
{
    struct policy policy;
    struct policy_source source = POLICY_SOURCE_INIT;
    struct json_writer w = JSON_WRITER(&c->out, 2);
    struct report report = {.out = &c->out, .json = c->options.json ? &w : NULL};

    int r = read_policy(c, c->input, &policy, &source);
    if (r == 0)
        r = policy_validate(&policy, &c->err);
    if (r == 0)
        r = check_sources(c, &policy);
    if (!c->options.json) {
        if (r < 0)
            return r;
        buf_printf(&c->out, "ok: %s, extends %s\n", policy_form_name(source.form),
                   policy_profile_name(policy.profile));
        put_warnings(&report, &policy, &source);
        return 0;
    }
    json_begin(&w, '{');
    json_put_bool(&w, "valid", r == 0);
    if (r < 0) {
        put_error(&w, &c->err);
    } else {
        json_put_string(&w, "form", policy_form_name(source.form));
        json_put_string(&w, "profile", policy_profile_name(policy.profile));
        json_key(&w, "warnings");
        json_begin(&w, '[');
        put_warnings(&report, &policy, &source);
        json_end(&w, ']');
    }
    json_end(&w, '}');
    buf_puts(&c->out, "\n");
    return r;
}

static int run_normalize(struct command *c)
{
    struct policy policy;
    struct policy_source source = POLICY_SOURCE_INIT;
    int r = read_policy(c, c->input, &policy, &source);
    if (r == 0)
        policy_write_form(&policy, source.form, &c->out);
    return r;
}

static int run_from_effects(struct command *c)
{
    struct policy policy;
    BUF_AUTO text = BUF_INIT(0);
    policy_init(&policy, PROFILE_STAGE);
    int r = input_read(c->input, &text, POLICY_MAX_BYTES, "read effects", &c->err);
    /* The older form has no word for the toolchain: it names the Nix store itself. */
    if (r == 0 && c->options.form == EFFECTS_NOETHER)
        r = policy_add_bind(&policy.ro, &c->arena, "/nix/store", "/nix/store", true, &c->err);
    if (r == 0)
        r = effects_read(&policy, &c->arena, text.data != NULL ? text.data : "", text.len, &c->err);
    if (r == 0)
        r = policy_validate(&policy, &c->err);
    if (r < 0)
        return r;
    policy_write_form(&policy, c->options.form == EFFECTS_NOETHER ? FORM_NOETHER : FORM_V1,
                      &c->out);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct command *c);
    bool reads; /* takes a file, or standard input; else --profile and --policy */
    const char *help;
} commands[] = {
    {"show", run_show, false, "what a profile or a document amounts to"},
    {"check", run_check, true, "refuse what is wrong in a document, name what is risky"},
    {"normalize", run_normalize, true, "print a document in its one fixed form"},
    {"from-effects", run_from_effects, true, "print the policy for a list of effects"},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void put_help(struct buf *out)
{
    const struct option_table table = OPTION_TABLE(option_items, NULL);
    buf_puts(out, "usage: cordon policy COMMAND [options] [FILE]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        buf_printf(out, "  %-28s  %s\n", commands[i].name, commands[i].help);
    buf_puts(out, "\nWithout FILE the document comes from standard input.\n\n");
    option_help(&table, out);
}

static int usage_error(struct command *c, const char *subject, const char *why, const char *remedy)
{
    return option_misuse(&c->err, "read command", subject, why, remedy);
}

static int find_command(struct command *c, const char *name)
{
    char remedy[128] = "write show, check, normalize or from-effects";
    for (size_t i = 0; name != NULL && i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return (int)i;
    }
    if (name == NULL)
        return usage_error(c, "policy", "a command must follow", remedy);
    const char *near = nearest_word(name, &commands[0].name, COMMAND_COUNT, sizeof commands[0]);
    if (near != NULL)
        snprintf(remedy, sizeof remedy, "did you mean %s?", near);
    return usage_error(c, name, "there is no such command", remedy);
}

/* Options and at most one file, in any order. */
static int read_arguments(struct command *c, bool reads, int argc, char **argv)
{
    const struct option_table table = OPTION_TABLE(option_items, &c->options);
    const struct option_walk walk = {.tables = &table, .table_count = 1, .arena = &c->arena};
    c->input = NULL;
    for (;;) {
        int n = option_walk(&walk, argc, argv, &c->err);
        if (n < 0)
            return n;
        argc -= n;
        argv += n;
        if (argc > 0 && strcmp(argv[0], "--") == 0) {
            argc--;
            argv++;
        }
        if (argc == 0)
            break;
        if (!reads || c->input != NULL)
            return usage_error(c, argv[0], "one word too many",
                               reads ? NULL : "a document is named by --policy FILE");
        c->input = argv[0];
        argc--;
        argv++;
    }
    if (c->input == NULL)
        c->input = "-";
    return 0;
}

/* What a command does not look at is refused: `check --policy FILE` would wait for another document. */
static int refuse_strange(struct command *c, bool reads, bool forms)
{
    const struct policy_options *o = &c->options;
    if (reads && o->policy_spec != NULL)
        return usage_error(c, "--policy", "show alone takes it", "name the document by itself: cordon policy check FILE");
    if (reads && o->profile >= 0)
        return usage_error(c, "--profile", "show alone takes it", "a document says itself what it extends");
    return forms || o->form < 0 ? 0 : usage_error(c, "--form", "from-effects alone takes it", NULL);
}

static int dispatch(struct command *c, int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : NULL;
    if (name != NULL && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)) {
        put_help(&c->out);
        return 0;
    }
    int which = find_command(c, name);
    if (which < 0)
        return which;
    int r = read_arguments(c, commands[which].reads, argc - 3, argv + 3);
    if (r < 0)
        return r;
    if (c->options.help) {
        put_help(&c->out);
        return 0;
    }
    r = refuse_strange(c, commands[which].reads, commands[which].run == run_from_effects);
    return r < 0 ? r : commands[which].run(c);
}

int cli_policy(int argc, char **argv)
{
    struct command c = {.options = {.profile = -1, .form = -1},
                        .arena = ARENA_INIT(POLICY_ARENA_BYTES),
                        .out = BUF_INIT(OUTPUT_MAX)};
    int r = dispatch(&c, argc, argv);
    const bool delivered = message_print(&c.out) == 0;
    if (r < 0) {
        const char *file = c.options.policy_spec != NULL ? c.options.policy_spec : c.input;
        if (c.err.kind == CORDON_ERROR_POLICY && file != NULL && strcmp(file, "-") != 0 &&
            strcmp(file, c.err.subject) != 0)
            doc_name(&c.err, file);
        message_error(&c.err);
    }
    buf_free(&c.out);
    arena_free(&c.arena);
    return r < 0 || !delivered ? EXIT_USAGE : 0;
}
