/*
 * Whatever a payload wrote and was called, the result is one JSON document, and what was UTF-8 stands
 * in it unchanged. The first byte is the status, lines are the texts in turn. */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "wire/result_json.h"

#define TEXTS 12

/* NUL and newline separate texts, so none is inside. */
static size_t split(struct arena *arena, const uint8_t *data, size_t size, char *texts[TEXTS])
{
    size_t count = 0;
    for (size_t start = 0; start < size && count < TEXTS;) {
        size_t end = start;
        while (end < size && data[end] != '\n' && data[end] != '\0')
            end++;
        texts[count++] = arena_strndup(arena, (const char *)data + start, end - start);
        start = end + 1;
    }
    for (size_t i = count; i < TEXTS; i++)
        texts[i] = arena_strdup(arena, "");
    return count;
}

static bool is_utf8(const char *text)
{
    size_t n = 1;
    for (size_t left = strlen(text); left > 0 && n > 0; text += n, left -= n)
        n = text_utf8(text, left);
    return n > 0;
}

static void stands(const struct json *parent, const char *key, const char *text)
{
    const struct json *value = json_get(parent, key);
    PROMISE(value != NULL && value->type == JSON_STRING);
    if (is_utf8(text))
        PROMISE(value->len == strlen(text) && memcmp(value->text, text, value->len) == 0);
}

static const struct json *read_back(const struct result *result, const struct result_context *context,
                                    struct arena *arena)
{
    static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 16};
    struct json_error why;
    BUF_AUTO out = BUF_INIT(1 << 20);
    result_write_json(result, context, &out);
    PROMISE(!out.failed && out.data[out.len - 1] == '\n' && memchr(out.data, '\n', out.len - 1) == NULL);
    return json_parse(arena, out.data, out.len, &limits, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct arena arena = ARENA_INIT(1 << 24);
    char *texts[TEXTS];
    const size_t count = split(&arena, data + 1, size - 1, texts);
    struct result_violation violation = {
        .op = "create", .path = texts[0], .comm = texts[1], .rule = "read-only", .count = count, .test = texts[2]};
    struct result result;
    result_init(&result);
    result.status = (enum status)(data[0] % STATUS_COUNT);
    result.out.captured = BUF_INIT(1 << 16);
    result.err.captured = BUF_INIT(1 << 16);
    buf_puts(&result.out.captured, texts[3]);
    buf_puts(&result.err.captured, texts[4]);
    result_reason(&result, "%.200s", texts[5]);
    result_warn(&result, "%.200s", texts[6]);
    result.violations = (struct result_violations){.items = &violation, .count = 1, .total = count, .watched = true};
    const struct result_context context = {
        .cmd = texts, .cmd_count = TEXTS, .profile = "stage", .kernel = "6.1", .module_id = texts[7]};

    const struct json *root = read_back(&result, &context, &arena);
    PROMISE(root != NULL);
    stands(root, "status", status_name(result.status));
    stands(root, "stdout", texts[3]);
    stands(root, "stderr", texts[4]);
    stands(json_get(root, "violations")->first, "path", texts[0]);
    stands(json_get(root, "violations")->first, "comm", texts[1]);
    const struct json *cmd = json_get(root, "cmd");
    PROMISE(cmd->count == TEXTS);
    size_t i = 0;
    for (const struct json *word = cmd->first; word != NULL; word = word->next, i++)
        PROMISE(!is_utf8(texts[i]) || strcmp(word->text, texts[i]) == 0);
    result.violations = (struct result_violations){0};
    result_release(&result);
    arena_free(&arena);
    return 0;
}
