/* Writing JSON. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* By hand, like the numbers below: a policy is written for its digest in every run that has a document. */
static void new_line(const struct json_writer *w)
{
    const size_t len = 1 + (size_t)w->depth * w->indent;
    char *room = w->out->failed ? NULL : buf_reserve(w->out, len);
    if (room == NULL)
        return;
    memset(room, ' ', len);
    room[0] = '\n';
    w->out->len += len;
}

/* Comma, newline and indentation before whatever comes next. */
static void separate(struct json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (!w->first)
        buf_append(w->out, ",", 1);
    w->first = false;
    if (w->indent > 0 && w->depth > 0)
        new_line(w);
}

void json_begin(struct json_writer *w, char bracket)
{
    separate(w);
    buf_append(w->out, &bracket, 1);
    w->depth++;
    w->first = true;
}

void json_end(struct json_writer *w, char bracket)
{
    bool empty = w->first;
    w->depth--;
    w->first = false;
    if (w->indent > 0 && !empty)
        new_line(w);
    buf_append(w->out, &bracket, 1);
}

static bool needs_nothing(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* All of it as it is; false: something has to be escaped. */
static bool put_plain(struct buf *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!needs_nothing((unsigned char)data[i]))
            return false;
    }
    char *room = out->failed ? NULL : buf_reserve(out, len + 2);
    if (room == NULL)
        return true;
    room[0] = room[len + 1] = '"';
    memcpy(room + 1, data, len);
    out->len += len + 2;
    return true;
}

static void put_bytes(struct buf *out, const char *data, size_t len)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    static const char hex[] = "0123456789abcdef";
    size_t plain = 0; /* start of a run that needs no change */

    if (put_plain(out, data, len)) /* nearly always */
        return;
    buf_append(out, "\"", 1);
    for (size_t i = 0; i < len;) {
        const unsigned char c = (unsigned char)data[i];
        if (needs_nothing(c)) {
            i++;
            continue;
        }
        const size_t unit = text_utf8(data + i, len - i);
        if (unit > 1) {
            i += unit;
            continue;
        }
        buf_append(out, data + plain, i - plain);
        if (unit == 0)
            buf_puts(out, replacement);
        else if (c == '"' || c == '\\')
            buf_append(out, (char[]){'\\', (char)c}, 2);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c == '\t')
            buf_puts(out, "\\t");
        else if (c == '\r')
            buf_puts(out, "\\r");
        else
            buf_append(out, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
        plain = ++i;
    }
    buf_append(out, data + plain, len - plain);
    buf_append(out, "\"", 1);
}

void json_key(struct json_writer *w, const char *key)
{
    separate(w);
    put_bytes(w->out, key, strlen(key));
    buf_puts(w->out, w->indent > 0 ? ": " : ":");
    w->after_key = true;
}

void json_null(struct json_writer *w)
{
    separate(w);
    buf_puts(w->out, "null");
}

void json_bool(struct json_writer *w, bool value)
{
    separate(w);
    buf_puts(w->out, value ? "true" : "false");
}

static void put_number(struct json_writer *w, bool negative, uint64_t size)
{
    char text[sizeof "-18446744073709551615"];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + size % 10);
        size /= 10;
    } while (size > 0);
    if (negative)
        text[--at] = '-';
    separate(w);
    buf_append(w->out, text + at, sizeof text - at);
}

void json_int(struct json_writer *w, int64_t value)
{
    put_number(w, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_uint(struct json_writer *w, uint64_t value)
{
    put_number(w, false, value);
}

void json_bytes(struct json_writer *w, const char *data, size_t len)
{
    separate(w);
    put_bytes(w->out, data, len);
}

void json_base64(struct json_writer *w, const char *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    separate(w);
    buf_append(w->out, "\"", 1);
    for (size_t i = 0; i < len; i += 3) {
        char four[4];
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < len ? (unsigned char)data[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            four[k] = i + k > len ? '=' : digits[bits >> (18 - 6 * k) & 63];
        buf_append(w->out, four, sizeof four);
    }
    buf_append(w->out, "\"", 1);
}

void json_string(struct json_writer *w, const char *text)
{
    if (text == NULL)
        json_null(w);
    else
        json_bytes(w, text, strlen(text));
}

void json_raw(struct json_writer *w, const char *text, size_t len)
{
    separate(w);
    buf_append(w->out, text, len);
}

void json_value(struct json_writer *w, const struct json *value)
{
    switch (value->type) {
    case JSON_NULL:
        json_null(w);
        return;
    case JSON_BOOL:
        json_bool(w, value->boolean);
        return;
    case JSON_INT:
    case JSON_REAL:
        json_raw(w, value->text, value->len);
        return;
    case JSON_STRING:
        json_bytes(w, value->text, value->len);
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        json_begin(w, value->type == JSON_OBJECT ? '{' : '[');
        for (const struct json *c = value->first; c != NULL; c = c->next) {
            if (value->type == JSON_OBJECT)
                json_key(w, c->key);
            json_value(w, c);
        }
        json_end(w, value->type == JSON_OBJECT ? '}' : ']');
        return;
    }
}

void json_put_string(struct json_writer *w, const char *key, const char *text)
{
    json_key(w, key);
    json_string(w, text);
}

void json_put_int(struct json_writer *w, const char *key, int64_t value)
{
    json_key(w, key);
    json_int(w, value);
}

void json_put_uint(struct json_writer *w, const char *key, uint64_t value)
{
    json_key(w, key);
    json_uint(w, value);
}

void json_put_bool(struct json_writer *w, const char *key, bool value)
{
    json_key(w, key);
    json_bool(w, value);
}
