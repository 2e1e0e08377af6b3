#include "listener/change.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "listener/rights.h"
#include "listener/task.h"
#include "sys/files.h"

#define ATTRIBUTE_CREATE 1u  /* XATTR_CREATE */
#define ATTRIBUTE_REPLACE 2u /* XATTR_REPLACE */

/* Whether it is there decides, where the call asks for that. */
static int compare_attribute(const struct attempt *a, int target, const char *name)
{
    char path[SYS_FD_PATH_SIZE];
    if (!a->removes && (a->value_flags & (ATTRIBUTE_CREATE | ATTRIBUTE_REPLACE)) == 0)
        return 0;
    sys_fd_path(path, target);
    long r = sys_call(SYS_getxattr, path, name, 0, 0);
    if (r == -ENODATA)
        return a->removes || (a->value_flags & ATTRIBUTE_REPLACE) != 0 ? ENODATA : 0;
    return r >= 0 && !a->removes && (a->value_flags & ATTRIBUTE_CREATE) != 0 ? EEXIST : 0;
}

static int user_attribute(const struct attempt *a, int target, const char *name, const struct stat *st,
                          const struct view *view)
{
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return EPERM;
    if (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0 && !rights_owner(view, st))
        return EPERM;
    int error = rights_access(view, target, W_OK);
    return error != 0 ? error : compare_attribute(a, target, name);
}

/* User attributes take the right to write, access lists the owner; all others are for root. */
static int set_attribute(const struct attempt *a, int target, const struct stat *st, const struct view *view)
{
    char name[256];
    if (task_string(a->call->task, a->extra, name, sizeof name) <= 0)
        return IS_OWN;
    if (text_starts_with(name, "user."))
        return user_attribute(a, target, name, st, view);
    if (text_starts_with(name, "system.posix_acl_"))
        return rights_owner(view, st) ? 0 : EPERM;
    if (text_starts_with(name, "trusted.") || text_starts_with(name, "security."))
        return view->overrides ? 0 : EPERM;
    return EOPNOTSUPP;
}

/* To oneself, at most; the payload knows itself by another number. */
static int give_away(const struct attempt *a, const struct stat *st, const struct view *view)
{
    const uid_t to = (uid_t)a->extra;
    const uint32_t group = (uint32_t)a->group;
    if (view->overrides || (to == (uid_t)-1 && group == (uint32_t)-1))
        return 0;
    const bool same = to == (uid_t)-1 || to == view->plan->uid_inside;
    return rights_owner(view, st) && same && rights_group(view, group) ? 0 : EPERM;
}

int change_without_guard(const struct attempt *a, const struct spot *spot, const struct view *view)
{
    struct stat st = {0};
    int error = spot->target < 0 ? -spot->target : rights_stat(spot->target, &st);
    if (error != 0)
        return error;
    if (st.st_nlink == 0) /* it has no place any more */
        return IS_OWN;
    switch (a->act) {
    case ACT_TRUNCATE:
        return S_ISDIR(st.st_mode)    ? EISDIR
               : !S_ISREG(st.st_mode) ? EINVAL
                                      : rights_access(view, spot->target, W_OK);
    case ACT_MODE:
        return S_ISLNK(st.st_mode) ? EOPNOTSUPP : rights_owner(view, &st) ? 0 : EPERM;
    case ACT_OWNER:
        return give_away(a, &st, view);
    case ACT_TIMES: /* to now may who may write */
        return rights_owner(view, &st) ? 0 : a->extra == 0 ? rights_access(view, spot->target, W_OK) : EPERM;
    default:
        return set_attribute(a, spot->target, &st, view);
    }
}
