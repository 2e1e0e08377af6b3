#include "backend/bwrap_find.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../harness.h"

static char top[64];

static const char *in(const char *name)
{
    static char paths[8][PATH_MAX];
    static unsigned n;
    char *path = paths[n++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", top, name);
    return path;
}

static void make(const char *name, mode_t mode)
{
    FILE *f = fopen(in(name), "w");
    CHECK(f != NULL);
    fclose(f);
    CHECK_INT(chmod(in(name), mode), 0);
}

static void begin(void)
{
    strcpy(top, "/tmp/bwrap-find-XXXXXX");
    CHECK(test_directory(top) != NULL);
    CHECK_INT(mkdir(in("a"), 0755), 0);
    CHECK_INT(mkdir(in("b"), 0755), 0);
}

static void end(void)
{
    static const char *const files[] = {"a/bwrap", "b/bwrap", "b/other", "a", "b", ""};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        (void)!remove(in(files[i]));
}

/* Looks in the caller's own directory "a", by PATH alone. */
static int find(struct bwrap_found *out)
{
    return bwrap_find_in(out, NULL, 0, in("a"));
}

TEST(takes_the_callers_own_file_from_path_and_says_that_it_is_not_trusted)
{
    struct bwrap_found f;
    begin();
    CHECK_INT(find(&f), -ENOENT);
    CHECK(f.why == NULL);
    make("a/bwrap", 0755);
    CHECK_INT(find(&f), 0);
    CHECK(!f.trusted);
    CHECK(strcmp(f.path, in("a/bwrap")) == 0);
    end();
}

TEST(passes_over_what_others_can_write)
{
    static const struct {
        const char *name;
        mode_t mode, good;
    } cases[] = {{"a/bwrap", 0757, 0755}, {"a/bwrap", 0775, 0755}, {"a", 0777, 0755}, {"a", 0775, 0755}};
    struct bwrap_found f;
    begin();
    make("a/bwrap", 0755);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(chmod(in(cases[i].name), cases[i].mode), 0);
        CHECK_INT(find(&f), -ENOENT);
        CHECK(f.path[0] == '\0');
        CHECK(strcmp(f.refused, in("a/bwrap")) == 0);
        CHECK(strstr(f.why, "writable by others") != NULL);
        CHECK_INT(chmod(in(cases[i].name), cases[i].good), 0);
        CHECK_INT(find(&f), 0);
    }
    end();
}

TEST(sees_where_a_link_leads)
{
    struct bwrap_found f;
    begin();
    make("b/other", 0755);
    CHECK_INT(symlink("../b/other", in("a/bwrap")), 0);
    CHECK_INT(find(&f), 0);
    CHECK(strcmp(f.path, in("b/other")) == 0);
    CHECK_INT(chmod(in("b"), 0777), 0);
    CHECK_INT(find(&f), -ENOENT);
    end();
}

TEST(gives_up_on_a_ring_of_links)
{
    struct bwrap_found f;
    begin();
    CHECK_INT(symlink("bwrap", in("a/bwrap")), 0);
    CHECK_INT(find(&f), -ENOENT);
    end();
}

TEST(needs_a_file_that_can_be_executed)
{
    struct bwrap_found f;
    begin();
    make("a/bwrap", 0644);
    CHECK_INT(find(&f), -ENOENT);
    CHECK(strcmp(f.why, "it is not executable") == 0);
    CHECK_INT(remove(in("a/bwrap")), 0);
    CHECK_INT(mkdir(in("a/bwrap"), 0755), 0);
    CHECK_INT(find(&f), -ENOENT);
    CHECK(strcmp(f.why, "it is not a file") == 0);
    end();
}

TEST(prefers_a_trusted_place_and_never_looks_in_relative_ones)
{
    struct bwrap_found f;
    begin();
    make("a/bwrap", 0755);
    make("b/bwrap", 0755);
    const char *trusted[] = {in("b/bwrap")};
    CHECK_INT(bwrap_find_in(&f, trusted, 1, in("a")), 0);
    /* Only root's own files are trusted; anybody else's file there is passed over. */
    CHECK(f.trusted == (geteuid() == 0));
    CHECK(strcmp(f.path, geteuid() == 0 ? in("b/bwrap") : in("a/bwrap")) == 0);
    CHECK_INT(chdir(in("a")), 0);
    CHECK_INT(bwrap_find_in(&f, NULL, 0, ".::"), -ENOENT);
    CHECK_INT(bwrap_find_in(&f, NULL, 0, NULL), -ENOENT);
    CHECK_INT(chdir("/"), 0);
    end();
}

TEST(trusts_only_places_that_root_fills)
{
    for (size_t i = 0; i < BWRAP_TRUSTED_COUNT; i++) {
        const char *path = bwrap_trusted_paths[i];
        CHECK(strncmp(path, "/run/", 5) == 0 || strncmp(path, "/nix/var/", 9) == 0 ||
              strncmp(path, "/usr/", 5) == 0);
    }
}
