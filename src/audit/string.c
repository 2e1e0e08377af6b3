/* What the text of a Python string means. */
#include <string.h>

#include "audit/lexer.h"

struct decoder {
    char *out;
    size_t used, size;
    bool whole;
};

static void put(struct decoder *d, unsigned code)
{
    char bytes[4];
    size_t n = 1;
    if (code < 0x80) {
        bytes[0] = (char)code;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
        n = 2;
    } else {
        bytes[0] = (char)(0xe0 | (code >> 12 & 0xf));
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
        n = 3;
    }
    if (d->used + n >= d->size) {
        d->whole = false;
        return;
    }
    memcpy(d->out + d->used, bytes, n);
    d->used += n;
}

static void put_byte(struct decoder *d, char c)
{
    if (d->used + 1 >= d->size)
        d->whole = false;
    else
        d->out[d->used++] = c;
}

static int digit(char c, unsigned base)
{
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return v < (int)base ? v : -1;
}

/* Up to `most` digits from `p` on; how many there were. */
static size_t number(const char *p, const char *end, size_t most, unsigned base, unsigned *value)
{
    size_t n = 0;
    for (*value = 0; n < most && p + n < end && digit(p[n], base) >= 0; n++)
        *value = *value * base + (unsigned)digit(p[n], base);
    return n;
}

/* `p` is behind the backslash; where the text goes on. */
static const char *escape(struct decoder *d, const char *p, const char *end)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *simple = strchr(from, *p);
    unsigned value;
    if (*p == '\r' && p + 1 < end && p[1] == '\n')
        p++;
    if (*p == '\n')
        return p + 1;
    if (simple != NULL && *p != '\0') {
        put_byte(d, to[simple - from]);
        return p + 1;
    }
    size_t n = number(p, end, 3, 8, &value);
    if (n > 0) {
        put(d, value);
        return p + n;
    }
    const size_t most = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    n = most == 0 ? 0 : number(p + 1, end, most, 16, &value);
    if (n > 0 && n == most && value < 0x10000) {
        put(d, value);
        return p + 1 + n;
    }
    put_byte(d, '\\'); /* means itself */
    return p;
}

static void decode(struct decoder *d, const char *p, const char *end, bool raw, bool fields)
{
    while (p < end) {
        if (*p == '\\' && !raw && p + 1 < end) {
            p = escape(d, p + 1, end);
        } else if (fields && (*p == '{' || *p == '}')) {
            if (p + 1 >= end || p[1] != *p) {
                d->whole = false; /* what follows depends on the program */
                return;
            }
            put_byte(d, *p);
            p += 2;
        } else {
            put_byte(d, *p++);
        }
    }
}

static bool prefixed(const struct lexer *lexer, const struct token *t, const char *letters)
{
    for (uint32_t i = 0; i < t->prefix; i++) {
        if (strchr(letters, lexer->text[t->at + i]) != NULL)
            return true;
    }
    return false;
}

uint32_t lexer_string_from(const struct lexer *lexer, uint32_t i, uint32_t skip, char *out,
                           size_t size, bool *whole)
{
    struct decoder d = {.out = out, .size = size, .whole = true};
    for (; lexer->tokens[i].kind == TOKEN_STRING; i++) {
        const struct token *t = &lexer->tokens[i];
        const char *p = lexer->text + t->at + t->prefix + t->quotes;
        const char *end = lexer->text + t->at + t->len;
        const uint32_t head = (uint32_t)t->prefix + t->quotes;
        if (t->len >= head + t->quotes && end[-1] == p[-1])
            end -= t->quotes; /* else it has no end */
        p += skip;
        skip = 0;
        if (d.whole && p < end)
            decode(&d, p, end, prefixed(lexer, t, "rR"), prefixed(lexer, t, "fFtT"));
    }
    out[d.used] = '\0';
    *whole = d.whole;
    return i;
}

uint32_t lexer_string(const struct lexer *lexer, uint32_t i, char *out, size_t size, bool *whole)
{
    return lexer_string_from(lexer, i, 0, out, size, whole);
}
