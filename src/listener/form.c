#include "listener/form.h"

#include <errno.h>
#include <sys/stat.h>

#include "listener/task.h"
#include "sys/entry.h"
#include "sys/files.h"

#define VALUE_MAX 65536u     /* XATTR_SIZE_MAX */
#define ATTRIBUTE_FLAGS 3u   /* XATTR_CREATE | XATTR_REPLACE */

/*
 * The same call by us, for a name beneath no directory: EBADF if the kernel came to look at that. Nothing
 * can happen, and each kernel speaks for itself.
 */
static bool flags_are_good(const struct attempt *a)
{
    static const char name[] = "x";
    switch (a->act) {
    case ACT_OPEN:
        return sys_call(SYS_openat, -1, name, a->flags, a->mode) == -EBADF;
    case ACT_MAKE:
        if (a->symlink) /* to some text, wherever that leads */
            return a->call->args[0] != 0;
        return !a->node || sys_call(SYS_mknodat, -1, name, a->mode, 0) == -EBADF;
    case ACT_REMOVE:
        return sys_call(SYS_unlinkat, -1, name, a->flags) == -EBADF;
    case ACT_RENAME:
        return sys_call(SYS_renameat2, -1, name, -1, name, a->flags) == -EBADF;
    case ACT_LINK:
        return sys_call(SYS_linkat, -1, name, -1, name, a->flags) == -EBADF;
    case ACT_MODE:
        return a->flags == 0 || sys_call(SYS_fchmodat2, -1, name, a->mode, a->flags) == -EBADF;
    case ACT_OWNER:
        return sys_call(SYS_fchownat, -1, name, -1, -1, a->flags) == -EBADF;
    case ACT_TIMES:
        return sys_call(SYS_utimensat, -1, name, 0, a->flags) == -EBADF;
    case ACT_TRUNCATE:
        return (int64_t)a->call->args[1] >= 0;
    default:
        return (a->value_flags & ~ATTRIBUTE_FLAGS) == 0 && a->value_size <= VALUE_MAX;
    }
}

/* There are times, and they are ones; two that are to stay as they are change nothing. */
static bool times_are_good(const struct attempt *a)
{
    struct timespec times[2]; /* or two struct timeval: of the same shape */
    const bool exact = a->call->number == SYS_utimensat;
    const long end = exact ? 1000000000 : 1000000;
#if defined(__x86_64__)
    if (a->call->number == SYS_utime)
        return true;
#endif
    if (a->extra == 0)
        return true;
    if (task_bytes(a->call->task, a->extra, times, sizeof times) < 0)
        return false;
    bool changes = false;
    for (int i = 0; i < 2; i++) {
        const long part = times[i].tv_nsec;
        const bool stays = exact && part == UTIME_OMIT;
        changes = changes || !stays;
        if (!stays && !(exact && part == UTIME_NOW) && (part < 0 || part >= end))
            return false;
    }
    return changes;
}

bool form_reaches_place(const struct attempt *a)
{
    const struct operand *first = &a->what[0];
    const bool by_descriptor = first->itself && (a->flags & AT_EMPTY_PATH) == 0;
    if (by_descriptor && task_fd_is_path(a->call->task, first->dir)) /* good for looking at, not for changing */
        return false;
    return flags_are_good(a) && (a->act != ACT_TIMES || times_are_good(a));
}
