/*
 * Memory that is freed at once: policies, plans and documents live in one arena each. A byte cap
 * is part of the type, so no input can make cordon eat the machine.
 */
#pragma once

#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* owned; newest first */
    char *next;                 /* free space in the newest chunk */
    size_t room;
    size_t used; /* bytes taken from the system so far */
    size_t max;
};

#define ARENA_INIT(max_bytes) ((struct arena){.max = (max_bytes)})

/* Begins in `memory`, an array that outlives it; the cap counts what comes after. */
#define ARENA_IN(memory, max_bytes) \
    ((struct arena){.next = (memory), .room = sizeof(memory), .max = (max_bytes)})

/* Zeroed memory, aligned for any type; NULL if the cap or the system says no. */
void *arena_alloc(struct arena *a, size_t size);

/* `count` elements of `size` bytes; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t count, size_t size);

char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_strdup(struct arena *a, const char *s);
char **arena_strings(struct arena *a, char *const *list); /* a copy of all, up to and with the NULL at the end */
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *a, const char *fmt, ...);

void arena_free(struct arena *a);
