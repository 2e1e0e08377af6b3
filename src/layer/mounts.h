/*
 * Mounts: the file tree that the payload sees.
 *
 * Lifecycle   build(), enter() and leave() run in init, which has a mount namespace of its own and
 *             all rights in it. Between enter() and leave() both roots are stacked: "/" is the new
 *             one, "/.." the old one. Nobody may join the namespace then, and whoever is in it
 *             does nothing that an outsider decides until alone() is true.
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
int layer_mounts_build(const struct plan *plan, const struct layer_trees *trees, struct layer_cover *cover,
                       uint32_t *proof, struct cordon_error *err);

/* What was built becomes the root, for every process of the namespace; the old one is still there. */
int layer_mounts_enter(const struct layer_cover *cover, uint32_t *proof, struct cordon_error *err);

/*
 * Detaches the old root. That is done long before this returns: the kernel then waits until nobody can
 * be amidst a path any more.
 */
int layer_mounts_leave(struct cordon_error *err);

/* The mount that the calling process has as its root, as a number; 0: the kernel does not tell. */
uint64_t layer_mounts_root(void);

/* Nothing is stacked on that root: the old one is gone. False also where the kernel does not tell. */
bool layer_mounts_alone(uint64_t root);
