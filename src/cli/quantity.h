/* An amount in words, and as an option takes it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

struct quantity_style {
    const char *none, *seconds, *milliseconds;
    const char *bytes[6]; /* each 1024 of the one before; ends with NULL */
};

extern const struct quantity_style quantity_words;  /* "30 s", "512 MiB", "no limit" */
extern const struct quantity_style quantity_option; /* "30s", "512M", "none" */

/* In `room`, or one of the style's own words. */
const char *quantity(char *room, size_t size, uint64_t value, enum policy_unit unit,
                     const struct quantity_style *style);
