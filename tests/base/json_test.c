#include "base/json.h"

#include "../harness.h"

static struct arena arena = {.max = 1 << 24};
static struct json_error error;

static const struct json *parse_bytes(const char *text, size_t len)
{
    const struct json_limits limits = {.max_bytes = 1 << 16, .max_depth = 16};
    return json_parse(&arena, text, len, &limits, &error);
}

static const struct json *parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void refused(const char *text, unsigned line, unsigned col, const char *why)
{
    if (parse(text) != NULL)
        test_fail(__FILE__, __LINE__, "accepted: %s", text);
    CHECK_STR(error.why, why);
    CHECK_INT(error.line, line);
    CHECK_INT(error.col, col);
}

TEST(json_reads_every_kind_of_value_with_its_place)
{
    const struct json *v =
        parse("{\n  \"a\": [1, -2.5e2, true, null, \"x\\u00e9\\ud83d\\ude00\"]\n}");
    CHECK(v != NULL);
    const struct json *list = json_get(v, "a");
    CHECK(list != NULL && list->type == JSON_ARRAY);
    CHECK_INT(list->line, 2);
    CHECK_INT(list->col, 8);
    CHECK_INT(list->key_col, 3);
    CHECK_INT(list->count, 5);
    const struct json *e = list->first;
    CHECK(e->type == JSON_INT && e->integer == 1);
    e = e->next;
    CHECK(e->type == JSON_REAL && e->real == -250.0);
    e = e->next;
    CHECK(e->type == JSON_BOOL && e->boolean);
    e = e->next;
    CHECK(e->type == JSON_NULL);
    e = e->next;
    CHECK_STR(e->text, "x\xc3\xa9\xf0\x9f\x98\x80");
}

TEST(json_refuses_what_the_standard_does_not_have)
{
    refused("", 1, 1, "unexpected end of the document");
    refused("{\"a\": 01}", 1, 7, "leading zero");
    refused("[1,]", 1, 4, "expected a JSON value");
    refused("{\"a\": 1,}", 1, 9, "expected a key in double quotes");
    refused("[1] x", 1, 5, "text after the end of the document");
    refused("[+1]", 1, 2, "expected a JSON value");
    refused("[1.]", 1, 4, "expected a digit");
    refused("'a'", 1, 1, "expected a JSON value");
    refused("[1 // no\n]", 1, 4, "expected ',' or ']'");
    refused("{\"a\"\n1}", 2, 1, "expected ':'");
    refused("[NaN]", 1, 2, "expected a JSON value");
    refused("\xef\xbb\xbf{}", 1, 1, "expected a JSON value"); /* byte order mark */
}

TEST(json_refuses_dangerous_strings)
{
    refused("\"abc", 1, 1, "unterminated string");
    refused("\"abc\\", 1, 1, "unterminated string");
    refused("\"\\u0000\"", 1, 2, "NUL in a string");
    refused("\"\\ud800\"", 1, 2, "unpaired surrogate");
    refused("\"\\udc00\"", 1, 2, "unpaired surrogate");
    refused("\"\\ud800\\u0041\"", 1, 2, "unpaired surrogate");
    refused("\"\\x41\"", 1, 2, "unknown escape");
    refused("\"a\tb\"", 1, 3, "control character in a string");
    refused("\"\xff\"", 1, 2, "invalid UTF-8");
    refused("\"\xc0\xaf\"", 1, 2, "invalid UTF-8"); /* overlong */
    refused("\"\xed\xa0\x80\"", 1, 2, "invalid UTF-8"); /* a surrogate */
    CHECK(parse_bytes("\"a\0b\"", 5) == NULL);
    CHECK_STR(error.why, "NUL in a string");
}

TEST(json_refuses_duplicate_keys_and_points_at_them)
{
    refused("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}", 1, 24, "duplicate key");
    CHECK_STR(error.pointer, "/b/c");
    BUF_AUTO many = BUF_INIT(1 << 16); /* beyond what has its place on the stack */
    buf_puts(&many, "[{");
    for (int i = 0; i < 100; i++)
        buf_printf(&many, "\"k%d\": 1, ", i);
    buf_puts(&many, "\"k50\": 2}]");
    CHECK(parse_bytes(many.data, many.len) == NULL);
    CHECK_STR(error.why, "duplicate key");
    CHECK_STR(error.pointer, "/0/k50");
}

TEST(json_points_at_the_value_that_it_failed_in)
{
    refused("{\"a/b\": [0, {\"~\": 99999999999999999999}]}", 1, 19, "number out of range");
    CHECK_STR(error.pointer, "/a~1b/1/~0");
}

TEST(json_numbers_fit_or_are_refused)
{
    CHECK_INT(parse("9223372036854775807")->integer, INT64_MAX);
    CHECK(parse("-9223372036854775808")->integer == INT64_MIN);
    refused("9223372036854775808", 1, 1, "number out of range");
    refused("-9223372036854775809", 1, 1, "number out of range");
    CHECK(parse("1e400")->type == JSON_REAL);
    CHECK(parse("25e-1")->real == 2.5 && parse("-0.025e2")->real == -2.5);
    CHECK(parse("1e-99999")->real == 0 && parse("0e99999")->real == 0 && parse("1e99999")->real >= 1e300);
}

TEST(json_depth_and_size_have_ends)
{
    CHECK(parse("[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]") != NULL);
    refused("[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]", 1, 17, "nested too deeply");
    static char large[(1 << 16) + 2];
    memset(large, ' ', sizeof large - 1);
    refused(large, 1, 1, "document too large");
    struct arena small = ARENA_INIT(32 * 1024);
    const struct json_limits limits = {.max_bytes = 1 << 16, .max_depth = 16};
    memset(large, '[', 1);
    for (size_t i = 1; i + 2 < 1 << 15; i += 2)
        memcpy(large + i, "1,", 2);
    CHECK(json_parse(&small, large, 1 << 15, &limits, &error) == NULL);
    CHECK_STR(error.why, "document too large");
    arena_free(&small);
}

TEST(json_writes_what_it_can_read)
{
    BUF_AUTO out = BUF_INIT(1 << 12);
    struct json_writer w = JSON_WRITER(&out, 0);
    static const char hostile[] = "a\"\\\n\x01\x7f\xff\xc3\xa9";
    json_begin(&w, '{');
    json_key(&w, "k");
    json_bytes(&w, hostile, sizeof hostile - 1);
    json_key(&w, "e");
    json_begin(&w, '[');
    json_end(&w, ']');
    json_key(&w, "n");
    json_uint(&w, UINT64_MAX);
    json_end(&w, '}');
    CHECK_STR(buf_string(&out),
              "{\"k\":\"a\\\"\\\\\\n\\u0001\\u007f\xef\xbf\xbd\xc3\xa9\",\"e\":[],"
              "\"n\":18446744073709551615}");
}

TEST(json_base64_of_every_length)
{
    static const struct {
        const char *bytes, *text;
    } samples[] = {{"", "\"\""}, {"\xff", "\"/w==\""}, {"\xff\xfe", "\"//4=\""}, {"\xff\xfe\x01", "\"//4B\""},
                   {"Cordon", "\"Q29yZG9u\""}};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        BUF_AUTO out = BUF_INIT(64);
        struct json_writer w = JSON_WRITER(&out, 0);
        json_base64(&w, samples[i].bytes, strlen(samples[i].bytes));
        CHECK_STR(buf_string(&out), samples[i].text);
    }
}

TEST(json_indents_the_same_way_every_time)
{
    static const char text[] = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": null\n}";
    BUF_AUTO out = BUF_INIT(1 << 12);
    struct json_writer w = JSON_WRITER(&out, 2);
    json_value(&w, parse(text));
    CHECK_STR(buf_string(&out), text);
}

TEST(numbers_are_written_to_their_ends)
{
    BUF_AUTO text = BUF_INIT(1000);
    struct json_writer w = JSON_WRITER(&text, 0);
    json_begin(&w, '[');
    json_int(&w, INT64_MIN);
    json_int(&w, -1);
    json_int(&w, INT64_MAX);
    json_uint(&w, 0);
    json_uint(&w, UINT64_MAX);
    json_end(&w, ']');
    CHECK_STR(buf_string(&text), "[-9223372036854775808,-1,9223372036854775807,0,18446744073709551615]");
}
