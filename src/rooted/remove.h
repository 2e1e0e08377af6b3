/* Removing a tree by descriptors. */
#pragma once

#include "base/buf.h"
#include "rooted/root.h"

struct remove_progress {
    cordon_root_progress_fn *call; /* or NULL */
    void *user;
    uint64_t entries;
    bool open_up; /* directories of one's own that cannot be emptied are given the permissions for it */
};

/*
 * Removes directory `name` in `dir` with all that is in it. 0 or a negative number; then `where`
 * holds the path beneath it that failed and `*syscall` what was tried.
 */
int remove_tree(int dir, const char *name, bool no_xdev, struct remove_progress *progress,
                struct buf *where, const char **syscall);
