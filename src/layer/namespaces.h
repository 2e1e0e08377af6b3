/*
 * Namespaces: what to ask clone() for, and the proof that they are not the caller's. Of the ipc and
 * the network namespace the inode tells. The others prove themselves by what they allow: an id map
 * can be written only in a fresh user namespace, pid 1 is only in a fresh pid namespace, and
 * pivot_root() needs rights that init has in a mount namespace of its own alone.
 */
#pragma once

#include "plan/plan.h"

enum namespace { NS_IPC, NS_NET, NAMESPACE_COUNT };

/* The namespaces of a process before it made or joined others. */
struct namespace_ids {
    int dir;                         /* owned; its links, usable in another mount namespace */
    uint64_t inode[NAMESPACE_COUNT]; /* 0: not known */
};

/* Flags for the first clone: what must exist before anything else can. */
uint64_t layer_namespaces_of_clone(const struct plan *plan);

/*
 * The others, which init makes and the payload process joins: it has more important things to
 * begin with. The network namespace is among neither.
 */
uint64_t layer_namespaces_of_init(const struct plan *plan);

/* Of the calling process, for layer_namespace_changed() in the same one. Raw calls. */
void layer_namespaces_note(struct namespace_ids *before);
void layer_namespaces_forget(struct namespace_ids *before);

/* Both are known, and they differ. */
bool layer_namespace_changed(const struct namespace_ids *before, enum namespace which);
