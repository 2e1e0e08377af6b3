#include "rooted/remember.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define MINUTE UINT64_C(60000)
#define MEGABYTE ((size_t)1000 * 1000)

static struct path_mapped named(const char *name)
{
    struct path_mapped path = {.base = PATH_HOME, .prefix = ""};
    snprintf(path.name, sizeof path.name, "%s", name);
    path.len = strlen(path.name);
    return path;
}

static void put(struct remember *r, const char *name, const char *data, size_t len, uint64_t now)
{
    const struct path_mapped path = named(name);
    remember_put(r, &path, data, len, now);
}

static bool has(struct remember *r, const char *name, uint64_t now)
{
    const struct path_mapped path = named(name);
    size_t len = 0;
    return remember_get(r, &path, now, &len) != NULL;
}

static bool seen(struct remember *r, const char *name, const char *data, uint64_t now)
{
    const struct path_mapped path = named(name);
    return remember_seen(r, &path, data, strlen(data), now);
}

TEST(keeps_the_last_content_of_each_place)
{
    struct remember r = {0};
    size_t len = 0;
    struct path_mapped path = named("a");
    put(&r, "a", "one", 3, 1);
    put(&r, "a", "second", 6, 2);
    const char *content = remember_get(&r, &path, 3, &len); /* bytes, with no end but their number */
    CHECK(content != NULL && len == 6 && memcmp(content, "second", 6) == 0);
    path.base = PATH_SCRATCH; /* the same name elsewhere is another place */
    CHECK(remember_get(&r, &path, 3, &len) == NULL);
    CHECK(!has(&r, "b", 3));
    remember_free(&r);
}

TEST(forgets_after_five_minutes)
{
    struct remember r = {0};
    put(&r, "a", "x", 1, 1000);
    CHECK(has(&r, "a", 1000 + 5 * MINUTE));
    CHECK(!has(&r, "a", 1001 + 5 * MINUTE));
    CHECK_INT(r.bytes, 0);
    remember_free(&r);
}

TEST(knows_what_was_there_in_the_last_fifteen_seconds)
{
    struct remember r = {0};
    put(&r, "a", "old", 3, 1000);
    put(&r, "a", "new", 3, 9000);
    CHECK(seen(&r, "a", "old", 16000) && seen(&r, "a", "new", 16000));
    CHECK(!seen(&r, "a", "old", 16001) && seen(&r, "a", "new", 16001));
    CHECK(!seen(&r, "a", "other", 9000) && !seen(&r, "b", "new", 9000));
    remember_free(&r);
}

TEST(holds_fifty_megabytes_and_drops_what_was_used_least_recently)
{
    struct remember r = {0};
    char *data = calloc(1, 20 * MEGABYTE);
    CHECK(data != NULL);
    put(&r, "a", data, 20 * MEGABYTE, 1);
    put(&r, "b", data, 20 * MEGABYTE, 2);
    CHECK(has(&r, "a", 3)); /* used again: now b is the oldest */
    put(&r, "c", data, 20 * MEGABYTE, 4);
    CHECK(has(&r, "a", 5) && !has(&r, "b", 5) && has(&r, "c", 5));
    CHECK(r.bytes <= 50 * MEGABYTE);
    for (int i = 0; i < 20; i++) /* one place counts once, however often it is put */
        put(&r, "c", data, 20 * MEGABYTE, 6);
    CHECK(has(&r, "a", 7));
    free(data);
    data = calloc(1, 51 * MEGABYTE);
    CHECK(data != NULL);
    put(&r, "d", data, 51 * MEGABYTE, 8);
    CHECK(!has(&r, "d", 9) && r.bytes == 0);
    free(data);
    remember_free(&r);
}
