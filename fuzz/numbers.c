/*
 * Durations, sizes and counts: the whole string or an error. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int r)
{
    if (r != 0 && r != -EINVAL && r != -ERANGE)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    uint64_t value = 0;
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check(parse_u64(text, &value));
    check(parse_duration_ms(text, &value));
    check(parse_size(text, &value));
    free(text);
    return 0;
}
