#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (16 * 1024)
#define ALIGN _Alignof(max_align_t)

struct arena_chunk {
    struct arena_chunk *older;
    _Alignas(ALIGN) char data[];
};

static int grow(struct arena *a, size_t size)
{
    size_t bytes = sizeof(struct arena_chunk) + (size > CHUNK_BYTES ? size : CHUNK_BYTES);
    if (size > a->max || bytes > a->max - a->used)
        return -1;
    struct arena_chunk *chunk = malloc(bytes);
    if (chunk == NULL)
        return -1;
    chunk->older = a->chunks;
    a->chunks = chunk;
    a->next = chunk->data;
    a->room = bytes - sizeof *chunk;
    a->used += bytes;
    return 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (rounded > a->room && grow(a, rounded) < 0)
        return NULL;
    void *p = a->next;
    a->next += rounded;
    a->room -= rounded;
    return memset(p, 0, rounded); /* here, so that the rest of the chunk is not touched */
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return arena_alloc(a, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
    if (len == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(a, len + 1);
    if (copy != NULL && len > 0)
        memcpy(copy, s, len);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char **arena_strings(struct arena *a, char *const *list)
{
    size_t count = 0;
    while (list[count] != NULL)
        count++;
    char **copy = arena_array(a, count + 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = arena_strdup(a, list[i]);
        if (copy[i] == NULL)
            return NULL;
    }
    return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    char most[128]; /* nearly all fit: formatted once */
    va_list args;
    va_list again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(most, sizeof most, fmt, args);
    va_end(args);
    char *out = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (out != NULL && (size_t)n < sizeof most)
        memcpy(out, most, (size_t)n + 1);
    else if (out != NULL)
        vsnprintf(out, (size_t)n + 1, fmt, again);
    va_end(again);
    return out;
}

void arena_free(struct arena *a)
{
    while (a->chunks != NULL) {
        struct arena_chunk *older = a->chunks->older;
        free(a->chunks);
        a->chunks = older;
    }
    *a = ARENA_INIT(a->max);
}
