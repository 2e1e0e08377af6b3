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

/* Flags for the first clone: what must exist before anything else can. */
uint64_t layer_namespaces_of_clone(const struct plan *plan);

/*
 * The others, which init makes and the payload process joins: it has more important things to
 * begin with. The network namespace is among neither.
 */
uint64_t layer_namespaces_of_init(const struct plan *plan);

/* The directory of links for the calling process; it stays usable in another mount namespace. */
int layer_namespaces_open(void);

/* By that directory, of the process that opened it; 0 if it cannot be read. Raw calls. */
uint64_t layer_namespace_inode(int dir, enum namespace which);
