/*
 * Any bytes: refused with a place inside the text, or a value that is written and read again to
 * the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const struct json *value, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out, 0);
    json_value(&w, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
    struct arena arena = ARENA_INIT(64 << 20);
    struct json_error err = {0};
    BUF_AUTO once = BUF_INIT(8 << 20);
    BUF_AUTO twice = BUF_INIT(8 << 20);
    const struct json *value = json_parse(&arena, (const char *)data, size, &limits, &err);
    if (value == NULL) {
        if (err.why == NULL || err.line == 0 || err.col == 0)
            abort();
        arena_free(&arena);
        return 0;
    }
    write_again(value, &once);
    value = json_parse(&arena, once.data, once.len, &limits, &err);
    if (value == NULL)
        abort();
    write_again(value, &twice);
    if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
        abort();
    arena_free(&arena);
    return 0;
}
