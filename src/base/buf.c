#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *buf_reserve(struct buf *b, size_t len)
{
    if (len > b->max || b->len > b->max - len) {
        b->failed = true;
        return NULL;
    }
    if (b->len + len > b->cap) {
        size_t cap = b->cap < 256 ? 256 : b->cap * 2;
        if (cap < b->len + len)
            cap = b->len + len;
        char *data = realloc(b->lent ? NULL : b->data, cap);
        if (data == NULL) {
            b->failed = true;
            return NULL;
        }
        if (b->lent)
            memcpy(data, b->data, b->len);
        b->lent = false;
        b->data = data;
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    if (len == 0 || b->failed)
        return;
    char *room = buf_reserve(b, len);
    if (room != NULL) {
        memcpy(room, data, len);
        b->len += len;
    }
}

void buf_puts(struct buf *b, const char *text)
{
    buf_append(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_list again;
    va_start(args, fmt);
    va_copy(again, args);
    const size_t left = b->failed ? 0 : b->cap - b->len;
    const int n = vsnprintf(left > 0 ? b->data + b->len : NULL, left, fmt, args);
    va_end(args);
    char *room = n < 0 || b->failed ? NULL : buf_reserve(b, (size_t)n + 1);
    if (room != NULL) {
        if ((size_t)n >= left)
            vsnprintf(room, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

const char *buf_string(struct buf *b)
{
    char *end = b->failed ? NULL : buf_reserve(b, 1);
    if (end == NULL)
        return NULL;
    *end = '\0';
    return b->data;
}

void buf_free(struct buf *b)
{
    if (!b->lent)
        free(b->data);
    *b = BUF_INIT(b->max);
}
