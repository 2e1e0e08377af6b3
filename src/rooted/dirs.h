/* Making directories on the way to something. */
#pragma once

#include "rooted/root.h"

/* The directory that is to hold the target, and all above it; existing ones are fine. */
int dirs_make_parents(const struct target *t);
