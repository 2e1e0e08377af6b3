/* Errors in the shape Node users know, made of the request alone. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "rooted/root.h"

struct node_error {
    int errnum;
    const char *code;
    const char *text;
};

/* Node's words, which are not the C library's. */
static const struct node_error table[] = {
    {EPERM, "EPERM", "operation not permitted"},
    {ENOENT, "ENOENT", "no such file or directory"},
    {EIO, "EIO", "i/o error"},
    {ENXIO, "ENXIO", "no such device or address"},
    {EBADF, "EBADF", "bad file descriptor"},
    {EACCES, "EACCES", "permission denied"},
    {EBUSY, "EBUSY", "resource busy or locked"},
    {EEXIST, "EEXIST", "file already exists"},
    {EXDEV, "EXDEV", "cross-device link not permitted"},
    {ENOTDIR, "ENOTDIR", "not a directory"},
    {EISDIR, "EISDIR", "illegal operation on a directory"},
    {EINVAL, "EINVAL", "invalid argument"},
    {EMFILE, "EMFILE", "too many open files"},
    {ETXTBSY, "ETXTBSY", "text file is busy"},
    {EFBIG, "EFBIG", "file too large"},
    {ENOSPC, "ENOSPC", "no space left on device"},
    {EROFS, "EROFS", "read-only file system"},
    {EMLINK, "EMLINK", "too many links"},
    {ENAMETOOLONG, "ENAMETOOLONG", "name too long"},
    {ENOTEMPTY, "ENOTEMPTY", "directory not empty"},
    {ELOOP, "ELOOP", "too many symbolic links encountered"},
    {ENOTSUP, "ENOTSUP", "operation not supported on socket"},
    {ENOMEM, "ENOMEM", "not enough memory"},
    {ECANCELED, "ECANCELED", "operation canceled"},
};

static const struct node_error *find(int errnum)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].errnum == errnum)
            return &table[i];
    }
    return NULL;
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
}

static void show(const struct call *c, const struct target *t, const char *name, char *out,
                 size_t size)
{
    if (t->ref == NULL && name == t->mapped.name && t->mapped.prefix == NULL)
        copy(out, size, t->request); /* it could not even be mapped */
    else
        path_display(out, size, &c->root->rules, t->mapped.base, name);
}

/* `name` and what is below it, in `out`. */
static const char *join(const char *name, const char *below, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", name, *name != '\0' && *below != '\0' ? "/" : "", below);
    return out;
}

void call_show(const struct call *c, const struct target *t, const char *below, char *out, size_t size)
{
    char name[2 * PATH_MAX];
    path_display(out, size, &c->root->rules, t->mapped.base,
                 join(t->mapped.name, below, name, sizeof name));
}

static void start(struct cordon_root_error *e)
{
    e->errnum = 0;
    e->has_path = false;
    e->has_dest = false;
    e->code[0] = e->syscall[0] = e->path[0] = e->dest[0] = e->message[0] = '\0';
}

/* Counts, reports, and says what to return. `request` is what the caller asked for. */
static int finish(const struct call *c, const struct cordon_root_error *e, const char *request,
                  int rc)
{
    struct cordon_root *root = c->root;
    if (root == NULL)
        return rc;
    atomic_fetch_add_explicit(&root->failures, 1, memory_order_relaxed);
    bool refused = strcmp(e->code, "EACCES") == 0 || strcmp(e->code, "EPERM") == 0 ||
                   strcmp(e->code, "ESTALE") == 0;
    if (refused && (root->flags & CORDON_ROOT_UNSAFE) == 0) {
        atomic_fetch_add_explicit(&root->denials, 1, memory_order_relaxed);
        struct cordon_root_denial denial = {.method = c->method,
                                            .mode = "safe",
                                            .path = request,
                                            .code = e->code,
                                            .message = e->message};
        if (root->on_denial != NULL)
            root->on_denial(root->user, &denial);
    }
    return rc < 0 ? rc : -EINVAL;
}

static int fail_outside(const struct call *c, const char *request, struct cordon_root_error *e)
{
    start(e);
    e->errnum = -EACCES;
    e->has_path = true;
    copy(e->code, sizeof e->code, "EACCES");
    copy(e->path, sizeof e->path, request);
    snprintf(e->message, sizeof e->message,
             "realpath of '%s' resolves to a path outside of sandbox", request);
    atomic_fetch_add_explicit(&c->root->outside, 1, memory_order_relaxed);
    return finish(c, e, request, -EACCES);
}

static int fail_stale(const struct call *c, const struct target *t, const char *name,
                      struct cordon_root_error *e)
{
    start(e);
    e->errnum = -ESTALE;
    e->has_path = true;
    copy(e->code, sizeof e->code, "ESTALE");
    show(c, t, name, e->path, sizeof e->path);
    snprintf(e->message, sizeof e->message, "Path changed during operation: '%s'", e->path);
    return finish(c, e, t->request, -ESTALE);
}

static int fail_no_base(const struct call *c, const struct target *t, struct cordon_root_error *e)
{
    const bool configured = c->root->paths[t->mapped.base] != NULL;
    char abs[PATH_MAX];
    path_absolute(abs, sizeof abs, t->request);
    start(e);
    e->has_path = true;
    show(c, t, t->mapped.name, e->path, sizeof e->path);
    snprintf(e->message, sizeof e->message, "%s is not mounted; cannot access absolute path '%s'%s",
             t->mapped.base == PATH_SCRATCH ? "scratch" : "rootfs", abs,
             configured ? ". Start the workspace and try again." : "");
    return finish(c, e, t->request, -EINVAL);
}

static void fill_system(struct cordon_root_error *e, const char *syscall, int errnum)
{
    const struct node_error *n = find(errnum);
    start(e);
    e->errnum = -errnum;
    copy(e->code, sizeof e->code, n != NULL ? n->code : text_errno_name(errnum));
    copy(e->syscall, sizeof e->syscall, syscall);
    snprintf(e->message, sizeof e->message, "%s: %s, %s", e->code,
             n != NULL ? n->text : text_errno(errnum), syscall);
}

static void quote(struct cordon_root_error *e, const char *before, const char *path)
{
    size_t used = strlen(e->message);
    snprintf(e->message + used, sizeof e->message - used, "%s'%s'", before, path);
}

int call_fail_at(const struct call *c, const struct target *t, const char *name,
                 const char *syscall, int rc)
{
    struct cordon_root_error local;
    struct cordon_root_error *e = c->err != NULL ? c->err : &local;
    if (rc == RESOLVE_OUTSIDE)
        return fail_outside(c, t->request, e);
    if (rc == -ESTALE)
        return fail_stale(c, t, name, e);
    if (rc == RESOLVE_NO_BASE)
        return fail_no_base(c, t, e);
    const bool middle = rc == RESOLVE_NOTDIR;
    const int errnum = middle ? ENOTDIR : -rc;
    fill_system(e, middle ? "realpath" : syscall, errnum);
    e->has_path = true;
    show(c, t, name, e->path, sizeof e->path);
    quote(e, " ", e->path);
    return finish(c, e, t->request, -errnum);
}

int call_fail(const struct call *c, const struct target *t, const char *syscall, int rc)
{
    return call_fail_at(c, t, t->mapped.name, syscall, rc);
}

int call_fail_pair(const struct call *c, const struct target *culprit, const struct target *from,
                   const struct target *to, const char *syscall, int rc)
{
    return call_fail_below(c, culprit, from, to, "", syscall, rc);
}

int call_fail_below(const struct call *c, const struct target *culprit, const struct target *from,
                    const struct target *to, const char *below, const char *syscall, int rc)
{
    struct cordon_root_error local;
    struct cordon_root_error *e = c->err != NULL ? c->err : &local;
    char name[2 * PATH_MAX];
    if (rc == RESOLVE_OUTSIDE)
        return fail_outside(c, join(culprit->request, below, name, sizeof name), e);
    if (rc == RESOLVE_NOTDIR || rc == RESOLVE_NO_BASE || rc == -ESTALE)
        return call_fail_at(c, culprit, join(culprit->mapped.name, below, name, sizeof name), syscall, rc);
    fill_system(e, syscall, -rc);
    e->has_path = true;
    e->has_dest = true;
    call_show(c, from, below, e->path, sizeof e->path);
    call_show(c, to, below, e->dest, sizeof e->dest);
    quote(e, " ", e->path);
    quote(e, " -> ", e->dest);
    return finish(c, e, culprit->request, rc);
}

int call_fail_watch(const struct call *c, const struct target *t, int rc)
{
    char path[PATH_MAX + 64];
    if (rc != -ENOSPC && rc != -EMFILE)
        return call_fail(c, t, "watch", rc);
    call_show(c, t, "", path, sizeof path);
    if (rc == -ENOSPC) /* as Node has it */
        return call_fail_code(c, t, "ENOSPC", ENOSPC, "watch",
                              "ENOSPC: System limit for number of file watchers reached, watch '%s'", path);
    return call_fail_code(c, t, "EMFILE", EMFILE, "watch",
                          "EMFILE: too many open files, or watches of this user (fs.inotify.max_user_instances), "
                          "watch '%s'", path);
}

int call_fail_code(const struct call *c, const struct target *t, const char *code, int errnum,
                   const char *syscall, const char *fmt, ...)
{
    struct cordon_root_error local;
    struct cordon_root_error *e = c->err != NULL ? c->err : &local;
    start(e);
    e->errnum = -errnum;
    copy(e->code, sizeof e->code, code);
    copy(e->syscall, sizeof e->syscall, syscall);
    if (t != NULL) {
        e->has_path = true;
        show(c, t, t->mapped.name, e->path, sizeof e->path);
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(e->message, sizeof e->message, fmt, args);
    va_end(args);
    return finish(c, e, t != NULL ? t->request : "", errnum != 0 ? -errnum : -EINVAL);
}

int call_writable(const struct call *c, const char *request)
{
    if (call_rooted(c) < 0)
        return -EINVAL;
    if ((c->root->flags & CORDON_ROOT_READONLY) == 0)
        return 0;
    struct cordon_root_error local;
    struct cordon_root_error *e = c->err != NULL ? c->err : &local;
    start(e);
    e->errnum = -EACCES;
    e->has_path = true;
    copy(e->code, sizeof e->code, "EACCES");
    copy(e->syscall, sizeof e->syscall, "open");
    copy(e->path, sizeof e->path, request);
    snprintf(e->message, sizeof e->message,
             "EACCES: permission denied -- read only filesystem, open '%s'", request);
    atomic_fetch_add_explicit(&c->root->readonly, 1, memory_order_relaxed);
    return finish(c, e, request, -EACCES);
}
