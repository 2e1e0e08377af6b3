#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

const struct form forms[4] = {
    {"relative", "", "home", "", ""},
    {"alias", "/root/", "home", "", "/root"},
    {"scratch", "/scratch/", "scratch", "/scratch/", "/scratch"},
    {"rootfs", "/", "rootfs", "/", "/"},
};

const char *text(const char *fmt, ...)
{
    static char ring[64][2 * PATH_MAX];
    static unsigned next;
    char *out = ring[next++ % 64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(out, sizeof ring[0], fmt, args);
    va_end(args);
    return out;
}

const char *at(const struct form *form, const char *name)
{
    return text("%s%s", form->prefix, name);
}

const char *host(const struct fixture *f, const struct form *form, const char *name)
{
    return text("%s/%s/%s", f->dir, form->dir, name);
}

const char *outside(const struct fixture *f, const char *name)
{
    return text("%s/outside/%s", f->dir, name);
}

void host_write(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        test_fail(__FILE__, __LINE__, "fopen %s: errno %d", path, errno);
    fputs(content, file);
    fclose(file);
}

void host_mkdir(const char *path)
{
    if (mkdir(path, 0755) < 0)
        test_fail(__FILE__, __LINE__, "mkdir %s: errno %d", path, errno);
}

void host_symlink(const char *target, const char *path)
{
    if (symlink(target, path) < 0)
        test_fail(__FILE__, __LINE__, "symlink %s: errno %d", path, errno);
}

const char *host_read(const char *path)
{
    static char ring[4][65536];
    static unsigned next;
    char *out = ring[next++ % 4];
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, out, sizeof ring[0] - 1);
    close(fd);
    out[n < 0 ? 0 : n] = '\0';
    return out;
}

bool host_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void host_remove(const char *path)
{
    nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

void fixture_reopen(struct fixture *f)
{
    cordon_root_close(f->root);
    f->root = NULL;
    if (cordon_root_open(&f->options, &f->root, &f->err) < 0)
        test_fail(__FILE__, __LINE__, "cordon_root_open: %s", f->err.message);
}

void fixture_open(struct fixture *f, uint32_t flags)
{
    memset(f, 0, sizeof *f);
    const char *tmp = getenv("TMPDIR");
    snprintf(f->dir, sizeof f->dir, "%s/cordon-rooted-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (test_directory(f->dir) == NULL) /* a test that changed its user has no way into root's own */
        snprintf(f->dir, sizeof f->dir, "/tmp/cordon-rooted-XXXXXX");
    if (strstr(f->dir, "XXXXXX") != NULL && test_directory(f->dir) == NULL)
        test_fail(__FILE__, __LINE__, "mkdtemp: errno %d", errno);
    static const char *const names[] = {"home", "scratch", "rootfs", "outside", "outside/dir"};
    for (size_t i = 0; i < 5; i++)
        host_mkdir(text("%s/%s", f->dir, names[i]));
    host_write(outside(f, "secret"), "canary");
    host_write(outside(f, "dir/file"), "canary");
    snprintf(f->home, sizeof f->home, "%s/home", f->dir);
    snprintf(f->scratch, sizeof f->scratch, "%s/scratch", f->dir);
    snprintf(f->rootfs, sizeof f->rootfs, "%s/rootfs", f->dir);
    f->options = (struct cordon_root_options){.size = sizeof f->options,
                                              .home = f->home,
                                              .scratch = f->scratch,
                                              .rootfs = f->rootfs,
                                              .flags = flags};
    fixture_reopen(f);
}

static void check_canaries(const struct fixture *f)
{
    struct stat st;
    CHECK_HOST(outside(f, "secret"), "canary");
    CHECK_HOST(outside(f, "dir/file"), "canary");
    unsigned names = 0;
    CHECK(stat(outside(f, "secret"), &st) == 0 && (st.st_mode & 07777) == 0644);
    CHECK(st.st_nlink == 1);
    static const char *const dirs[] = {"", "dir"};
    for (size_t i = 0; i < 2; i++) {
        CHECK(stat(outside(f, dirs[i]), &st) == 0);
        CHECK_INT(st.st_mode & 07777, 0755);
        names += (unsigned)st.st_nlink; /* one sub-directory, no more */
    }
    CHECK_INT(names, 5);
    char *list = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&list, &size);
    FILE *in = popen(text("cd '%s' && find . | sort | tr '\\n' ' '", outside(f, "")), "r");
    for (int c; in != NULL && (c = fgetc(in)) != EOF;)
        fputc(c, out);
    fclose(out);
    pclose(in);
    CHECK_STR(list, ". ./dir ./dir/file ./secret ");
    free(list);
}

void fixture_close(struct fixture *f)
{
    if ((f->options.flags & CORDON_ROOT_UNSAFE) == 0)
        check_canaries(f);
    cordon_root_close(f->root);
    host_remove(f->dir);
}

void make_escapes(const struct fixture *f, const struct form *form)
{
    host_symlink(outside(f, "secret"), host(f, form, "esc"));
    host_symlink(outside(f, "dir"), host(f, form, "escd"));
    host_symlink(outside(f, "missing"), host(f, form, "esc_missing"));
    host_symlink("../outside/secret", host(f, form, "esc_rel"));
    host_symlink("../outside/dir", host(f, form, "escd_rel"));
    host_symlink("../outside/missing", host(f, form, "esc_missing_rel"));
    host_symlink("loop", host(f, form, "loop"));
    host_mkdir(host(f, form, "in"));
    host_write(host(f, form, "in/file"), "inside");
    host_symlink("in/file", host(f, form, "good"));
    host_symlink("in", host(f, form, "goodd"));
    host_symlink("in/nothing", host(f, form, "dangling"));
    host_symlink(host(f, form, "in/file"), host(f, form, "good_abs"));
    host_symlink(host(f, form, "in"), host(f, form, "goodd_abs"));
}

void check_no_leak(const struct fixture *f, const char *file, int line)
{
    if (strstr(f->err.message, f->dir) != NULL || strstr(f->err.path, f->dir) != NULL ||
        strstr(f->err.dest, f->dir) != NULL)
        test_fail(file, line, "a host path leaked: %s", f->err.message);
}

void check_content(struct fixture *f, const char *path, const char *want, const char *file,
                   int line)
{
    struct cordon_root_data got = {0};
    if (cordon_root_read_file(f->root, path, 0, &got, &f->err) < 0)
        test_fail(file, line, "readFile %s: %s", path, f->err.message);
    if (strcmp(got.data, want) != 0)
        test_fail(file, line, "%s holds \"%s\", expected \"%s\"", path, got.data, want);
    cordon_root_data_free(&got);
}

int write_text(struct fixture *f, const char *path, const char *content)
{
    return cordon_root_write_file(f->root, path, content, strlen(content), false, &f->err);
}

int append_text(struct fixture *f, const char *path, const char *content)
{
    return cordon_root_append_file(f->root, path, content, strlen(content), &f->err);
}

bool exists(struct fixture *f, const char *path)
{
    bool there = false;
    WORKS(f, cordon_root_exists(f->root, path, &there, &f->err));
    return there;
}

int rm(struct fixture *f, const char *path, bool recursive, bool force)
{
    const struct cordon_root_rm_options o = {.size = sizeof o, .recursive = recursive,
                                             .force = force};
    return cordon_root_rm(f->root, &path, 1, &o, &f->err);
}

void for_each_form_at_once(void (*body)(const struct form *form))
{
    pid_t pids[4];
    for (size_t i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            body(&forms[i]);
            exit(0); /* not _exit(): LeakSanitizer reports here */
        }
    }
    for (size_t i = 0; i < 4; i++) {
        int status = 0;
        waitpid(pids[i], &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            test_fail(__FILE__, __LINE__, "for %s: ended with %d", forms[i].name, status);
    }
}
