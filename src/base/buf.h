/*
 * Growable bytes with a maximum. A failed append is remembered: write a whole document, then look
 * at `failed` once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* owned, unless it is lent; not terminated */
    size_t len;
    size_t cap;
    size_t max;
    bool failed; /* something did not fit or memory ran out; the content is incomplete */
    bool lent;   /* the data is the caller's array, until that is too small */
};

#define BUF_INIT(max_bytes) ((struct buf){.max = (max_bytes)})
/* Begins in an array: what is usually short needs no memory of its own. */
#define BUF_IN(array, max_bytes) ((struct buf){.data = (array), .cap = sizeof(array), .max = (max_bytes), .lent = true})

void buf_append(struct buf *b, const void *data, size_t len);
void buf_puts(struct buf *b, const char *text);
__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *b, const char *fmt, ...);

/* Room for `len` more bytes, to be filled by the caller, who then adds to `len`; NULL on failure. */
char *buf_reserve(struct buf *b, size_t len);

/* The content as a string; NULL on failure. Owned by the buffer. */
const char *buf_string(struct buf *b);

void buf_free(struct buf *b);
#define BUF_AUTO __attribute__((cleanup(buf_free))) struct buf
