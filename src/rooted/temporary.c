#include "rooted/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/names.h"
#include "rooted/remove.h"
#include "rooted/tree.h"

#define ATTEMPTS_MAX 128
#define DIGITS 16
#define LEFT_BEHIND_SECONDS 600 /* nobody writes what is in memory already for so long */
#define TREE_TIMES 144 /* a day: a tree grows for long without a change of its top */

#ifdef CORDON_ROOTED_TEST
long temporary_left_behind_seconds = LEFT_BEHIND_SECONDS;
#else
#define temporary_left_behind_seconds LEFT_BEHIND_SECONDS
#endif

/* In full: a file of somebody who took the prefix alone would vanish from listings, copies and then the disk. */
bool temporary_is(const char *name)
{
    const char *digits = name + sizeof TEMPORARY_PREFIX - 1;
    return strncmp(name, TEMPORARY_PREFIX, sizeof TEMPORARY_PREFIX - 1) == 0 &&
           strspn(digits, "0123456789abcdef") == DIGITS && digits[DIGITS] == '\0';
}

/*
 * A well mixed number that no other root and no other thread has; O_EXCL does not need more. It
 * stays the same from call to call: a name that the kernel met before is cheaper to look up.
 */
static uint64_t number(const struct cordon_root *root, int attempt)
{
    uint64_t x = root->temporary + (uintptr_t)pthread_self();
    x += (uint64_t)attempt * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The prefix and hex digits; many times cheaper than printf. */
static void make_name(uint64_t digits, char name[TEMPORARY_NAME_MAX])
{
    memcpy(name, TEMPORARY_PREFIX, sizeof TEMPORARY_PREFIX - 1);
    char *p = name + sizeof TEMPORARY_PREFIX - 1;
    for (int shift = 4 * (DIGITS - 1); shift >= 0; shift -= 4)
        *p++ = "0123456789abcdef"[digits >> shift & 15];
    *p = '\0';
}

int temporary_create(const struct cordon_root *root, int dir, unsigned mode,
                     char name[TEMPORARY_NAME_MAX])
{
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        make_name(number(root, i), name);
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : -errno;
    }
    return -EEXIST;
}

int temporary_pick(const struct cordon_root *root, int dir, char name[TEMPORARY_NAME_MAX])
{
    FD_AUTO fd = temporary_create(root, dir, 0600, name);
    return fd < 0 ? fd : unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

/* Under another name first: should somebody be at work on it after all, he fails before he removes the source. */
static bool sweep_tree(const struct cordon_root *root, int dir, const char *name)
{
    char aside[TEMPORARY_NAME_MAX];
    BUF_AUTO where = BUF_INIT(64u << 20);
    const char *syscall = "";
    struct remove_progress progress = {.call = NULL};
    return temporary_pick(root, dir, aside) == 0 && renameat(dir, name, dir, aside) == 0 &&
           remove_tree(dir, aside, true, &progress, &where, &syscall) == 0;
}

bool temporary_sweep(const struct cordon_root *root, int dir, const char *name)
{
    struct stat st;
    if ((root->flags & CORDON_ROOT_READONLY) != 0 ||
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    const time_t age = time(NULL) - st.st_ctime;
    if (S_ISDIR(st.st_mode)) /* of our own: who renamed somebody else's directory could not have emptied it */
        return st.st_uid == geteuid() && age >= temporary_left_behind_seconds * TREE_TIMES &&
               sweep_tree(root, dir, name);
    return (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) && age >= temporary_left_behind_seconds &&
           unlinkat(dir, name, 0) == 0;
}

bool temporary_sweep_all(const struct cordon_root *root, int dir, const char *name)
{
    FD_AUTO fd = tree_open_dir(dir, name);
    struct names names = {0};
    bool some = false;
    if (fd < 0 || names_read(fd, &names) < 0)
        return false;
    for (size_t i = 0; i < names.count; i++) {
        const char *entry = names_at(&names, i);
        some = (temporary_is(entry) && temporary_sweep(root, fd, entry)) || some;
    }
    names_free(&names);
    return some;
}
