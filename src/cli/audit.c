#include "cli/audit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/message.h"
#include "cli/option.h"

#define OUTPUT_MAX (512u * 1024 * 1024)
#define EXIT_FOUND 1
#define PROGRESS_FILES 64 /* between two lines of progress */

struct audit_flags {
    bool strict, json, sarif, help;
};

#define OPT(field) offsetof(struct audit_flags, field)

static const struct option option_items[] = {
    {"strict", NULL, "exit with 1 if anything is found", option_flag, OPT(strict), NULL, false},
    {"json", NULL, "print a document", option_flag, OPT(json), NULL, false},
    {"sarif", NULL, "print SARIF 2.1.0, for code hosts", option_flag, OPT(sarif), NULL, false},
    {"help", NULL, "this text", option_flag, OPT(help), NULL, false},
};

static int usage_error(struct cordon_error *err, int errnum, const char *what, const char *subject,
                       const char *why)
{
    int r = err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_NONE, errnum, what, subject);
    if (why != NULL)
        err_why(err, why);
    return r;
}

/* The index of the first path, or -errno. */
static int read_options(struct audit_flags *flags, int argc, char **argv, struct cordon_error *err)
{
    const struct option_table table = OPTION_TABLE(option_items, flags);
    const struct option_walk walk = {.tables = &table, .table_count = 1};
    int n = option_walk(&walk, argc, argv, err);
    if (n >= 0 && n < argc && strcmp(argv[n], "--") == 0)
        n++;
    if (n >= 0 && flags->json && flags->sarif)
        return usage_error(err, EINVAL, "read option", "--sarif", "--json asks for another form");
    return n;
}

static void put_help(struct buf *out)
{
    const struct option_table table = OPTION_TABLE(option_items, NULL);
    buf_puts(out, "usage: cordon audit [options] [PATH...]\n\n"
                  "Reads the test files of a project (tests/test_*.py) and names what would touch real\n"
                  "files, before it runs. Without PATH: the project that the current directory is in.\n\n");
    option_help(&table, out);
    buf_puts(out, "\nrules:\n");
    for (int i = 0; i < RULE_COUNT; i++)
        buf_printf(out, "  %-18s  %s\n", audit_rules[i].id, audit_rules[i].message);
    buf_puts(out, "\n`# cordon: allow RULE reason` on the line silences one. The exit status is 0, 1 with\n"
                  "--strict if anything was found, 2 for a usage error or a file that cannot be read.\n");
}

/* ---- while it runs ---- */

static void show_progress(void *user, size_t files)
{
    (void)user;
    char line[64];
    if (files % PROGRESS_FILES != 1)
        return;
    int n = snprintf(line, sizeof line, "\raudit: %zu files", files);
    (void)fd_write_all(STDERR_FILENO, line, (size_t)n);
}

static void show_problem(void *user, const char *file, int errnum)
{
    (void)user;
    struct cordon_error err = {0};
    usage_error(&err, errnum, "read", file, errnum == EINVAL ? "is not a regular file" : NULL);
    message_error(&err);
}

static bool wants_progress(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && term != NULL && strcmp(term, "dumb") != 0;
}

/* ---- what to look at ---- */

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* One of the places where the project's tests are, from its root. */
static void name_place(const struct project_config *config, size_t i, char name[static PATH_MAX])
{
    const bool top = strcmp(config->test_root, ".") == 0;
    snprintf(name, PATH_MAX, "%s%s%s", top ? "" : config->test_root, top ? "" : "/", config->writable.items[i]);
}

static bool is_in_a_place(const struct project_config *config, const char *path)
{
    char name[PATH_MAX];
    for (size_t i = 0; i < config->writable.count; i++) {
        name_place(config, i, name);
        const size_t len = strlen(name);
        if (strncmp(path, name, len) == 0 && (path[len] == '/' || path[len] == '\0'))
            return true;
    }
    return false;
}

static int no_tests(struct cordon_error *err, int errnum, const char *name)
{
    int r = usage_error(err, errnum, "find tests", name, errnum == ELOOP ? "is a symbolic link" : NULL);
    err_remedy(err, "name a PATH, or the places of the tests in \"writable\" of cordon.json");
    return r;
}

static int scan_project(struct audit *a, struct cordon_error *err)
{
    const struct project_config *config = &a->project->config;
    char name[PATH_MAX];
    for (size_t i = 0; i < config->writable.count; i++) {
        name_place(config, i, name);
        int r = audit_scan(a, name);
        if (r < 0 && !(r == -ENOENT && i > 0)) /* as for cordon test, only the first one must be there */
            return no_tests(err, -r, name);
    }
    return 0;
}

/* One path of the command line: a project, a directory with tests in it, or a file. */
static int scan_path(struct audit *a, const char *path, struct cordon_error *err)
{
    char real[PATH_MAX], tests[PATH_MAX + 8];
    const char *root = a->project->root;
    const size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (realpath(path, real) == NULL)
        return usage_error(err, errno, "find", path, NULL);
    snprintf(tests, sizeof tests, "%s/tests", real);
    if (strcmp(real, root) == 0 && (a->project->has_file || is_directory(tests)))
        return scan_project(a, err);
    if (strncmp(real, root, len) != 0 || (real[len] != '/' && real[len] != '\0'))
        return usage_error(err, EINVAL, "audit", path, "is not in the project of the first path");
    const char *name = strlen(real) <= len + 1 ? "." : real + len + 1;
    if (is_directory(tests) && !is_in_a_place(&a->project->config, name)) /* there all of it is tests */
        name = tests + len + 1;
    int r = audit_scan(a, name);
    return r < 0 ? usage_error(err, -r, "audit", path, NULL) : 0;
}

static bool is_beneath(const char *path, const char *dir)
{
    char below[PATH_MAX], above[PATH_MAX];
    const size_t len = realpath(dir, above) == NULL ? 0 : strlen(above);
    return len > 0 && realpath(path, below) != NULL && strncmp(below, above, len) == 0 &&
           below[len] == '/';
}

/* A hook names files from the directory that it starts in. */
static int open_project(struct project *project, struct arena *arena, const char *path,
                        struct cordon_error *err)
{
    char start[PATH_MAX];
    if (path == NULL || (!is_directory(path) && is_beneath(path, "."))) {
        path = ".";
    } else if (!is_directory(path)) {
        const char *slash = strrchr(path, '/');
        snprintf(start, sizeof start, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
                 slash == NULL ? "." : path);
        path = start;
    }
    return project_open(project, arena, NULL, path, err);
}

static int scan(struct audit *a, int count, char **paths, struct cordon_error *err)
{
    int r = count == 0 ? scan_project(a, err) : 0;
    for (int i = 0; r == 0 && i < count; i++)
        r = scan_path(a, paths[i], err);
    if (a->progress != NULL)
        (void)fd_write_all(STDERR_FILENO, "\r\033[K", 4);
    audit_sort(a);
    return r;
}

/* ---- what is said ---- */

static void summarize(const struct audit *a, struct buf *out)
{
    bool seen[RULE_COUNT] = {false};
    for (size_t i = 0; i < a->count; i++)
        seen[a->findings[i].rule] = true;
    buf_printf(out, "cordon: %llu finding%s in %zu test file%s\n", (unsigned long long)a->total,
               a->total == 1 ? "" : "s", a->files, a->files == 1 ? "" : "s");
    for (int i = 0; i < RULE_COUNT; i++) {
        if (seen[i])
            buf_printf(out, "  fix %s: %s\n", audit_rules[i].id, audit_rules[i].fix);
    }
}

static int say(const struct audit_flags *flags, const struct audit *a)
{
    BUF_AUTO out = BUF_INIT(OUTPUT_MAX);
    BUF_AUTO summary = BUF_INIT(64 * 1024);
    if (flags->json) {
        audit_write_json(a, &out);
    } else if (flags->sarif) {
        audit_write_sarif(a, &out);
    } else {
        audit_write_text(a, &out);
        summarize(a, &summary);
    }
    if (message_print(&out) < 0)
        return EXIT_SETUP;
    (void)fd_write_all(STDERR_FILENO, summary.data, summary.len);
    if (flags->strict && a->files == 0 && a->problems == 0)
        message_warning("no test file was read: a gate that looks at nothing lets everything through");
    return a->problems > 0 ? EXIT_USAGE : flags->strict && a->total > 0 ? EXIT_FOUND : 0;
}

static int audit(const struct audit_flags *flags, struct arena *arena, int count, char **paths,
                 struct cordon_error *err)
{
    struct project project = PROJECT_INIT;
    struct audit a = {0};
    int r = open_project(&project, arena, count > 0 ? paths[0] : NULL, err);
    if (r == 0)
        r = audit_init(&a, &project, arena, err);
    a.problem = show_problem;
    a.progress = wants_progress() ? show_progress : NULL;
    if (r == 0)
        r = scan(&a, count, paths, err);
    const int status = r < 0 ? EXIT_USAGE : say(flags, &a);
    audit_release(&a);
    project_release(&project);
    return status;
}

int cli_audit(int argc, char **argv)
{
    struct audit_flags flags = {0};
    struct cordon_error err = {0};
    struct arena arena = ARENA_INIT(AUDIT_ARENA_BYTES);
    const int first = read_options(&flags, argc - 2, argv + 2, &err);
    int status = EXIT_USAGE;
    if (first >= 0 && flags.help) {
        BUF_AUTO help = BUF_INIT(64 * 1024);
        put_help(&help);
        status = message_print(&help) < 0 ? EXIT_SETUP : 0;
    } else if (first >= 0) {
        status = audit(&flags, &arena, argc - 2 - first, argv + 2 + first, &err);
    }
    if (err.kind != CORDON_ERROR_NONE)
        message_error(&err);
    arena_free(&arena);
    return status;
}
