/* "Did you mean": the known word nearest to one that is not known. */
#pragma once

#include <stddef.h>

/* How many letters to insert, delete or change; words beyond 63 bytes are infinitely far. */
size_t nearest_distance(const char *a, const char *b);

/*
 * The first of the best of `count` words that is near enough to be meant, or NULL. The words may
 * sit in a table of structs: `first` is the address of the first one, `stride` an entry's size.
 */
const char *nearest_word(const char *wrong, const char *const *first, size_t count, size_t stride);
