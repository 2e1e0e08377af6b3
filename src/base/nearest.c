#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 63

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

size_t nearest_distance(const char *a, const char *b)
{
    const size_t a_len = strlen(a);
    const size_t b_len = strlen(b);
    size_t row[WORD_MAX + 1];

    if (a_len > WORD_MAX || b_len > WORD_MAX)
        return SIZE_MAX;
    for (size_t k = 0; k <= b_len; k++)
        row[k] = k;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b_len; k++) {
            size_t above = row[k];
            row[k] = least(above + 1, row[k - 1] + 1, diagonal + (a[i - 1] != b[k - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

const char *nearest_word(const char *wrong, const char *const *first, size_t count, size_t stride)
{
    const char *best = NULL;
    const size_t letters = strlen(wrong + strspn(wrong, "-"));
    size_t best_distance = letters < 4 ? 2 : letters / 4 + 2; /* further away is another word, not a slip */
    for (size_t i = 0; i < count; i++) {
        const char *name = *(const char *const *)(const void *)((const char *)first + i * stride);
        size_t distance = nearest_distance(wrong, name);
        if (distance < best_distance && distance * 2 <= strlen(name)) { /* "ro" is in many words */
            best_distance = distance;
            best = name;
        }
    }
    return best;
}
