#include "listener/rights.h"

#include <errno.h>
#include <unistd.h>

#include "sys/files.h"
#include "sys/pidfd.h"

#define GROUPS_MAX 64

int rights_stat(int fd, struct stat *st)
{
    return (int)-sys_fstat(fd, st);
}

/* Read-only is what this place is; anything else comes before that. */
int rights_access(const struct view *view, int fd, int mode)
{
    if (view->overrides)
        return 0;
    long r = sys_call(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH);
    return r == 0 || r == -EROFS ? 0 : (int)-r;
}

bool rights_owner(const struct view *view, const struct stat *st)
{
    return view->overrides || st->st_uid == (uid_t)sys_call(SYS_getuid);
}

bool rights_group(const struct view *view, uint32_t group)
{
    gid_t groups[GROUPS_MAX];
    if (view->overrides || group == (uint32_t)-1 || group == view->plan->gid_inside)
        return true;
    const long count = sys_call(SYS_getgroups, GROUPS_MAX, groups);
    for (long i = 0; i < count; i++) {
        if (groups[i] == group)
            return true;
    }
    return false;
}

static bool links_are_protected(void)
{
    char digit = '1';
    int fd = sys_open(AT_FDCWD, "/proc/sys/fs/protected_hardlinks", O_RDONLY, 0);
    sys_read(fd, &digit, 1);
    sys_close(fd);
    return digit != '0';
}

bool rights_link(const struct view *view, int fd, const struct stat *st)
{
    const bool privileged = (st->st_mode & S_ISUID) != 0 || (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    if (S_ISDIR(st->st_mode))
        return false;
    if (rights_owner(view, st) || (S_ISREG(st->st_mode) && !privileged && rights_access(view, fd, R_OK | W_OK) == 0))
        return true;
    return !links_are_protected();
}
