#include "cli/quantity.h"

#include <stdio.h>

const struct quantity_style quantity_words = {
    "no limit", " s", " ms", {" bytes", " KiB", " MiB", " GiB", " TiB", NULL}};
const struct quantity_style quantity_option = {"none", "s", "ms", {"", "K", "M", "G", NULL}};

const char *quantity(char *room, size_t size, uint64_t value, enum policy_unit unit,
                     const struct quantity_style *style)
{
    const char *suffix = "";
    if (value == POLICY_UNLIMITED)
        return style->none;
    if (unit == UNIT_MS) {
        const bool whole = value % 1000 == 0;
        suffix = whole ? style->seconds : style->milliseconds;
        value /= whole ? 1000 : 1;
    } else if (unit == UNIT_BYTES) {
        const char *const *step = style->bytes;
        for (; value % 1024 == 0 && value != 0 && step[1] != NULL; step++)
            value /= 1024;
        suffix = *step;
    }
    snprintf(room, size, "%llu%s", (unsigned long long)value, suffix);
    return room;
}
