/* The current directory by its name. */
#pragma once

#include "base/arena.h"

/* NULL: it has none, or none beneath the own root. */
const char *cwd_name(struct arena *arena);
