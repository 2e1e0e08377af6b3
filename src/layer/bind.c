#include "layer/bind.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "sys/files.h"
#include "sys/mounting.h"

#define ALL_OF_IT (TREE_EMPTY_PATH | TREE_RECURSIVE)

static int fail(struct cordon_error *err, long r, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, (int)-r, what, subject);
}

int bind_refuse(struct cordon_error *err, long r, const char *what, const char *subject, const char *why,
                const char *remedy)
{
    err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_MOUNTS, (int)-r, what, subject);
    err_why(err, why);
    err_remedy(err, remedy);
    return (int)r;
}

struct bind_place bind_place(const char *target)
{
    struct bind_place out = {"/"};
    size_t n = 0;
    for (; target[n] != '\0' && n + 2 < sizeof out.path; n++)
        out.path[n + 1] = target[n];
    return out;
}

/* The path that a descriptor stands for, in `out`; -errno without /proc. */
static long name_of(int fd, char out[PATH_MAX])
{
    char link[SYS_FD_PATH_SIZE];
    sys_fd_path(link, fd);
    long n = sys_call(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
    out[n < 0 ? 0 : n] = '\0';
    return n;
}

/* Links are not followed for the caller; but where they lead to he may as well be told. */
static int refuse_link(struct cordon_error *err, const char *what, const char *path)
{
    static const char words[] = "name the place that it leads to: ";
    char remedy[sizeof words + PATH_MAX];
    memcpy(remedy, words, sizeof words);
    int fd = sys_open(AT_FDCWD, path, O_PATH, 0);
    const bool known = fd >= 0 && name_of(fd, remedy + sizeof words - 1) > 0;
    sys_close(fd);
    return bind_refuse(err, -ELOOP, what, path, "a symbolic link is on the way",
                       known && strlen(remedy) < sizeof err->remedy
                           ? remedy
                           : "name the place that it leads to (readlink -f says which)");
}

/*
 * What the caller has open. An ordinary user's init has mounts of its own, copies of those that the
 * descriptor is from, and may only copy from these: so it goes there by name, and looks whether it
 * got to the same directory.
 */
static int open_given(int fd)
{
    char path[PATH_MAX];
    struct stat given;
    struct stat found;
    if (name_of(fd, path) < 0)
        return (int)sys_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3); /* no /proc: root alone can go on */
    int here = sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
    if (here < 0)
        return here;
    if (sys_fstat(fd, &given) == 0 && sys_fstat(here, &found) == 0 && given.st_dev == found.st_dev &&
        given.st_ino == found.st_ino)
        return here;
    sys_close(here);
    return -ESTALE;
}

int bind_open(const struct plan_step *step, bool *skip, struct stat *st, struct cordon_error *err)
{
    static const char what[] = "open bind source";
    const bool listed = (step->flags & STEP_LISTED) != 0;
    const bool optional = (step->flags & STEP_OPTIONAL) != 0;
    const bool work = (step->flags & STEP_WORK) != 0;
    /* A link on the way of what the policy lists may have been made by an earlier payload. */
    int fd = (step->flags & STEP_FD) != 0 ? open_given(step->fd)
             : (step->flags & STEP_OWN) != 0 ? sys_open_in_root(AT_FDCWD, step->target, O_PATH)
             : listed ? sys_open_without_links(step->source, O_PATH)
                      : sys_open(AT_FDCWD, step->source, O_PATH, 0);
    *skip = false;
    const bool missing = fd == -ENOENT || fd == -ENOTDIR;
    if (missing && optional) {
        *skip = true;
        return 0;
    }
    if (fd < 0 && (step->flags & STEP_OWN) != 0)
        return bind_refuse(err, fd, "keep read-only", bind_place(step->target).path,
                           fd == -ELOOP ? "a symbolic link is in the way" : "",
                           "--profile stage --rw DIR has no such protection");
    if (missing)
        return bind_refuse(err, fd, what, step->source, "",
                           strchr(step->source, ':') != NULL
                               ? "the place inside is an absolute path, as in --ro data:/data"
                           : work ? "create it first"
                                  : "create it first, or give the bind \"optional\": true in a policy document");
    if (fd == -ELOOP)
        return refuse_link(err, what, step->source);
    if (fd < 0) /* no file answers EPERM to O_PATH: a filter of the host's does */
        return bind_refuse(err, fd, what, step->source,
                           fd == -ENOSYS || fd == -EPERM ? "openat2 is missing or refused here" : "", "");
    long r = sys_fstat(fd, st);
    if (r < 0) {
        sys_close(fd);
        return fail(err, r, "look at bind source", step->source);
    }
    if (work && !S_ISDIR(st->st_mode)) {
        sys_close(fd);
        return bind_refuse(err, -ENOTDIR, what, step->source, "",
                           "--work takes a directory; --ro FILE:/work/NAME shows one file there");
    }
    if (S_ISLNK(st->st_mode)) {
        sys_close(fd);
        *skip = true;
        return 0;
    }
    return fd;
}

bool bind_settle(struct plan_step *step, const struct stat *st)
{
    if ((step->flags & STEP_OWN) == 0 || S_ISDIR(st->st_mode))
        return true;
    if ((step->flags & STEP_KEEP) != 0)
        step->flags |= STEP_RDONLY;
    return (step->flags & STEP_RDONLY) != 0;
}

int bind_clone(int source, const struct plan_step *step, int userns, struct cordon_error *err)
{
    const struct sys_mount_attr attr = {
        .set = ATTR_NOSUID | ATTR_NODEV | ((step->flags & STEP_RDONLY) != 0 ? (uint64_t)ATTR_RDONLY : 0) |
               (userns >= 0 ? (uint64_t)ATTR_IDMAP : 0),
        .propagation = MS_PRIVATE,
        .userns_fd = userns >= 0 ? (uint64_t)userns : 0,
    };
    int tree = sys_open_tree(source, "", TREE_CLONE | ALL_OF_IT);
    if (tree < 0)
        return fail(err, tree, "copy the mounts (open_tree) of", step->source);
    long r = sys_mount_setattr(tree, "", ALL_OF_IT, &attr);
    if (r < 0) {
        sys_close(tree);
        return fail(err, r, "set mount flags (mount_setattr) of", step->source);
    }
    return tree;
}
