/*
 * Mounts: the file tree that the payload sees.
 *
 * Lifecycle   apply() runs in init, which has a mount namespace of its own and all rights in it.
 * Invariant   Nothing is ever created in a tree of the host's: mount points are made only on file
 *             systems that the plan itself put there, and targets are resolved without links.
 * Order       The new root stands on top of the old one until the very end, so that sources are
 *             still found by their host paths; then the old one is detached for good.
 */
#pragma once

#include "layer/cover.h"
#include "layer/trees.h"
#include "plan/plan.h"

/* `trees`: mounts that the supervisor made with more rights; NULL: none. `cover`: what is hidden; or NULL. */
int layer_mounts_apply(const struct plan *plan, const struct layer_trees *trees, struct layer_cover *cover,
                       uint32_t *proof, struct cordon_error *err);
