/*
 * The places of the host's that a policy opens for writing: binds, the current directory, /work.
 * What cordon can say about them that the payload would find out too late, or nobody.
 */
#pragma once

#include "plan/plan.h"
#include "result/result.h"

size_t writable_count(const struct plan *plan);

/* NULL: the policy has none by this index, or names the same place elsewhere. */
const char *writable_at(const struct plan *plan, size_t i);

/*
 * Root's command is a user of its own: a warning for the first place that its rights do not reach,
 * but for `unmapped`, which has one already.
 */
void writable_warn(const struct plan *plan, const char *unmapped, struct result *result);
