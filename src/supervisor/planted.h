/*
 * Protected names that are missing cannot be mounted on, so the payload can make them. Who reads
 * the tree afterwards is told of those that appeared.
 */
#pragma once

#include "plan/plan.h"
#include "result/result.h"

struct planted {
    uint64_t *missing; /* for each writable tree, a bit for each protected name; NULL: nothing is protected */
};

/* Before the start. Memory is the plan's; without it, or a tree, there is nothing to tell. */
void planted_note(struct planted *self, const struct plan *plan);

/* After the end: a warning for each tree in which one of them is there now. */
void planted_warn(const struct planted *self, const struct plan *plan, struct result *result);
