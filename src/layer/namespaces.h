/*
 * Namespaces: what to ask clone() for, and the proof that they are not the caller's. Of the ipc and
 * the network namespace the inode tells. The others prove themselves by what they allow: an id map
 * can be written only in a fresh user namespace, pid 1 is only in a fresh pid namespace, and
 * pivot_root() needs rights that init has in a mount namespace of its own alone.
 */
#pragma once

#include "plan/plan.h"

enum namespace { NS_IPC, NS_NET, NAMESPACE_COUNT };

struct namespace_ids {
    uint64_t inode[NAMESPACE_COUNT]; /* 0: not known */
};

/* Flags for the first clone; the network namespace is not among them. */
uint64_t layer_namespaces_flags(const struct plan *plan);

/* Of the calling process; 0 if it cannot be read. Raw calls. */
uint64_t layer_namespace_inode(enum namespace which);
