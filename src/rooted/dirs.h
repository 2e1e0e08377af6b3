/* Making directories on the way to something. */
#pragma once

#include "rooted/root.h"

/* Makes the directory `name` beneath the target's base and all above it; existing ones are fine. */
int dirs_make(const struct target *t, const char *name, mode_t mode);

/* The same for the directory that is to hold the target. */
int dirs_make_parents(const struct target *t);
