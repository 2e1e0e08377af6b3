/* cp and copyFile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/copy.h"
#include "rooted/dirs.h"
#include "rooted/guard.h"
#include "rooted/write.h"

struct pair {
    struct target from, to;
};

static void pair_release(struct pair *p)
{
    target_release(&p->from);
    target_release(&p->to);
}

static int pair_open(const struct call *c, const char *from, const char *to, const char *syscall,
                     struct pair *out)
{
    int rc = target_open(c, from, syscall, &out->from);
    return rc < 0 ? rc : target_open(c, to, syscall, &out->to);
}

static int fail_copy(const struct call *c, const struct pair *p, const char *below, int rc)
{
    char from[PATH_MAX + 256];
    char to[PATH_MAX + 256];
    call_show(c, &p->from, below, from, sizeof from);
    call_show(c, &p->to, below, to, sizeof to);
    switch (rc) {
    case COPY_EXISTS:
        return call_fail_code(c, &p->to, "ERR_FS_CP_EEXIST", EEXIST, "cp",
                              "Target already exists: cp returned EEXIST (%s already exists) %s",
                              to, to);
    case COPY_SAME:
        return call_fail_code(c, &p->to, "ERR_FS_CP_EINVAL", EINVAL, "cp",
                              "Invalid src or dest: cp returned EINVAL (cannot copy %s to itself "
                              "or a subdirectory of itself %s) %s",
                              from, to, to);
    case COPY_IS_DIR:
        return call_fail_code(c, &p->from, "ERR_FS_EISDIR", EISDIR, "cp",
                              "Recursive option not enabled, cannot copy a directory: cp returned "
                              "EISDIR (is a directory) %s",
                              from);
    case COPY_ONTO_DIR:
        return call_fail_code(c, &p->to, "ERR_FS_CP_NON_DIR_TO_DIR", EISDIR, "cp",
                              "Cannot overwrite directory with non-directory: cp returned EISDIR "
                              "(cannot overwrite directory %s with non-directory %s) %s",
                              to, from, to);
    case COPY_ONTO_OTHER:
        return call_fail_code(c, &p->to, "ERR_FS_CP_DIR_TO_NON_DIR", ENOTDIR, "cp",
                              "Cannot overwrite non-directory with directory: cp returned ENOTDIR "
                              "(cannot overwrite non-directory %s with directory %s) %s",
                              to, from, to);
    case COPY_UNSUPPORTED:
        return call_fail_code(c, &p->from, "EINVAL", EINVAL, "cp",
                              "Unsupported source file type for cp in safe mode: '%s'", from);
    default:
        return call_fail_below(c, &p->from, &p->from, &p->to, below, "cp", rc);
    }
}

/* The source: a link that leads outside is refused whether it is followed or not. */
static int find_source(const struct target *t, bool dereference, struct resolve_place *out)
{
    int rc = resolve_place(&t->base, t->mapped.name, false, out);
    if (rc == 0 && out->name[0] != '\0' && !out->exists)
        return -ENOENT;
    if (rc < 0 || !out->exists || !S_ISLNK(out->st.st_mode))
        return rc;
    rc = resolve_check(&t->base, t->mapped.name);
    if (rc < 0 || !dereference)
        return rc;
    resolve_place_release(out);
    rc = resolve_place(&t->base, t->mapped.name, true, out);
    return rc == 0 && out->name[0] != '\0' && !out->exists ? -ENOENT : rc;
}

/* A link is put in the place of a link; anything else goes to where a link leads. */
static int find_destination(const struct target *t, bool from_link, struct resolve_place *out)
{
    int rc = resolve_place(&t->base, t->mapped.name, false, out);
    if (rc < 0 || !out->exists || !S_ISLNK(out->st.st_mode))
        return rc;
    rc = resolve_check(&t->base, t->mapped.name);
    if (rc < 0 || from_link)
        return rc;
    resolve_place_release(out);
    return resolve_place(&t->base, t->mapped.name, true, out);
}

static int cp_pair(const struct call *c, const struct pair *p,
                   const struct cordon_root_cp_options *options, bool make_parents)
{
    PLACE_AUTO from = RESOLVE_PLACE_INIT;
    PLACE_AUTO to = RESOLVE_PLACE_INIT;
    int rc = find_source(&p->from, options->dereference, &from);
    if (rc < 0)
        return call_fail_pair(c, &p->from, &p->from, &p->to, "cp", rc);
    if (make_parents)
        rc = dirs_make_parents(&p->to);
    if (rc == 0)
        rc = find_destination(&p->to, from.exists && S_ISLNK(from.st.st_mode), &to);
    if (rc < 0)
        return call_fail_pair(c, &p->to, &p->from, &p->to, "cp", rc);

    RACE_POINT("cp");
    struct copy copy = {.root = c->root,
                        .base = &p->from.base,
                        .options = *options,
                        .where = BUF_INIT(64u << 20),
                        .source_name = BUF_INIT(PATH_MAX)};
    buf_puts(&copy.source_name, p->from.mapped.name);
    rc = copy_entry(&copy, &from, &to);
    if (rc < 0)
        rc = fail_copy(c, p, copy_failed_at(&copy), rc);
    copy_release(&copy);
    return rc;
}

static const struct cordon_root_cp_options no_options = {.size = sizeof no_options};

int cordon_root_cp(struct cordon_root *root, const char *from, const char *to,
                   const struct cordon_root_cp_options *options, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "cp", err);
    __attribute__((cleanup(pair_release))) struct pair p = {.from.ref = NULL};
    int rc = call_options(&c, options, sizeof *options);
    if (rc == 0)
        rc = call_writable(&c, to);
    if (rc == 0)
        rc = pair_open(&c, from, to, "cp", &p);
    return rc < 0 ? rc : cp_pair(&c, &p, options != NULL ? options : &no_options, true);
}

int cordon_root_cp_list(struct cordon_root *root, const char *const *from, size_t count,
                        const char *to, const struct cordon_root_cp_options *options,
                        struct cordon_root_error *err)
{
    struct call c = call_begin(root, "cp", err);
    int rc = call_options(&c, options, sizeof *options);
    if (rc == 0)
        rc = call_writable(&c, to);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        TARGET_AUTO(source);
        rc = target_map(&c, from[i], "cp", &source);
        if (rc < 0)
            break;
        size_t ignored = 0;
        const char *name = path_split(source.mapped.name, &ignored);
        char *full = malloc(strlen(to) + strlen(name) + 2);
        if (full == NULL)
            return call_fail(&c, &source, "cp", -ENOMEM);
        sprintf(full, "%s%s%s", to, *to != '\0' ? "/" : "", name);
        __attribute__((cleanup(pair_release))) struct pair p = {.from.ref = NULL};
        rc = pair_open(&c, from[i], full, "cp", &p);
        if (rc == 0)
            rc = cp_pair(&c, &p, options != NULL ? options : &no_options, false);
        pair_release(&p);
        free(full);
    }
    return rc;
}

static int copy_open_file(const struct call *c, struct pair *p, int from,
                          const struct stat *st)
{
    static const uint32_t links_kept = CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_UNSAFE;
    WRITING_AUTO w = WRITING_INIT;
    int rc = write_open(c->root, &p->to, O_WRONLY, &w);
    const int old = w.fd;
    struct stat was;
    if (rc == 0 && old >= 0)
        rc = descriptor_regular(old, &was);
    if (rc != 0)
        return call_fail(c, &p->to, "open", rc);
    if (old >= 0 && descriptor_same(&was, st)) {
        char from_shown[PATH_MAX + 64];
        call_show(c, &p->from, "", from_shown, sizeof from_shown);
        return call_fail_code(c, &p->to, "EINVAL", EINVAL, "open",
                              "Source and destination must not be the same file: '%s'", from_shown);
    }
    struct copy copy = {.root = c->root, .base = &p->from.base, .options = no_options, .locked = true};
    const bool linked = old >= 0 && was.st_nlink > 1 && (c->root->flags & links_kept) != 0;
    /* As writeFile: a rename would part names that belong together. */
    rc = linked ? copy_file_into(&copy, from, st, old)
                : copy_file_to(&copy, from, st, w.place.dir, w.place.name);
    if (rc == 0)
        rc = write_sync_names(c->root, w.place.dir);
    copy_release(&copy);
    return rc < 0 ? call_fail(c, &p->to, "open", rc == COPY_ONTO_DIR ? -EISDIR : rc) : 0;
}

int cordon_root_copy_file(struct cordon_root *root, const char *from, const char *to,
                          struct cordon_root_error *err)
{
    struct call c = call_begin(root, "copyFile", err);
    __attribute__((cleanup(pair_release))) struct pair p = {.from.ref = NULL};
    int rc = call_writable(&c, to);
    if (rc == 0)
        rc = pair_open(&c, from, to, "open", &p);
    if (rc < 0)
        return rc;
    FD_AUTO fd = resolve_open(&p.from.base, p.from.mapped.name,
                              O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return call_fail(&c, &p.from, "open", fd == -ENXIO ? -EINVAL : fd);
    struct stat st;
    rc = descriptor_regular(fd, &st);
    if (rc == -EISDIR)
        return call_fail_code(&c, NULL, "EISDIR", EISDIR, "read",
                              "EISDIR: illegal operation on a directory, read");
    if (rc < 0)
        return call_fail(&c, &p.from, "open", rc);
    return copy_open_file(&c, &p, fd, &st);
}
