/*
 * The place that a name means, found step by step as the kernel does for the task itself: from the
 * directory that the task stands in, whatever its name is now, and through the links of /proc, which
 * lead to things and not to names. Slower than words that openat2() resolves, and always the same. Raw
 * calls only.
 */
#pragma once

#include "listener/spot.h"

/* As spot_find(); view->root is known. */
int walk_find(struct spot *out, const struct view *view, uint32_t task, const struct operand *operand);
