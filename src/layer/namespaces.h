/* Namespaces: what to ask clone() for, and the proof that they are not the caller's. */
#pragma once

#include "plan/plan.h"

enum namespace { NS_USER, NS_MOUNT, NS_PID, NS_IPC, NS_NET, NAMESPACE_COUNT };

struct namespace_ids {
    uint64_t inode[NAMESPACE_COUNT]; /* 0: not known */
};

/* Flags for the first clone; the network namespace is not among them. */
uint64_t layer_namespaces_flags(const struct plan *plan);

/* Of the calling process. Raw calls. */
void layer_namespaces_read(struct namespace_ids *out, unsigned first, unsigned last);

/* The proofs for what differs between first and last. */
uint32_t layer_namespaces_compare(const struct namespace_ids *outside,
                                  const struct namespace_ids *inside, unsigned first, unsigned last);
