/*
 * Calls with the number of a user or a group: to become it, or to give it a file. Inside one of each
 * exists, and the kernel says EINVAL of any other, where it says EPERM outside to all but root; tests ask
 * for that.
 */
#pragma once

#include <stdbool.h>

#include "layer/notify.h"
#include "plan/plan.h"

bool ids_only(const struct notify_call *call); /* it becomes somebody, and touches no file */

/* One of its numbers means nothing inside. */
bool ids_unknown(const struct notify_call *call, const struct plan *plan);
