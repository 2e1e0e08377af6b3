#include "base/glob.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../harness.h"

static struct arena arena = {.max = 1u << 20};

static bool matches(const char *pattern, const char *path)
{
    struct glob g;
    CHECK_INT(glob_compile(&g, &arena, pattern), 0);
    glob_states states = glob_begin(&g);
    const char *last = strrchr(path, '/');
    char above[256] = "";
    if (last != NULL)
        snprintf(above, sizeof above, "%.*s", (int)(last - path), path);
    return !glob_follow(&g, &states, above) && glob_step(&g, &states, last == NULL ? path : last + 1);
}

TEST(two_stars_are_any_number_of_components_none_too)
{
    CHECK(matches("**/.env", ".env"));
    CHECK(matches("**/.env", "a/b/c/.env"));
    CHECK(!matches("**/.env", "a/x.env"));
    CHECK(matches("a/**/b/*.pem", "a/b/k.pem"));
    CHECK(matches("a/**/b/*.pem", "a/b/b/x/b/k.pem"));
    CHECK(!matches("a/**/b/*.pem", "a/b/x/k.pem"));
    CHECK(matches("a/**", "a/x"));
    CHECK(!matches("a/**", "a"));
}

TEST(one_star_stays_in_its_component)
{
    CHECK(matches("/srv/*/key", "srv/in/key"));
    CHECK(!matches("/srv/*/key", "srv/in/a/key"));
    CHECK(matches("/srv/[ab]?", "srv/ax"));
    CHECK(matches("/srv/a\\*", "srv/a*"));
    CHECK(!matches("/srv/a\\*", "srv/ab"));
}

TEST(what_matched_ends_the_way_down)
{
    struct glob g;
    CHECK_INT(glob_compile(&g, &arena, "/srv/in"), 0);
    glob_states states = glob_begin(&g);
    CHECK(glob_follow(&g, &states, "srv/in/deeper"));
    states = glob_begin(&g);
    CHECK(!glob_follow(&g, &states, "usr/in"));
    CHECK_INT(states, 0);
    CHECK(!g.wild);
    CHECK(!glob_must_list(&g, glob_begin(&g)));
    CHECK_INT(glob_compile(&g, &arena, "**/x"), 0);
    CHECK(g.wild && glob_must_list(&g, glob_begin(&g)));
}

TEST(a_pattern_has_a_maximum)
{
    struct glob g;
    char pattern[2 * GLOB_MAX_PARTS + 4];
    for (size_t i = 0; i < GLOB_MAX_PARTS + 1; i++)
        memcpy(pattern + 2 * i, "a/", 3);
    CHECK_INT(glob_compile(&g, &arena, pattern), -E2BIG);
    pattern[(size_t)2 * GLOB_MAX_PARTS] = '\0';
    CHECK_INT(glob_compile(&g, &arena, pattern), 0);
}

TEST(entering_a_path_counts_its_end_alone)
{
    struct arena room = {.max = 1 << 20};
    struct glob g;
    char too_long[300];
    memset(too_long, 'x', sizeof too_long);
    too_long[sizeof too_long - 1] = '\0';
    CHECK_INT(glob_compile(&g, &room, "**/in/key"), 0);
    glob_states states = glob_begin(&g);
    CHECK(!glob_enter(&g, &states, "srv//in/")); /* in the midst: the next name ends it */
    CHECK(glob_step(&g, &states, "key"));
    states = glob_begin(&g);
    CHECK(glob_enter(&g, &states, "/srv/in/key"));
    states = glob_begin(&g);
    CHECK(!glob_enter(&g, &states, "in/key/beneath"));
    states = glob_begin(&g);
    CHECK(!glob_enter(&g, &states, arena_printf(&room, "in/key/%s", too_long)));
    arena_free(&room);
}
