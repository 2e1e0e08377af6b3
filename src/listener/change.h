/* Calls that change what stands at a place, not its name. Raw calls only. */
#pragma once

#include "listener/spot.h"

#define IS_OWN (-1) /* not the guard's business at all */

/* Without the guard: 0 if it would have worked, a positive errno, or IS_OWN. */
int change_without_guard(const struct attempt *a, const struct spot *spot, const struct view *view);
