#include "base/json_check.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

struct scan {
    const char *p;
    const char *end;
    const char *why; /* with p at the place */
};

static bool fail(struct scan *s, const char *why)
{
    s->why = why;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct scan *s)
{
    while (s->p < s->end && is_blank(*s->p))
        s->p++;
}

/* The next byte; NUL, which stands nowhere in JSON, at the end. */
static char peek(const struct scan *s)
{
    return s->p < s->end ? *s->p : '\0';
}

static bool is_digit(const struct scan *s)
{
    return peek(s) >= '0' && peek(s) <= '9';
}

static bool digits(struct scan *s)
{
    if (!is_digit(s))
        return fail(s, "expected a digit");
    while (is_digit(s))
        s->p++;
    return true;
}

static bool number(struct scan *s)
{
    if (peek(s) == '-')
        s->p++;
    const bool zero = peek(s) == '0';
    const char *first = s->p;
    if (!digits(s))
        return false;
    if (zero && s->p - first > 1)
        return fail(s, "leading zero");
    if (peek(s) == '.') {
        s->p++;
        if (!digits(s))
            return false;
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->p++;
        if (peek(s) == '+' || peek(s) == '-')
            s->p++;
        return digits(s);
    }
    return true;
}

/* Behind "\u"; 0x10000: not four hex digits. */
static unsigned unit(struct scan *s)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++, s->p++) {
        static const char hex[] = "0123456789abcdef";
        const char c = peek(s);
        const char *found = c == '\0' ? NULL : strchr(hex, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
        if (found == NULL)
            return 0x10000;
        value = value << 4 | (unsigned)(found - hex);
    }
    return value;
}

static bool escape(struct scan *s)
{
    s->p++;
    const char c = peek(s);
    if (c == '\0' || strchr("\"\\/bfnrtu", c) == NULL)
        return fail(s, "unknown escape");
    s->p++;
    if (c != 'u')
        return true;
    const unsigned first = unit(s);
    if (first > 0xffff)
        return fail(s, "bad \\u escape");
    if (first < 0xd800 || first > 0xdfff)
        return true;
    /* Half a character: no reader knows what to make of it. */
    if (first > 0xdbff || s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u')
        return fail(s, "unpaired surrogate");
    s->p += 2;
    const unsigned second = unit(s);
    return (second >= 0xdc00 && second <= 0xdfff) || fail(s, "unpaired surrogate");
}

static bool string(struct scan *s)
{
    for (s->p++; s->p < s->end && *s->p != '"';) {
        const unsigned char c = (unsigned char)*s->p;
        size_t len = 1;
        if (c == '\\') {
            if (!escape(s))
                return false;
            continue;
        }
        if (c < 0x20)
            return fail(s, "control character in a string");
        if (c >= 0x80)
            len = text_utf8(s->p, (size_t)(s->end - s->p));
        if (len == 0)
            return fail(s, "invalid UTF-8");
        s->p += len;
    }
    if (s->p == s->end)
        return fail(s, "unterminated string");
    s->p++;
    return true;
}

static bool word(struct scan *s, const char *text)
{
    const size_t len = strlen(text);
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, text, len) != 0)
        return fail(s, "expected a JSON value");
    s->p += len;
    return true;
}

static bool key(struct scan *s)
{
    if (peek(s) != '"')
        return fail(s, "expected a key in double quotes");
    if (!string(s))
        return false;
    skip_blanks(s);
    if (peek(s) != ':')
        return fail(s, "expected ':'");
    s->p++;
    skip_blanks(s);
    return true;
}

static bool value(struct scan *s, unsigned depth);

static bool container(struct scan *s, unsigned depth)
{
    const bool object = *s->p == '{';
    const char close = object ? '}' : ']';
    if (depth >= JSON_DEPTH_MAX)
        return fail(s, "nested too deeply");
    s->p++;
    skip_blanks(s);
    if (peek(s) == close) {
        s->p++;
        return true;
    }
    for (;;) {
        if ((object && !key(s)) || !value(s, depth + 1))
            return false;
        skip_blanks(s);
        const char next = peek(s);
        if (next != ',' && next != close)
            return fail(s, object ? "expected ',' or '}'" : "expected ',' or ']'");
        s->p++;
        if (next == close)
            return true;
        skip_blanks(s);
    }
}

/* Recursion is bounded by JSON_DEPTH_MAX. */
static bool value(struct scan *s, unsigned depth)
{
    switch (peek(s)) {
    case '{':
    case '[':
        return container(s, depth);
    case '"':
        return string(s);
    case 't':
        return word(s, "true");
    case 'f':
        return word(s, "false");
    case 'n':
        return word(s, "null");
    default:
        if (is_digit(s) || peek(s) == '-')
            return number(s);
        return fail(s, s->p == s->end ? "unexpected end of the text" : "expected a JSON value");
    }
}

int json_check(const char *text, size_t len, struct json_error *err)
{
    if (len == 0)
        text = ""; /* an empty buffer's is NULL */
    struct scan s = {.p = text, .end = text + len};
    skip_blanks(&s);
    bool good = value(&s, 0);
    if (good) {
        skip_blanks(&s);
        good = s.p == s.end || fail(&s, "text after the end of the value");
    }
    if (good)
        return 0;
    *err = (struct json_error){.line = 1, .col = 1, .why = s.why};
    for (const char *p = text; p < s.p; p++) {
        err->col = *p == '\n' ? 1 : err->col + 1;
        err->line += *p == '\n';
    }
    return -EINVAL;
}

void json_compact(const char *text, size_t len, struct buf *out)
{
    const char *end = text + len;
    bool quoted = false;
    while (text < end) {
        const char *start = text;
        for (; text < end && (quoted || !is_blank(*text)); text++) {
            if (*text == '\\')
                text++; /* only in a string, and never last */
            else if (*text == '"')
                quoted = !quoted;
        }
        buf_append(out, start, (size_t)(text - start));
        for (; text < end && is_blank(*text); text++) {
        }
    }
}
