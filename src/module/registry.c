#include "module/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/variable.h"
#include "wire/doc.h"
#include "wire/policy_json.h"

#define MANIFEST_FILE "module.json"
#define MANIFEST_USUAL 2048 /* bytes; a longer one gets memory of its own */
#define MODULES_MAX 65536

static int fail(struct cordon_error *err, int errnum, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_MODULE, CORDON_LAYER_MODULE, errnum, what, subject);
}

int module_root_open(struct module_root *root, struct arena *arena, const char *given,
                     char *const *env, struct cordon_error *err)
{
    static const char what[] = "open extensions root";
    char path[PATH_MAX];
    if (given == NULL) {
        given = variable_of(env, "APCORE_EXTENSIONS_ROOT");
        given = given == NULL || given[0] == '\0' ? "./extensions" : given;
    }
    /* The working directory changes inside, and a bind wants the place itself, not a link to it. */
    if (realpath(given, path) == NULL) {
        int r = fail(err, errno, what, given);
        err_remedy(err, "name it with --extensions DIR");
        return r;
    }
    FD_AUTO fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail(err, errno, what, given);
    const char *kept = arena_strdup(arena, path);
    if (kept == NULL)
        return fail(err, ENOMEM, what, given);
    *root = (struct module_root){.fd = fd_take(&fd), .path = kept};
    return 0;
}

void module_root_close(struct module_root *root)
{
    fd_close(&root->fd);
}

/* A regular file in `dir`, by its own name: neither a link, nor a FIFO that would keep us. Into the room that `out` has, first. */
static int read_file(int dir, const char *name, struct buf *out)
{
    struct stat st;
    FD_AUTO fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if (st.st_size > MANIFEST_MAX_BYTES)
        return -EFBIG;
    while (out->len <= MANIFEST_MAX_BYTES) { /* it may grow meanwhile, and not every size is the truth */
        const size_t left = out->cap > out->len ? out->cap - out->len : MANIFEST_MAX_BYTES + 1 - out->len;
        char *data = buf_reserve(out, left);
        ssize_t n = data == NULL ? -ENOMEM : fd_read_full(fd, data, left);
        if (n < 0)
            return (int)n;
        out->len += (size_t)n;
        if ((size_t)n < left)
            return 0;
    }
    return -EFBIG;
}

static int no_module(struct cordon_error *err, int errnum, const char *id, const char *why)
{
    int r = fail(err, errnum, "find module", id);
    err_why(err, why);
    return r;
}

static int open_module(int root, const char *id, struct cordon_error *err)
{
    int fd = openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT) {
        int r = no_module(err, ENOENT, id, "there is no such module");
        err_remedy(err, "cordon call --list shows those that are there");
        return r;
    }
    if (errno == ENOTDIR || errno == ELOOP)
        return no_module(err, errno, id, "a module is a directory, not a file or a link");
    return fail(err, errno, "open module", id);
}

/* A file of a module's for messages: of many modules one wants to know which. */
struct module_file {
    char path[256 + NAME_MAX];
};

static struct module_file file_of(const char *id, const char *name)
{
    struct module_file file;
    snprintf(file.path, sizeof file.path, "%s/%s", id, name);
    return file;
}

static int unreadable(struct cordon_error *err, int r, const char *id)
{
    if (r == -ENOENT)
        return no_module(err, ENOENT, id, "its directory has no " MANIFEST_FILE);
    if (r == -ELOOP || r == -EINVAL)
        return no_module(err, -r, id, MANIFEST_FILE " is not a regular file");
    r = fail(err, -r, "read manifest", file_of(id, MANIFEST_FILE).path);
    if (r == -EFBIG)
        err_why(err, "it is longer than 1048576 bytes");
    return r;
}

static int check_library(int dir, const char *id, const char *name, struct cordon_error *err)
{
    struct stat st;
    if (name == NULL)
        return 0;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return fail(err, errno, "find library", file_of(id, name).path);
    if (S_ISREG(st.st_mode))
        return 0;
    int r = fail(err, EINVAL, "find library", file_of(id, name).path);
    err_why(err, "it is not a regular file");
    return r;
}

/* With the directory put in, each word must be one that can be executed. */
static int check_words(const struct module *module, struct cordon_error *err)
{
    const size_t mark = strlen(MODULE_MARK);
    const size_t dir = strlen(module->dir);
    for (size_t i = 0; i < module->manifest.command_count; i++) {
        const char *word = module->manifest.command[i];
        size_t len = strlen(word);
        for (const char *at = strstr(word, MODULE_MARK); at != NULL; at = strstr(at + mark, MODULE_MARK))
            len = len - mark + dir;
        if (len <= MODULE_WORD_MAX)
            continue;
        int r = fail(err, E2BIG, "read the command of module", module->manifest.id);
        err_why(err, "a word is longer than 131071 bytes with its directory for " MODULE_MARK);
        return r;
    }
    return 0;
}

int module_find(struct module *out, const struct module_root *root, const char *id,
                struct arena *arena, struct cordon_error *err)
{
    const char *wrong = module_id_wrong(id);
    if (wrong != NULL) {
        int r = err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_MODULE, EINVAL, "read module id", id);
        err_why(err, wrong);
        return r;
    }
    char room[MANIFEST_USUAL];
    BUF_AUTO text = BUF_IN(room, MANIFEST_MAX_BYTES + 1);
    FD_AUTO dir = open_module(root->fd, id, err);
    if (dir < 0)
        return dir;
    int r = read_file(dir, MANIFEST_FILE, &text);
    if (r < 0)
        return unreadable(err, r, id);
    struct module module;
    r = manifest_read(&module.manifest, arena, id, text.data, text.len, err);
    if (r < 0)
        doc_name(err, file_of(id, MANIFEST_FILE).path);
    else
        r = check_library(dir, id, module.manifest.library, err);
    if (r < 0)
        return r;
    module.dir = arena_printf(arena, "%s/%s", strcmp(root->path, "/") == 0 ? "" : root->path, id);
    if (module.dir == NULL)
        return fail(err, ENOMEM, "find module", id);
    r = check_words(&module, err);
    if (r < 0)
        return r;
    *out = module;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in the root that could be modules; a count or -errno. */
static int collect(int root, struct arena *arena, const char **names)
{
    int copy = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* a position of its own */
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    int count = 0;
    if (dir == NULL) {
        int r = -errno;
        fd_close(&copy);
        return r;
    }
    for (struct dirent *e = readdir(dir); e != NULL && count >= 0; e = readdir(dir)) {
        if (module_id_wrong(e->d_name) != NULL)
            continue;
        const char *name = count < MODULES_MAX ? arena_strdup(arena, e->d_name) : NULL;
        if (name == NULL)
            count = -ENOMEM;
        else
            names[count++] = name;
    }
    closedir(dir);
    return count;
}

int module_each(const struct module_root *root, struct arena *arena, module_see_fn *see,
                void *context, struct cordon_error *err)
{
    const char **names = arena_array(arena, MODULES_MAX, sizeof *names);
    int count = names == NULL ? -ENOMEM : collect(root->fd, arena, names);
    if (count < 0)
        return fail(err, -count, "list extensions root", root->path);
    qsort(names, (size_t)count, sizeof *names, by_name);
    for (int i = 0; i < count; i++) {
        struct cordon_error why = {0};
        struct module module;
        struct arena own = ARENA_INIT(POLICY_ARENA_BYTES); /* a large neighbour takes no room from it */
        const bool good = module_find(&module, root, names[i], &own, &why) == 0;
        see(context, names[i], good ? &module : NULL, &why);
        arena_free(&own);
    }
    return 0;
}
