/* link and symlink. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "rooted/descriptor.h"
#include "rooted/guard.h"
#include "rooted/root.h"

/* Hard and symbolic links are opened by name in safe mode. */
static int gate(const struct call *c, const struct target *t, uint32_t flag, const char *syscall)
{
    if ((c->root->flags & (flag | CORDON_ROOT_UNSAFE)) != 0)
        return 0;
    return call_fail_code(c, t, "EPERM", EPERM, syscall,
                          "EPERM: operation not permitted in safe mode, %s '%s'", syscall,
                          t->request);
}

/*
 * linkat() without AT_SYMLINK_FOLLOW links whatever bears the name, a link included, and so never
 * reaches outside; but it must be what was checked. If it is not, it is taken away again, unless it is not
 * ours: somebody may have put another file there since.
 */
static int link_checked(const struct resolve_place *from, const struct resolve_place *to)
{
    struct stat now, made;
    RACE_POINT("link");
    if (linkat(from->dir, from->name, to->dir, to->name, 0) < 0)
        return -errno;
    RACE_POINT("linked");
    if (fstatat(to->dir, to->name, &made, AT_SYMLINK_NOFOLLOW) < 0 ||
        !GUARD(link_verify, !descriptor_same(&made, &from->st)))
        return 0;
    if (fstatat(from->dir, from->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && descriptor_same(&made, &now))
        unlinkat(to->dir, to->name, 0);
    return -ESTALE;
}

int cordon_root_link(struct cordon_root *root, const char *existing, const char *path,
                     struct cordon_root_error *err)
{
    struct call c = call_begin(root, "link", err);
    TARGET_AUTO(from);
    TARGET_AUTO(to);
    int rc = call_writable(&c, path);
    if (rc == 0)
        rc = target_open(&c, existing, "link", &from);
    if (rc == 0)
        rc = target_open(&c, path, "link", &to);
    if (rc == 0)
        rc = gate(&c, &to, CORDON_ROOT_ALLOW_HARDLINK, "link");
    if (rc < 0)
        return rc;
    if (!target_same_base(&from, &to))
        return call_fail_pair(&c, &to, &from, &to, "link", -EXDEV);

    PLACE_AUTO from_place = RESOLVE_PLACE_INIT;
    PLACE_AUTO to_place = RESOLVE_PLACE_INIT;
    rc = resolve_place(&from.base, from.mapped.name, true, &from_place);
    if (rc == 0 && from_place.name[0] == '\0')
        rc = -EPERM;
    if (rc == 0 && !from_place.exists)
        rc = -ENOENT;
    if (rc < 0)
        return call_fail_pair(&c, &from, &from, &to, "link", rc);
    rc = resolve_place(&to.base, to.mapped.name, false, &to_place);
    if (rc == 0)
        rc = target_check_leaf(&c, &to, &to_place);
    if (rc == 0 && target_is_top(&to))
        rc = -EEXIST;
    if (rc == 0)
        rc = link_checked(&from_place, &to_place);
    return rc < 0 ? call_fail_pair(&c, rc == -ESTALE ? &from : &to, &from, &to, "link", rc) : 0;
}

/* Where the directory of a new link really is: the text has to lead from there. */
static int real_parent(const struct target *t, char *out)
{
    char parent[PATH_MAX];
    size_t len = 0;
    path_split(t->mapped.name, &len);
    memcpy(parent, t->mapped.name, len);
    parent[len] = '\0';
    return resolve_real(&t->base, parent, out);
}

int cordon_root_symlink(struct cordon_root *root, const char *target, const char *path,
                        struct cordon_root_error *err)
{
    struct call c = call_begin(root, "symlink", err);
    TARGET_AUTO(to);   /* what the link shall lead to */
    TARGET_AUTO(link); /* the link */
    int rc = call_writable(&c, path);
    if (rc == 0)
        rc = target_open(&c, target, "symlink", &to);
    if (rc == 0)
        rc = target_open(&c, path, "symlink", &link);
    if (rc == 0)
        rc = gate(&c, &link, CORDON_ROOT_ALLOW_SYMLINK, "symlink");
    if (rc < 0)
        return rc;
    rc = target_same_base(&to, &link) ? resolve_check(&to.base, to.mapped.name) : RESOLVE_OUTSIDE;
    if (rc < 0 && rc != -ELOOP)
        return call_fail_pair(&c, &to, &to, &link, "symlink", rc);

    char from[PATH_MAX];
    char text[2 * PATH_MAX];
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    rc = resolve_place(&link.base, link.mapped.name, false, &place);
    if (rc == 0)
        rc = target_check_leaf(&c, &link, &place);
    if (rc == 0 && target_is_top(&link))
        rc = -EEXIST;
    if (rc == 0)
        rc = real_parent(&link, from);
    if (rc == 0 && path_relative(text, sizeof text, from, to.mapped.name) >= PATH_MAX)
        rc = -ENAMETOOLONG;
    if (rc == 0 && symlinkat(text, place.dir, place.name) < 0)
        rc = -errno;
    return rc < 0 ? call_fail_pair(&c, &link, &to, &link, "symlink", rc) : 0;
}
