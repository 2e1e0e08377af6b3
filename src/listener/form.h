/*
 * Whether a call gets as far as a place at all. Flags that do not exist, a negative length, times that
 * change nothing: the kernel answers those before it looks at any name. Raw calls only.
 */
#pragma once

#include <stdbool.h>

#include "listener/attempt.h"

bool form_reaches_place(const struct attempt *a);
