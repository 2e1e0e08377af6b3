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
#include "base/text.h"
#include "cli/message.h"

#define ALIASES_MAX 64

struct settings {
    struct cordon_root_options root;
    const char *aliases[ALIASES_MAX];
    const char *log;
    bool json, stats, help;
};

static int refuse(const char *what, const char *subject, const char *remedy)
{
    char shown[512];
    text_escape(shown, sizeof shown, subject, strlen(subject));
    fprintf(stderr, "cordon: fs: %s '%s'\n  %s\n", what, shown, remedy);
    return EXIT_USAGE;
}

static int bad(const char *what, const char *subject)
{
    return refuse(what, subject, "see 'cordon fs --help'");
}

static void help(void)
{
    fputs("usage: cordon fs --root DIR [OPTION...] METHOD [ARG...]\n\n"
          "One file operation that cannot leave DIR, whatever happens to the tree meanwhile.\n\n"
          "  --root DIR             the home: relative paths, and those under an alias\n"
          "  --home-alias PATH      another absolute name of the home (default: /root)\n"
          "  --scratch DIR          what /scratch/... names\n"
          "  --rootfs DIR           what other absolute paths name (default: the home)\n"
          "  --rustic-repo DIR      where rustic keeps the backups\n"
          "  --host NAME            whose backups and edits these are (default: global)\n"
          "  --readonly             refuse every change\n"
          "  --strict               follow no link at all\n"
          "  --no-xdev              enter no mount inside a base\n"
          "  --allow-hardlink       open the gate of link\n"
          "  --allow-symlink        open the gate of symlink\n"
          "  --leaf-links act       act on links that lead outside instead of refusing them\n"
          "  --unsafe               no containment; links lead anywhere\n"
          "  --sync none|data|full  what is on disk when a write returns (default: none)\n"
          "  --json                 print {\"ok\": ...}; bytes as base64\n"
          "  --log FILE             append each refusal as a line of JSON\n"
          "  --stats                print counters on standard error\n"
          "  --help                 this text\n\n"
          "OPTIONS and lists are JSON; DATA '-' is standard input. Methods:\n\n",
          stdout);
    for (size_t i = 0; i < fs_method_count; i++)
        printf("  %s%s%s\n", fs_methods[i].name, *fs_methods[i].args != '\0' ? " " : "",
               fs_methods[i].args);
}

struct flag {
    const char *name;
    uint32_t bit;
};

static const struct flag flags[] = {
    {"--readonly", CORDON_ROOT_READONLY},
    {"--strict", CORDON_ROOT_STRICT},
    {"--no-xdev", CORDON_ROOT_NO_XDEV},
    {"--allow-hardlink", CORDON_ROOT_ALLOW_HARDLINK},
    {"--allow-symlink", CORDON_ROOT_ALLOW_SYMLINK},
    {"--unsafe", CORDON_ROOT_UNSAFE},
};

static bool take_flag(struct settings *s, const char *arg)
{
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(arg, flags[i].name) == 0) {
            s->root.flags |= flags[i].bit;
            return true;
        }
    }
    bool *const other = strcmp(arg, "--json") == 0    ? &s->json
                        : strcmp(arg, "--stats") == 0 ? &s->stats
                        : strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0 ? &s->help
                                                                               : NULL;
    if (other != NULL)
        *other = true;
    return other != NULL;
}

/* 0, or the exit status. */
static int take_value(struct settings *s, const char *name, const char *value)
{
    static const char *const syncs[] = {"none", "data", "full"};
    if (strcmp(name, "--root") == 0)
        s->root.home = value;
    else if (strcmp(name, "--scratch") == 0)
        s->root.scratch = value;
    else if (strcmp(name, "--rootfs") == 0)
        s->root.rootfs = value;
    else if (strcmp(name, "--rustic-repo") == 0)
        s->root.rustic_repo = value;
    else if (strcmp(name, "--host") == 0)
        s->root.host = value;
    else if (strcmp(name, "--log") == 0)
        s->log = value;
    else if (strcmp(name, "--home-alias") == 0 && value[0] == '/' &&
             s->root.home_alias_count < ALIASES_MAX)
        s->aliases[s->root.home_alias_count++] = value;
    else if (strcmp(name, "--leaf-links") == 0 && strcmp(value, "act") == 0)
        s->root.flags |= CORDON_ROOT_LEAF_LINKS_ACT;
    else if (strcmp(name, "--sync") == 0) {
        uint32_t i = 0;
        while (i < 3 && strcmp(value, syncs[i]) != 0)
            i++;
        s->root.sync = i;
        return i < 3 ? 0 : bad("unknown value of --sync", value);
    } else {
        return bad("bad value of an option", value);
    }
    return 0;
}

static const char *const valued[] = {"--root", "--scratch", "--rootfs", "--home-alias",
                                     "--leaf-links", "--log", "--sync", "--host",
                                     "--rustic-repo"};
static const size_t valued_count = sizeof valued / sizeof valued[0];

static int unknown(const char *option)
{
    char remedy[64];
    const char *near = nearest_word(option, valued, valued_count, sizeof valued[0]);
    const char *flag = nearest_word(option, &flags[0].name, sizeof flags / sizeof flags[0], sizeof flags[0]);
    if (near == NULL || (flag != NULL && nearest_distance(option, flag) < nearest_distance(option, near)))
        near = flag;
    if (near == NULL)
        return bad("unknown option", option);
    snprintf(remedy, sizeof remedy, "did you mean %s?", near);
    return refuse("unknown option", option, remedy);
}

/* Options up to the method; the index of the method, 0 for help, or minus the exit status. */
static int parse(struct settings *s, int argc, char **argv)
{
    int i = 2;
    for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        if (take_flag(s, argv[i]))
            continue;
        size_t name_len = strcspn(argv[i], "=");
        size_t k = 0;
        while (k < valued_count && (strncmp(argv[i], valued[k], name_len) != 0 ||
                         strlen(valued[k]) != name_len))
            k++;
        if (k == valued_count)
            return -unknown(argv[i]);
        const char *value = argv[i][name_len] == '=' ? argv[i] + name_len + 1 : argv[++i];
        if (i >= argc || value == NULL)
            return -bad("an option needs a value:", valued[k]);
        int rc = take_value(s, valued[k], value);
        if (rc != 0)
            return -rc;
    }
    i += i < argc && strcmp(argv[i], "--") == 0;
    if (s->help)
        return 0;
    if (s->root.home == NULL)
        return -bad("needs", "--root DIR");
    if (i >= argc)
        return -bad("needs", "METHOD");
    return i;
}

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

/* Prints the outcome; the exit status. */
static int report(struct fs *fs, int rc)
{
    BUF_AUTO line = BUF_INIT((size_t)4 << 30);
    struct json_writer w = JSON_WRITER(&line, 0);
    if (rc == FS_USAGE)
        return EXIT_USAGE;
    if (rc == FS_DONE)
        return 0;
    if (rc < 0 && !fs->json) {
        fputs("cordon: fs ", stderr);
        fputs(fs->method, stderr);
        fputs(": ", stderr);
        fs_put_line(&line, fs->err.message);
        fwrite(line.data, 1, line.len, stderr);
        return 1;
    }
    if (fs->json) {
        json_begin(&w, '{');
        json_put_bool(&w, "ok", rc == 0);
        if (rc < 0) {
            json_key(&w, "error");
            fs_put_error(&w, &fs->err);
        } else {
            json_key(&w, "value");
            if (fs->out.len > 0)
                json_raw(&w, fs->out.data, fs->out.len);
            else
                json_null(&w);
        }
        json_end(&w, '}');
        buf_puts(&line, "\n");
    } else {
        buf_append(&line, fs->out.data, fs->out.len);
    }
    if (line.failed || fd_write_all(STDOUT_FILENO, line.data, line.len) < 0) {
        fprintf(stderr, "cordon: fs %s: cannot write the result\n", fs->method);
        return 1;
    }
    return rc < 0 ? 1 : 0;
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

static int unknown_method(const char *name)
{
    char remedy[64];
    const char *near = nearest_word(name, &fs_methods[0].name, fs_method_count, sizeof fs_methods[0]);
    snprintf(remedy, sizeof remedy, near != NULL ? "did you mean %s?" : "see 'cordon fs --help'", near);
    return refuse("unknown method", name, remedy);
}

/* Errors name what was asked for and no path of the host's: "no such file" may mean the root. */
static void explain(const struct settings *s)
{
    struct stat st;
    if (stat(s->root.home, &st) < 0 || !S_ISDIR(st.st_mode))
        fputs("  the directory that --root names does not exist\n", stderr);
}

static int run(struct fs *fs, const struct settings *s)
{
    const struct fs_method *m = fs_methods;
    while (m < fs_methods + fs_method_count && strcmp(m->name, fs->method) != 0)
        m++;
    if (m == fs_methods + fs_method_count)
        return unknown_method(fs->method);
    if (fs->count < m->min || fs->count > m->max) {
        fprintf(stderr, "cordon: fs %s: usage: %s %s\n", m->name, m->name, m->args);
        return EXIT_USAGE;
    }
    int rc = cordon_root_open(&s->root, &fs->root, &fs->err);
    if (rc < 0)
        return bad("cannot use the options:", fs->err.message);
    int status = report(fs, m->run(fs));
    if (status == 1 && !s->json)
        explain(s);
    if (s->stats)
        print_stats(fs->root);
    cordon_root_close(fs->root);
    return status;
}

int cli_fs(int argc, char **argv)
{
    struct settings s = {.root = {.size = sizeof s.root}};
    int first = parse(&s, argc, argv);
    if (first < 0)
        return -first;
    if (first == 0) {
        help();
        return 0;
    }
    if (s.root.home_alias_count > 0)
        s.root.home_aliases = s.aliases;
    FD_AUTO log = -1;
    if (s.log != NULL) {
        log = open(s.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (log < 0)
            return bad("cannot open the log", s.log);
        s.root.on_denial = log_denial;
        s.root.user = &log;
    }
    struct fs fs = {.json = s.json,
                    .method = argv[first],
                    .args = argv + first + 1,
                    .count = argc - first - 1,
                    .arena = ARENA_INIT((size_t)4 << 30),
                    .out = BUF_INIT((size_t)4 << 30)};
    fs.w = JSON_WRITER(&fs.out, 0);
    int status = run(&fs, &s);
    arena_free(&fs.arena);
    buf_free(&fs.out);
    return status;
}
