/* mkdir. */
#include "rooted/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/guard.h"

/* One directory whose parent exists. 0 if it is there afterwards. */
static int make_one(const struct target *t, const char *name, mode_t mode)
{
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = resolve_place(&t->base, name, false, &place);
    if (rc < 0)
        return rc;
    RACE_POINT("mkdir");
    if (place.name[0] != '\0' && mkdirat(place.dir, place.name, mode) == 0)
        return 0;
    if (place.name[0] != '\0' && errno != EEXIST)
        return -errno;
    /* Something is there: a directory, or a link to one that stays inside, is as good. */
    FD_AUTO fd = resolve_open(&t->base, name, O_PATH | O_DIRECTORY);
    if (fd == -ENOTDIR || fd == -ENOENT)
        return -EEXIST;
    return fd < 0 ? fd : 0;
}

/* The directory `name` beneath the target's base and all above it; existing ones are fine. */
static int make_all(const struct target *t, const char *name, mode_t mode)
{
    int rc = make_one(t, name, mode);
    if (rc != -ENOENT)
        return rc;
    char part[PATH_MAX];
    size_t len = strlen(name);
    for (size_t i = 1; i <= len; i++) {
        if (name[i] != '/' && name[i] != '\0')
            continue;
        memcpy(part, name, i);
        part[i] = '\0';
        rc = make_one(t, part, name[i] == '\0' ? mode : 0777);
        if (rc == -EEXIST && name[i] != '\0')
            rc = RESOLVE_NOTDIR;
        if (rc < 0)
            return rc;
    }
    return rc;
}

int dirs_make_parents(const struct target *t)
{
    char parent[PATH_MAX];
    size_t len = 0;
    path_split(t->mapped.name, &len);
    if (len == 0)
        return 0;
    memcpy(parent, t->mapped.name, len);
    parent[len] = '\0';
    int rc = make_all(t, parent, 0777);
    return rc == -EEXIST ? RESOLVE_NOTDIR : rc;
}

int cordon_root_mkdir(struct cordon_root *root, const char *path, bool recursive, uint32_t mode,
                      struct cordon_root_error *err)
{
    struct call c = call_begin(root, "mkdir", err);
    TARGET_AUTO(t);
    int rc = call_writable(&c, path);
    if (rc == 0)
        rc = target_open(&c, path, "mkdir", &t);
    if (rc != 0)
        return rc;
    if (recursive) {
        rc = make_all(&t, t.mapped.name, (mode_t)(mode & 07777));
    } else {
        PLACE_AUTO place = RESOLVE_PLACE_INIT;
        rc = resolve_place(&t.base, t.mapped.name, false, &place);
        if (rc == 0)
            rc = target_check_leaf(&c, &t, &place);
        RACE_POINT("mkdir");
        if (rc == 0 && place.name[0] == '\0')
            rc = -EEXIST;
        if (rc == 0 && mkdirat(place.dir, place.name, (mode_t)(mode & 07777)) < 0)
            rc = -errno;
    }
    return rc < 0 ? call_fail(&c, &t, "mkdir", rc) : 0;
}
