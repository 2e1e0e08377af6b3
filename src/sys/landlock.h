/* Landlock by raw calls, with what Debian 12's headers (ABI 2) lack. */
#pragma once

#include <stdint.h>

#include "sys/call.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum {
    LL_EXECUTE = 1 << 0,
    LL_WRITE_FILE = 1 << 1,
    LL_READ_FILE = 1 << 2,
    LL_READ_DIR = 1 << 3,
    LL_REMOVE_DIR = 1 << 4,
    LL_REMOVE_FILE = 1 << 5,
    LL_MAKE_CHAR = 1 << 6,
    LL_MAKE_DIR = 1 << 7,
    LL_MAKE_REG = 1 << 8,
    LL_MAKE_SOCK = 1 << 9,
    LL_MAKE_FIFO = 1 << 10,
    LL_MAKE_BLOCK = 1 << 11,
    LL_MAKE_SYM = 1 << 12,
    LL_REFER = 1 << 13,     /* ABI 2 */
    LL_TRUNCATE = 1 << 14,  /* ABI 3 */
    LL_IOCTL_DEV = 1 << 15, /* ABI 5 */

    LL_SCOPE_ABSTRACT_UNIX = 1 << 0, /* ABI 6 */
    LL_SCOPE_SIGNAL = 1 << 1,        /* ABI 6 */
};

struct sys_landlock_ruleset {
    uint64_t handled_fs, handled_net, scoped;
};

struct sys_landlock_path {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

/* The newest ABI of this kernel, or -errno. */
static inline int sys_landlock_abi(void)
{
    return (int)sys_call(SYS_landlock_create_ruleset, 0, 0, 1 /* CREATE_RULESET_VERSION */);
}

/* `size`: an older kernel refuses bytes that it does not know. */
static inline int sys_landlock_create(const struct sys_landlock_ruleset *attr, unsigned long size)
{
    return (int)sys_call(SYS_landlock_create_ruleset, attr, size, 0);
}

static inline long sys_landlock_allow(int ruleset, const struct sys_landlock_path *rule)
{
    return sys_call(SYS_landlock_add_rule, ruleset, 1 /* PATH_BENEATH */, rule, 0);
}

static inline long sys_landlock_restrict(int ruleset)
{
    return sys_call(SYS_landlock_restrict_self, ruleset, 0);
}
