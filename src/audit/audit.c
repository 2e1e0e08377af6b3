#include "audit/audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/allow.h"
#include "base/fd.h"
#include "base/text.h"

int audit_init(struct audit *audit, const struct project *project, struct arena *arena,
               struct cordon_error *err)
{
    const struct project_names *disabled = &project->config.disabled;
    *audit = (struct audit){.project = project, .arena = arena, .lexer = LEXER_INIT};
    for (size_t i = 0; i < disabled->count; i++) {
        const int rule = audit_rule_find(disabled->items[i]);
        if (rule < 0) {
            int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_NONE, EINVAL,
                            "read " PROJECT_FILE, "/audit/rules/disable");
            err_why(err, "there is no rule of this name");
            err_remedy(err, "cordon audit --help lists them");
            return r;
        }
        audit->off[rule] = true;
    }
    return 0;
}

/* ---- one file ---- */

/* The file at hand, for what the rules find in it. */
struct judging {
    struct audit *audit;
    const char *file;
    struct lexer_line line;
    struct allow_cursor allow;
};

static struct audit_finding *new_finding(struct audit *a)
{
    a->total++;
    if (a->count == AUDIT_FINDINGS_MAX)
        return NULL;
    if (a->count == a->findings_room) {
        const size_t room = a->findings_room == 0 ? 64 : a->findings_room * 2;
        struct audit_finding *moved = reallocarray(a->findings, room, sizeof *moved);
        if (moved == NULL)
            return NULL;
        a->findings = moved;
        a->findings_room = room;
    }
    return &a->findings[a->count++];
}

static void take_finding(void *user, const struct rule_finding *found)
{
    struct judging *j = user;
    char escaped[RULE_SUBJECT_MAX * 4];
    if (j->audit->off[found->rule])
        return;
    lexer_line_to(&j->audit->lexer, &j->line, found->at);
    const enum allow allow = allow_find(&j->audit->lexer, &j->allow, j->line.start, found->end,
                                        audit_rules[found->rule].id);
    if (allow == ALLOW_WITH_REASON)
        return;
    text_escape(escaped, sizeof escaped, found->subject, strlen(found->subject));
    struct audit_finding *f = new_finding(j->audit);
    const char *subject = f == NULL ? NULL : arena_strdup(j->audit->arena, escaped);
    if (f == NULL)
        return; /* counted */
    *f = (struct audit_finding){.file = j->file, .line = j->line.number,
                                .col = lexer_column(&j->audit->lexer, &j->line, found->at),
                                .rule = found->rule, .subject = subject == NULL ? "" : subject,
                                .unreasoned = allow == ALLOW_WITHOUT_REASON};
}

/* How many parents lead from the file to the root: never fewer than two, from tests/test_x.py. */
static unsigned parents(const char *file)
{
    unsigned n = 1;
    for (; *file != '\0'; file++)
        n += *file == '/';
    return n < 2 ? 2 : n;
}

static void judge_tokens(struct audit *a, const char *file)
{
    struct judging j = {.audit = a, .file = file, .line = LEXER_LINE_INIT};
    const struct rule_context context = {.config = &a->project->config, .root = a->project->root,
                                         .up = parents(file)};
    rules_apply(&a->lexer, &context, take_finding, &j);
}

/* The whole text of a regular file; its length or -errno. */
static ssize_t read_text(struct audit *a, int fd)
{
    size_t used = 0;
    for (;;) {
        if (used == a->room) {
            const size_t room = a->room == 0 ? 64 * 1024 : a->room * 2;
            char *moved = a->room > LEXER_TEXT_MAX ? NULL : realloc(a->text, room);
            if (moved == NULL)
                return a->room > LEXER_TEXT_MAX ? -EFBIG : -ENOMEM;
            a->text = moved;
            a->room = room;
        }
        const ssize_t n = read(fd, a->text + used, a->room - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : (ssize_t)used;
        used += (size_t)n;
    }
}

/* The name is copied only if something was found. */
static int judge_file(struct audit *a, int dir, const char *name, const char *file)
{
    struct stat st;
    FD_AUTO fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    const ssize_t len = read_text(a, fd);
    if (len < 0)
        return (int)len;
    int r = lexer_run(&a->lexer, a->text, (size_t)len);
    if (r < 0)
        return r;
    const size_t before = a->count;
    judge_tokens(a, file);
    if (a->count > before) {
        const char *kept = arena_strdup(a->arena, file);
        for (size_t i = before; i < a->count; i++)
            a->findings[i].file = kept == NULL ? "" : kept;
    }
    return 0;
}

static void scan_file(struct audit *a, int dir, const char *name, const char *file)
{
    int r = judge_file(a, dir, name, file);
    a->files++;
    if (r < 0) {
        a->problems++;
        a->problem(a->user, file, -r);
    }
    if (a->progress != NULL)
        a->progress(a->user, a->files);
}

/* ---- directories ---- */

static bool is_test_file(const char *name)
{
    const size_t len = strlen(name);
    return len >= 8 && memcmp(name, "test_", 5) == 0 && memcmp(name + len - 3, ".py", 3) == 0;
}

static bool is_left_out(const char *name)
{
    return name[0] == '.' || strcmp(name, "artifacts") == 0 || strcmp(name, "__pycache__") == 0 ||
           strcmp(name, "node_modules") == 0;
}

static bool is_directory(int dir, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int scan_directory(struct audit *a, int fd, char *path, unsigned depth);

/* What is not looked at is not clean. */
static void scan_below(struct audit *a, int dir, const char *name, char *path, unsigned depth)
{
    int r = -ENAMETOOLONG;
    if (depth < AUDIT_DEPTH_MAX) {
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = fd < 0 ? -errno : scan_directory(a, fd, path, depth + 1);
    }
    if (r < 0) {
        a->problems++;
        a->problem(a->user, path, -r);
    }
}

/* Takes `fd`. `path` has PATH_MAX bytes and is as it was when this returns. */
static int scan_directory(struct audit *a, int fd, char *path, unsigned depth)
{
    const size_t len = strlen(path);
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        int r = -errno;
        close(fd);
        return r;
    }
    for (struct dirent *e; (errno = 0, e = readdir(dir)) != NULL;) {
        const bool file = is_test_file(e->d_name);
        if (!file && (is_left_out(e->d_name) || !is_directory(dirfd(dir), e)))
            continue;
        if (len + strlen(e->d_name) + 2 > PATH_MAX)
            continue; /* nobody can open it by its name, pytest neither */
        snprintf(path + len, PATH_MAX - len, "%s%s", len > 0 ? "/" : "", e->d_name);
        if (file && !is_directory(dirfd(dir), e))
            scan_file(a, dirfd(dir), e->d_name, path);
        else
            scan_below(a, dirfd(dir), e->d_name, path, depth);
        path[len] = '\0';
    }
    const int r = -errno;
    closedir(dir);
    return r;
}

int audit_scan(struct audit *audit, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    FD_AUTO fd = project_open_beneath(audit->project, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    snprintf(path, sizeof path, "%s", strcmp(name, ".") == 0 ? "" : name);
    if (S_ISDIR(st.st_mode))
        return scan_directory(audit, fd_take(&fd), path, 0);
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    scan_file(audit, AT_FDCWD, self, path);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct audit_finding *x = a, *y = b;
    int r = strcmp(x->file, y->file);
    if (r == 0)
        r = (x->line > y->line) - (x->line < y->line);
    if (r == 0)
        r = (x->col > y->col) - (x->col < y->col);
    return r != 0 ? r : (int)x->rule - (int)y->rule;
}

void audit_sort(struct audit *audit)
{
    if (audit->count > 1)
        qsort(audit->findings, audit->count, sizeof *audit->findings, compare);
}

void audit_release(struct audit *audit)
{
    lexer_free(&audit->lexer);
    free(audit->text);
    free(audit->findings);
    audit->text = NULL;
    audit->findings = NULL;
}
