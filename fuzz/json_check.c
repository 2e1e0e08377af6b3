/*
 * What the reader takes, the check takes; what the check takes stays good when it is compacted,
 * has no line break then, and is the same when that is done again. */
#include <string.h>

#include "base/json_check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = JSON_DEPTH_MAX};
    struct arena arena = ARENA_INIT(1 << 28);
    struct json_error err = {0};
    struct json_error ignored = {0};
    BUF_AUTO once = BUF_INIT(1 << 22);
    BUF_AUTO twice = BUF_INIT(1 << 22);
    const char *text = (const char *)data;
    const bool good = json_check(text, size, &err) == 0;
    PROMISE(good || (err.line > 0 && err.col > 0 && err.why != NULL));
    PROMISE(good || json_parse(&arena, text, size, &limits, &ignored) == NULL);
    if (good) {
        json_compact(text, size, &once);
        PROMISE(!once.failed && once.len <= size && memchr(once.data, '\n', once.len) == NULL);
        PROMISE(json_check(once.data, once.len, &err) == 0);
        json_compact(once.data, once.len, &twice);
        PROMISE(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    }
    arena_free(&arena);
    return 0;
}
