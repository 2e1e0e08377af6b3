/*
 * Test builds (CORDON_ROOTED_TEST) can switch off each flag that holds the boundary, to prove that
 * some test notices, and can run code at the points where a race would strike. In every other
 * build both are nothing.
 */
#pragma once

/* The names of all guards; the mutation check goes through them one by one. */
#define GUARD_LIST(X)    \
    X(beneath)           \
    X(direct_symlinks)   \
    X(stat_link)         \
    X(no_magiclinks)     \
    X(no_symlinks)       \
    X(no_xdev)           \
    X(walk_nofollow)     \
    X(walk_dotdot)       \
    X(walk_xdev)         \
    X(walk_strict)       \
    X(walk_final)        \
    X(rewalk_nofollow)   \
    X(leaf_check)        \
    X(open_leaf)         \
    X(descend_nofollow)  \
    X(ascend_check)      \
    X(copy_source)       \
    X(copy_target)       \
    X(copy_dir)          \
    X(link_verify)

enum guard {
#define GUARD_ID(name) GUARD_##name,
    GUARD_LIST(GUARD_ID)
#undef GUARD_ID
};

#ifdef CORDON_ROOTED_TEST
#include <stdbool.h>
bool guard_on(enum guard guard); /* false for the one named in CORDON_ROOTED_GUARD_OFF */
void guard_point(const char *name);
extern void (*guard_hook)(const char *name); /* what a test wants to run at a point */
#define GUARD(name, flag) (guard_on(GUARD_##name) ? (flag) : 0)
#define RACE_POINT(name) guard_point(name)
#else
#define GUARD(name, flag) (flag)
#define RACE_POINT(name) ((void)0)
#endif
