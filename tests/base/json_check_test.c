#include "base/json_check.h"

#include <stdlib.h>

#include "../harness.h"

static struct json_error err;

static int check(const char *text)
{
    return json_check(text, strlen(text), &err);
}

static void refused(const char *text, unsigned line, unsigned col, const char *why)
{
    if (check(text) == 0)
        test_fail(__FILE__, __LINE__, "taken: %s", text);
    if (err.line != line || err.col != col || strcmp(err.why, why) != 0)
        test_fail(__FILE__, __LINE__, "%s: %u:%u: %s", text, err.line, err.col, err.why);
}

TEST(takes_what_is_one_json_value)
{
    static const char *const good[] = {
        "null", "true", "false", "0", "-0", "-1.5e-3", "10E+20", "\"\"", "[]", "{}", " [ 1 , 2 ] ",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u0000\"", "\"\\ud83d\\uDE00\"", "\"\xc3\xa9\"",
        "{\"a\": {\"b\": [null]}, \"a\": 1}", "123456789012345678901234567890",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (check(good[i]) < 0)
            test_fail(__FILE__, __LINE__, "refused: %s: %u: %s", good[i], err.col, err.why);
    }
}

TEST(refuses_the_rest_and_says_where)
{
    refused("", 1, 1, "unexpected end of the text");
    refused("\n \n", 3, 1, "unexpected end of the text");
    refused("[1,\n x]", 2, 2, "expected a JSON value");
    refused("1 2", 1, 3, "text after the end of the value");
    refused("01", 1, 3, "leading zero");
    refused("-", 1, 2, "expected a digit");
    refused("1.", 1, 3, "expected a digit");
    refused("1e", 1, 3, "expected a digit");
    refused("+1", 1, 1, "expected a JSON value");
    refused("NaN", 1, 1, "expected a JSON value");
    refused("nul", 1, 1, "expected a JSON value");
    refused("[1,]", 1, 4, "expected a JSON value");
    refused("{\"a\" 1}", 1, 6, "expected ':'");
    refused("{a: 1}", 1, 2, "expected a key in double quotes");
    refused("{\"a\": 1,}", 1, 9, "expected a key in double quotes");
    refused("[1", 1, 3, "expected ',' or ']'");
    refused("{\"a\": 1", 1, 8, "expected ',' or '}'");
    refused("\"a", 1, 3, "unterminated string");
    refused("\"a\nb\"", 1, 3, "control character in a string");
    refused("\"\\x\"", 1, 3, "unknown escape");
    refused("\"\\u12\"", 1, 6, "bad \\u escape");
    refused("\"\\ud800\"", 1, 8, "unpaired surrogate");
    refused("\"\\udc00\"", 1, 8, "unpaired surrogate");
    refused("\"\\ud800\\u0041\"", 1, 14, "unpaired surrogate");
    refused("\"\xff\"", 1, 2, "invalid UTF-8");
}

TEST(a_nul_is_no_end)
{
    CHECK_INT(json_check("1\0", 2, &err), -EINVAL);
    CHECK_INT(json_check("\"\0\"", 3, &err), -EINVAL);
    CHECK_INT(json_check("\0", 1, &err), -EINVAL);
}

TEST(depth_has_a_limit)
{
    char text[2 * JSON_DEPTH_MAX + 3];
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    CHECK_INT(json_check(text, 2 * JSON_DEPTH_MAX, &err), 0);
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    CHECK_INT(json_check(text, 2 * JSON_DEPTH_MAX + 2, &err), -EINVAL);
    CHECK_STR(err.why, "nested too deeply");
}

TEST(compacting_takes_blanks_between_words_and_none_in_strings)
{
    static const char text[] = " {\"a b\" :\t[1 ,\r\n 2 ], \"c \\\" d\" : \"\\\\\" , \"e\": null } \n";
    BUF_AUTO out = BUF_INIT(1000);
    CHECK_INT(check(text), 0);
    json_compact(text, sizeof text - 1, &out);
    CHECK_STR(buf_string(&out), "{\"a b\":[1,2],\"c \\\" d\":\"\\\\\",\"e\":null}");
}
