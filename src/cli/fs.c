/* cordon fs: one operation of the rooted filesystem. */
#include "cli/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/nearest.h"
#include "cli/message.h"
#include "cli/option.h"

#define ALIASES_MAX 64
#define HELP_MAX (64 * 1024)
#define EXIT_FAILED 1

struct settings {
    struct cordon_root_options root;
    const char *aliases[ALIASES_MAX];
    const char *log;
    bool leaf_links_act, json, stats, help;
};

/* ---- options ---- */

/* A bit of the root's flags; detail: which. */
static int apply_bit(const struct option_use *use, const char *value)
{
    const uint32_t *bit = use->option->detail;
    (void)value;
    ((struct settings *)use->target)->root.flags |= *bit;
    return 0;
}

static int apply_alias(const struct option_use *use, const char *value)
{
    struct settings *s = use->target;
    if (value[0] != '/')
        return option_not(use, value, "an absolute path", NULL);
    if (s->root.home_alias_count == ALIASES_MAX)
        return option_refuse(use, "there are 64 of them already", NULL);
    s->aliases[s->root.home_alias_count++] = value;
    return 0;
}

static const char *const sync_names[] = {
    [CORDON_ROOT_SYNC_NONE] = "none", [CORDON_ROOT_SYNC_DATA] = "data", [CORDON_ROOT_SYNC_FULL] = "full"};
static const struct policy_words sync_words = {sync_names, 3};

#define OPT(field) offsetof(struct settings, field)
#define BIT(flag) apply_bit, 0, &(const uint32_t){flag}

static const struct option option_items[] = {
    {"root", "DIR", "the home: relative paths, and those under an alias", option_string, OPT(root.home), NULL, false},
    {"home-alias", "PATH", "another absolute name of the home (default: /root)", apply_alias, 0, NULL, false},
    {"scratch", "DIR", "what /scratch/... names", option_string, OPT(root.scratch), NULL, false},
    {"rootfs", "DIR", "what other absolute paths name (default: the home)", option_string, OPT(root.rootfs), NULL,
     false},
    {"rustic-repo", "DIR", "where rustic keeps the backups", option_string, OPT(root.rustic_repo), NULL, false},
    {"host", "NAME", "whose backups and edits these are (default: global)", option_string, OPT(root.host), NULL, false},
    {"readonly", NULL, "refuse every change", BIT(CORDON_ROOT_READONLY), false},
    {"strict", NULL, "follow no link at all", BIT(CORDON_ROOT_STRICT), false},
    {"no-xdev", NULL, "enter no mount inside a base", BIT(CORDON_ROOT_NO_XDEV), false},
    {"allow-hardlink", NULL, "open the gate of link", BIT(CORDON_ROOT_ALLOW_HARDLINK), false},
    {"allow-symlink", NULL, "open the gate of symlink", BIT(CORDON_ROOT_ALLOW_SYMLINK), false},
    {"leaf-links", "act", "act on links that lead outside instead of refusing them", option_only_word,
     OPT(leaf_links_act), "act", false},
    {"unsafe", NULL, "no containment; links lead anywhere", BIT(CORDON_ROOT_UNSAFE), false},
    {"sync", "none|data|full", "what is on disk when a write returns (default: none)", option_word, OPT(root.sync),
     &sync_words, false},
    {"json", NULL, "print {\"ok\": ...}; bytes as base64", option_flag, OPT(json), NULL, false},
    {"log", "FILE", "append each refusal as a line of JSON", option_string, OPT(log), NULL, false},
    {"stats", NULL, "print counters on standard error", option_flag, OPT(stats), NULL, false},
    {"help", NULL, "this text", option_flag, OPT(help), NULL, false},
};

static int put_help(void)
{
    const struct option_table table = OPTION_TABLE(option_items, NULL);
    BUF_AUTO text = BUF_INIT(HELP_MAX);
    buf_puts(&text, "usage: cordon fs --root DIR [OPTION...] METHOD [ARG...]\n\n"
                    "One file operation that cannot leave DIR, whatever happens to the tree meanwhile.\n\n");
    option_help(&table, &text);
    buf_puts(&text, "\nOPTIONS and lists are JSON; DATA '-' is standard input. Methods:\n\n");
    for (size_t i = 0; i < fs_method_count; i++)
        buf_printf(&text, "  %s%s%s\n", fs_methods[i].name, *fs_methods[i].args != '\0' ? " " : "",
                   fs_methods[i].args);
    return message_print(&text) < 0 ? EXIT_SETUP : 0;
}

/* The index of the method, or -errno. */
static int read_options(struct settings *s, int argc, char **argv, struct cordon_error *err)
{
    static const char example[] = "as in: cordon fs --root DIR readdir .";
    const struct option_table table = OPTION_TABLE(option_items, s);
    const struct option_walk walk = {.tables = &table, .table_count = 1};
    int n = option_walk(&walk, argc, argv, err);
    if (n < 0 || s->help)
        return n;
    n += n < argc && strcmp(argv[n], "--") == 0;
    if (s->root.home == NULL)
        return option_misuse(err, "read option", "--root", "it is missing", example);
    if (n == argc)
        return option_misuse(err, "read method", "", "it is missing", example);
    if (s->root.home_alias_count > 0)
        s->root.home_aliases = s->aliases;
    s->root.flags |= s->leaf_links_act ? (uint32_t)CORDON_ROOT_LEAF_LINKS_ACT : 0;
    return n;
}

/* ---- what is said ---- */

static void log_denial(void *user, const struct cordon_root_denial *d)
{
    const int fd = *(const int *)user;
    BUF_AUTO line = BUF_INIT(1u << 20);
    struct json_writer w = JSON_WRITER(&line, 0);
    json_begin(&w, '{');
    json_put_string(&w, "method", d->method);
    json_put_string(&w, "mode", d->mode);
    json_put_string(&w, "path", d->path);
    json_put_string(&w, "code", d->code);
    json_put_string(&w, "message", d->message);
    json_end(&w, '}');
    buf_puts(&line, "\n");
    fd_write_all(fd, line.data, line.len); /* one write: lines of several processes do not mix */
}

/* {"ok": ...}, with the value or the error. */
static void put_outcome(const struct fs *fs, int rc, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out, 0);
    json_begin(&w, '{');
    json_put_bool(&w, "ok", rc == 0);
    json_key(&w, rc < 0 ? "error" : "value");
    if (rc < 0)
        fs_put_error(&w, &fs->err);
    else if (fs->out.len > 0)
        json_raw(&w, fs->out.data, fs->out.len);
    else
        json_null(&w);
    json_end(&w, '}');
    buf_puts(out, "\n");
}

/* Errors name what was asked for and no path of the host's: "no such file" may mean the root. */
static void explain(const struct settings *s)
{
    struct stat st;
    if (stat(s->root.home, &st) == 0)
        fputs(S_ISDIR(st.st_mode) ? "" : "  what --root names is not a directory\n", stderr);
    else
        fprintf(stderr, "  the directory that --root names %s\n",
                errno == ENOENT ? "does not exist" : "cannot be reached");
}

/* The exit status. */
static int report(struct fs *fs, int rc, const struct settings *s)
{
    BUF_AUTO text = BUF_INIT((size_t)4 << 30);
    if (rc == FS_USAGE)
        return EXIT_USAGE;
    if (rc == FS_DONE || rc == FS_SAID)
        return rc == FS_DONE ? 0 : EXIT_FAILED;
    if (rc < 0 && !fs->json) {
        buf_printf(&text, "cordon: fs %s: ", fs->method);
        fs_put_line(&text, fs->err.message);
        (void)fd_write_all(STDERR_FILENO, text.data, text.len);
        explain(s);
        return EXIT_FAILED;
    }
    if (fs->json)
        put_outcome(fs, rc, &text);
    return message_print(fs->json ? &text : &fs->out) < 0 || rc < 0 ? EXIT_FAILED : 0;
}

static void print_stats(const struct cordon_root *root)
{
    BUF_AUTO line = BUF_INIT(4096);
    struct json_writer w = JSON_WRITER(&line, 0);
    struct cordon_root_counters n;
    cordon_root_counters(root, &n);
    fs_put_counters(&w, &n);
    buf_puts(&line, "\n");
    fwrite(line.data, 1, line.len, stderr);
}

/* ---- the call ---- */

static const struct fs_method *find_method(const char *name, struct cordon_error *err)
{
    char remedy[64];
    for (size_t i = 0; i < fs_method_count; i++) {
        if (strcmp(fs_methods[i].name, name) == 0)
            return &fs_methods[i];
    }
    const char *near = nearest_word(name, &fs_methods[0].name, fs_method_count, sizeof fs_methods[0]);
    snprintf(remedy, sizeof remedy, near != NULL ? "did you mean %s?" : "cordon fs --help lists them", near);
    option_misuse(err, "fs: find method", name, "there is no such method", remedy);
    return NULL;
}

static int run(struct fs *fs, const struct settings *s, struct cordon_error *err)
{
    const struct fs_method *m = find_method(fs->method, err);
    if (m == NULL)
        return EXIT_USAGE;
    if (fs->count < m->min || fs->count > m->max) {
        fprintf(stderr, "cordon: fs %s: usage: %s %s\n", m->name, m->name, m->args);
        return EXIT_USAGE;
    }
    if (cordon_root_open(&s->root, &fs->root, &fs->err) < 0) {
        option_misuse(err, "fs: open the root", s->root.home, fs->err.message, NULL);
        return EXIT_USAGE;
    }
    int status = report(fs, m->run(fs), s);
    if (s->stats)
        print_stats(fs->root);
    cordon_root_close(fs->root);
    return status;
}

static int call(struct settings *s, char **words, int count, struct cordon_error *err)
{
    FD_AUTO log = -1;
    if (s->log != NULL) {
        log = open(s->log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (log < 0) {
            err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_ROOTED, errno, "open the log", s->log);
            return EXIT_USAGE;
        }
        s->root.on_denial = log_denial;
        s->root.user = &log;
    }
    struct fs fs = {.json = s->json,
                    .method = words[0],
                    .args = words + 1,
                    .count = count - 1,
                    .arena = ARENA_INIT((size_t)4 << 30),
                    .out = BUF_INIT((size_t)4 << 30)};
    fs.w = JSON_WRITER(&fs.out, 0);
    int status = run(&fs, s, err);
    s->root.user = NULL;
    arena_free(&fs.arena);
    buf_free(&fs.out);
    return status;
}

int cli_fs(int argc, char **argv)
{
    struct settings s = {.root = {.size = sizeof s.root}};
    struct cordon_error err = {0};
    const int first = read_options(&s, argc - 2, argv + 2, &err);
    const int status = first < 0  ? EXIT_USAGE
                       : s.help ? put_help()
                                : call(&s, argv + 2 + first, argc - 2 - first, &err);
    if (err.kind != CORDON_ERROR_NONE)
        message_error(&err);
    return status;
}
