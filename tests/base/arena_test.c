#include "base/arena.h"

#include <stdint.h>

#include "../harness.h"

TEST(arena_memory_is_zeroed_and_aligned)
{
    struct arena a = ARENA_INIT(1 << 20);
    for (size_t size = 1; size < 300; size += 7) {
        unsigned char *p = arena_alloc(&a, size);
        CHECK(p != NULL);
        CHECK_INT((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            CHECK_INT(p[i], 0);
        memset(p, 0xff, size);
    }
    arena_free(&a);
}

TEST(arena_stops_at_its_cap)
{
    struct arena a = ARENA_INIT(64 * 1024);
    size_t got = 0;
    while (arena_alloc(&a, 4096) != NULL)
        got += 4096;
    CHECK(got > 0 && got <= 64 * 1024);
    CHECK(arena_alloc(&a, SIZE_MAX) == NULL);
    CHECK(arena_array(&a, SIZE_MAX / 2, 16) == NULL);
    arena_free(&a);
    CHECK(arena_alloc(&a, 4096) != NULL); /* freed means usable again */
    arena_free(&a);
}

TEST(arena_strings_are_copies)
{
    struct arena a = ARENA_INIT(1 << 20);
    char text[] = "abc";
    char *copy = arena_strdup(&a, text);
    char *part = arena_strndup(&a, text, 2);
    text[0] = 'x';
    CHECK_STR(copy, "abc");
    CHECK_STR(part, "ab");
    CHECK_STR(arena_printf(&a, "%s-%d", copy, 7), "abc-7");
    char *const list[] = {text, part, NULL};
    char **both = arena_strings(&a, list);
    text[0] = 'y';
    CHECK_STR(both[0], "xbc");
    CHECK_STR(both[1], "ab");
    CHECK(both[2] == NULL);
    arena_free(&a);
}
