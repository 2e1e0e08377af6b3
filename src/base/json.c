#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Where the reader is: one a level, on the stack of read_container(). */
struct frame {
    const struct frame *up;
    const char *key; /* NULL: an element of a list, or a key that is not read yet */
    bool object;
    size_t index;
};

struct reader {
    const struct frame *top;
    struct arena *arena;
    const char *p;
    const char *end;
    const char *line_start;
    uint32_t line;
    unsigned max_depth;
    struct json_error *err;
};

/* Appends "/key", escaped; stops where the room ends. */
static void point_to_key(struct json_error *err, const char *key)
{
    size_t n = strlen(err->pointer);
    const size_t most = sizeof err->pointer - 3;
    if (n < most)
        err->pointer[n++] = '/';
    for (; *key != '\0' && n < most; key++) {
        const bool escaped = *key == '~' || *key == '/';
        if (escaped)
            err->pointer[n++] = '~';
        err->pointer[n++] = !escaped ? *key : *key == '~' ? '0' : '1';
    }
    err->pointer[n] = '\0';
}

static void point_to(struct json_error *err, const struct frame *frame)
{
    char index[24];
    if (frame == NULL)
        return;
    point_to(err, frame->up); /* outermost first; as deep as the document */
    snprintf(index, sizeof index, "%zu", frame->index);
    if (frame->key != NULL || !frame->object)
        point_to_key(err, frame->object ? frame->key : index);
}

static int fail(struct reader *r, const char *at, const char *why)
{
    r->err->pointer[0] = '\0';
    point_to(r->err, r->top);
    r->err->line = r->line;
    r->err->col = (uint32_t)(at - r->line_start) + 1;
    r->err->why = why;
    return -EINVAL;
}

static void skip_blanks(struct reader *r)
{
    for (; r->p < r->end; r->p++) {
        if (*r->p == '\n') {
            r->line++;
            r->line_start = r->p + 1;
        } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
            return;
        }
    }
}

static int hex4(struct reader *r, const char *p, uint32_t *out)
{
    uint32_t value = 0;
    if (r->end - p < 4)
        return fail(r, p, "truncated \\u escape");
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit > 15)
            return fail(r, p + i, "bad \\u escape");
        value = value << 4 | digit;
    }
    *out = value;
    return 0;
}

static size_t encode_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* At a backslash; writes 1 to 4 bytes. */
static int unescape(struct reader *r, char *out, size_t *out_len)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *start = r->p++;
    if (r->p == r->end)
        return fail(r, start, "unterminated string");

    const char *simple = *r->p != '\0' ? strchr(from, *r->p) : NULL;
    if (simple != NULL) {
        *out = to[simple - from];
        *out_len = 1;
        r->p++;
        return 0;
    }
    if (*r->p != 'u')
        return fail(r, start, "unknown escape");
    uint32_t c = 0;
    int rc = hex4(r, ++r->p, &c);
    if (rc < 0)
        return rc;
    r->p += 4;
    if (c >= 0xdc00 && c <= 0xdfff)
        return fail(r, start, "unpaired surrogate");
    if (c >= 0xd800 && c <= 0xdbff) {
        uint32_t low = 0;
        if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u')
            return fail(r, start, "unpaired surrogate");
        rc = hex4(r, r->p + 2, &low);
        if (rc < 0)
            return rc;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(r, start, "unpaired surrogate");
        r->p += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    if (c == 0)
        return fail(r, start, "NUL in a string");
    *out_len = encode_utf8(c, out);
    return 0;
}

static int read_string(struct reader *r, const char **text, size_t *len)
{
    const char *start = r->p++;
    const char *close = r->p;
    while (close < r->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= r->end)
        return fail(r, start, "unterminated string");

    /* An escape never decodes to more bytes than it is written with. */
    char *out = arena_alloc(r->arena, (size_t)(close - r->p) + 1);
    if (out == NULL)
        return fail(r, start, "document too large");
    size_t n = 0;
    while (*r->p != '"') {
        size_t unit = 0;
        if (*r->p == '\\') {
            int rc = unescape(r, out + n, &unit);
            if (rc < 0)
                return rc;
        } else {
            if ((unsigned char)*r->p < 0x20)
                return fail(r, r->p, *r->p == '\0' ? "NUL in a string" : "control character in a string");
            unit = text_utf8(r->p, (size_t)(r->end - r->p));
            if (unit == 0)
                return fail(r, r->p, "invalid UTF-8");
            memcpy(out + n, r->p, unit);
            r->p += unit;
        }
        n += unit;
    }
    r->p++;
    out[n] = '\0';
    *text = out;
    *len = n;
    return 0;
}

static bool is_digit(const struct reader *r)
{
    return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

#define EXPONENT_MOST 700

/* The value of a number that is known to be well-formed; strtod() would obey the locale. */
static double to_real(const char *s)
{
    double value = 0;
    int exponent = 0;
    bool negative = *s == '-';
    bool fraction = false;
    for (s += negative; (*s >= '0' && *s <= '9') || *s == '.'; s++) {
        if (*s == '.') {
            fraction = true;
            continue;
        }
        value = value * 10 + (*s - '0');
        exponent -= fraction;
    }
    if (*s == 'e' || *s == 'E') {
        bool down = s[1] == '-';
        int e = 0;
        for (s += s[1] == '-' || s[1] == '+' ? 2 : 1; *s != '\0'; s++)
            e = e < 10000 ? e * 10 + (*s - '0') : e;
        exponent += down ? -e : e;
    }
    /* The digits make 0, or 1 and more: further away the value is 0, or too large, in any case. */
    exponent = exponent > EXPONENT_MOST ? EXPONENT_MOST : exponent < -EXPONENT_MOST ? -EXPONENT_MOST : exponent;
    for (; exponent > 0 && value < 1e300; exponent--)
        value *= 10;
    for (; exponent < 0 && value > 0; exponent++)
        value /= 10;
    return negative ? -value : value;
}

static int skip_digits(struct reader *r)
{
    if (!is_digit(r))
        return fail(r, r->p, "expected a digit");
    while (is_digit(r))
        r->p++;
    return 0;
}

/* What makes an integer a real: digits behind a point, an exponent. */
static int skip_fraction(struct reader *r, struct json *out)
{
    int rc = 0;
    if (r->p < r->end && *r->p == '.') {
        out->type = JSON_REAL;
        r->p++;
        rc = skip_digits(r);
    }
    if (rc == 0 && r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        out->type = JSON_REAL;
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
            r->p++;
        rc = skip_digits(r);
    }
    return rc;
}

/* The digits at `p`; false if they are more than 64 bits hold, with this sign. */
static bool to_integer(const char *p, const char *end, bool negative, int64_t *out)
{
    uint64_t value = 0;
    for (; p < end; p++) {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    }
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return value <= (uint64_t)INT64_MAX + negative;
}

static int read_number(struct reader *r, struct json *out)
{
    const char *start = r->p;
    const bool negative = *r->p == '-';
    r->p += negative;
    const char *first = r->p;
    int rc = skip_digits(r);
    if (rc < 0)
        return rc;
    const char *end = r->p;
    if (*first == '0' && end - first > 1)
        return fail(r, first, "leading zero");
    out->type = JSON_INT;
    rc = skip_fraction(r, out);
    if (rc < 0)
        return rc;
    out->len = (size_t)(r->p - start);
    out->text = arena_strndup(r->arena, start, out->len);
    if (out->text == NULL)
        return fail(r, start, "document too large");
    out->real = to_real(out->text);
    if (out->type == JSON_INT && !to_integer(first, end, negative, &out->integer))
        return fail(r, start, "number out of range");
    return 0;
}

/* By name, and those of one name as they stand in the text. */
static int compare_keys(const void *a, const void *b)
{
    const struct json *one = *(const struct json *const *)a;
    const struct json *other = *(const struct json *const *)b;
    const int names = strcmp(one->key, other->key);
    if (names != 0)
        return names;
    if (one->key_line != other->key_line)
        return one->key_line < other->key_line ? -1 : 1;
    return (one->key_col > other->key_col) - (one->key_col < other->key_col);
}

/* By sorting: a table could be given names that all want the same place. */
static int refuse_duplicates(struct reader *r, const struct json *object)
{
    enum { FEW = 12 }; /* as most have */
    const struct json *few[FEW];
    const struct json **members = object->count <= FEW ? few : arena_array(r->arena, object->count, sizeof(const struct json *));
    size_t n = 0;
    if (members == NULL)
        return fail(r, r->p, "document too large");
    for (const struct json *m = object->first; m != NULL; m = m->next)
        members[n++] = m;
    qsort(members, n, sizeof(const struct json *), compare_keys);
    for (size_t i = 1; i < n; i++) {
        const struct json *m = members[i];
        if (strcmp(members[i - 1]->key, m->key) != 0)
            continue;
        fail(r, r->p, "duplicate key");
        point_to_key(r->err, m->key);
        r->err->line = m->key_line;
        r->err->col = m->key_col;
        return -EINVAL;
    }
    return 0;
}

static int read_value(struct reader *r, struct json *out, unsigned depth);

static int read_key(struct reader *r, struct json *child)
{
    size_t len = 0;
    if (r->p == r->end || *r->p != '"')
        return fail(r, r->p, "expected a key in double quotes");
    child->key_line = r->line;
    child->key_col = (uint32_t)(r->p - r->line_start) + 1;
    int rc = read_string(r, &child->key, &len);
    if (rc < 0)
        return rc;
    skip_blanks(r);
    if (r->p == r->end || *r->p != ':')
        return fail(r, r->p, "expected ':'");
    r->p++;
    skip_blanks(r);
    return 0;
}

static int read_container(struct reader *r, struct json *out, unsigned depth)
{
    const bool object = *r->p == '{';
    const char close = object ? '}' : ']';
    struct json **tail = &out->first;
    struct frame frame = {.up = r->top, .object = object};

    if (depth >= r->max_depth)
        return fail(r, r->p, "nested too deeply");
    out->type = object ? JSON_OBJECT : JSON_ARRAY;
    r->p++;
    skip_blanks(r);
    if (r->p < r->end && *r->p == close) {
        r->p++;
        return 0;
    }
    for (;;) {
        struct json *child = arena_alloc(r->arena, sizeof *child);
        if (child == NULL)
            return fail(r, r->p, "document too large");
        int rc = object ? read_key(r, child) : 0;
        if (rc < 0)
            return rc;
        frame.key = child->key;
        frame.index = out->count;
        r->top = &frame;
        rc = read_value(r, child, depth + 1);
        r->top = frame.up;
        if (rc < 0)
            return rc;
        *tail = child;
        tail = &child->next;
        out->count++;

        skip_blanks(r);
        if (r->p == r->end || (*r->p != ',' && *r->p != close))
            return fail(r, r->p, object ? "expected ',' or '}'" : "expected ',' or ']'");
        if (*r->p++ == close)
            return object ? refuse_duplicates(r, out) : 0;
        skip_blanks(r);
    }
}

static int read_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(r->end - r->p) < len || memcmp(r->p, word, len) != 0)
        return fail(r, r->p, "expected a JSON value");
    r->p += len;
    return 0;
}

/* Recursion is bounded by max_depth, at most JSON_DEPTH_MAX frames of some hundred bytes. */
static int read_value(struct reader *r, struct json *out, unsigned depth)
{
    out->line = r->line;
    out->col = (uint32_t)(r->p - r->line_start) + 1;
    if (r->p == r->end)
        return fail(r, r->p, "unexpected end of the document");
    switch (*r->p) {
    case '{':
    case '[':
        return read_container(r, out, depth);
    case '"':
        out->type = JSON_STRING;
        return read_string(r, &out->text, &out->len);
    case 't':
    case 'f':
        out->type = JSON_BOOL;
        out->boolean = *r->p == 't';
        return read_word(r, out->boolean ? "true" : "false");
    case 'n':
        out->type = JSON_NULL;
        return read_word(r, "null");
    default:
        if (*r->p == '-' || is_digit(r))
            return read_number(r, out);
        return fail(r, r->p, "expected a JSON value");
    }
}

const struct json *json_parse(struct arena *arena, const char *text, size_t len,
                              const struct json_limits *limits, struct json_error *err)
{
    struct reader r = {.arena = arena,
                       .p = text,
                       .end = text + len,
                       .line_start = text,
                       .line = 1,
                       .max_depth = limits->max_depth,
                       .err = err};
    if (len > limits->max_bytes) {
        fail(&r, text, "document too large");
        return NULL;
    }
    struct json *root = arena_alloc(arena, sizeof *root);
    if (root == NULL) {
        fail(&r, text, "document too large");
        return NULL;
    }
    skip_blanks(&r);
    if (read_value(&r, root, 0) < 0)
        return NULL;
    skip_blanks(&r);
    if (r.p != r.end) {
        fail(&r, r.p, "text after the end of the document");
        return NULL;
    }
    return root;
}

const struct json *json_get(const struct json *object, const char *key)
{
    for (const struct json *m = object->first; m != NULL; m = m->next) {
        if (m->key != NULL && strcmp(m->key, key) == 0)
            return m;
    }
    return NULL;
}

const char *json_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean",  [JSON_INT] = "an integer",
        [JSON_REAL] = "a number",   [JSON_STRING] = "a string", [JSON_ARRAY] = "a list",
        [JSON_OBJECT] = "an object",
    };
    return names[type];
}
