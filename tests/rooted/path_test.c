#include "rooted/path.h"

#include "harness.h"

static const char *const aliases[] = {"/root", "/home/user"};
static const struct path_rules rules = {
    .home_aliases = aliases,
    .home_alias_count = 2,
    .scratch_alias = "/scratch",
    .has_rootfs = true};

static void maps(const struct path_rules *r, const char *request, enum path_base base,
                 const char *name)
{
    struct path_mapped m;
    CHECK_INT(path_map(r, request, &m), 0);
    if (m.base != base || strcmp(m.name, name) != 0)
        test_fail(__FILE__, __LINE__, "%s maps to %d \"%s\"", request, m.base, m.name);
    CHECK_INT(m.len, strlen(name));
}

TEST(maps_relative_paths_to_the_home)
{
    maps(&rules, "a", PATH_HOME, "a");
    maps(&rules, "scratch/x", PATH_HOME, "scratch/x");
    maps(&rules, "", PATH_HOME, "");
    maps(&rules, "a//b/./c/", PATH_HOME, "a/b/c");
}

TEST(resolves_dots_lexically_and_stops_at_the_top)
{
    maps(&rules, "..", PATH_HOME, "");
    maps(&rules, "a/../..", PATH_HOME, "");
    maps(&rules, "link/../a", PATH_HOME, "a");
    maps(&rules, "../../etc/passwd", PATH_HOME, "etc/passwd");
    maps(&rules, "/root/../x", PATH_ROOTFS, "x");
    maps(&rules, "...", PATH_HOME, "...");
    maps(&rules, "a..b/..c", PATH_HOME, "a..b/..c");
}

TEST(matches_aliases_by_whole_components)
{
    maps(&rules, "/root", PATH_HOME, "");
    maps(&rules, "//root//x", PATH_HOME, "x");
    maps(&rules, "/rootx", PATH_ROOTFS, "rootx");
    maps(&rules, "/home/user/a", PATH_HOME, "a");
    maps(&rules, "/home/username", PATH_ROOTFS, "home/username");
    maps(&rules, "/scratch/a", PATH_SCRATCH, "a");
    maps(&rules, "/scratchy", PATH_ROOTFS, "scratchy");
    maps(&rules, "/etc/passwd", PATH_ROOTFS, "etc/passwd");
    maps(&rules, "/", PATH_ROOTFS, "");
}

TEST(sends_absolute_paths_home_without_a_rootfs)
{
    struct path_rules none = rules;
    none.has_rootfs = false;
    maps(&none, "/etc/passwd", PATH_HOME, "etc/passwd");
    maps(&none, "/tmp", PATH_HOME, "tmp");
    maps(&none, "/scratch/a", PATH_SCRATCH, "a");
}

TEST(refuses_what_is_too_long)
{
    char request[PATH_MAX + 10];
    struct path_mapped m;
    memset(request, 'x', sizeof request);
    request[sizeof request - 1] = '\0';
    CHECK_INT(path_map(&rules, request, &m), -ENAMETOOLONG);
    request[PATH_MAX - 1] = '\0';
    CHECK_INT(path_map(&rules, request, &m), -ENAMETOOLONG);
    request[PATH_MAX - 2] = '\0';
    CHECK_INT(path_map(&rules, request, &m), 0);
}

TEST(shows_names_as_the_caller_writes_them)
{
    char out[64];
    struct path_mapped m;
    path_display(out, sizeof out, &rules, PATH_HOME, "a/b");
    CHECK_STR(out, "a/b");
    path_display(out, sizeof out, &rules, PATH_SCRATCH, "");
    CHECK_STR(out, "/scratch");
    path_display(out, sizeof out, &rules, PATH_ROOTFS, "a");
    CHECK_STR(out, "/a");
    path_map(&rules, "/root/x", &m);
    path_in_style(out, sizeof out, &rules, &m, "y");
    CHECK_STR(out, "/root/y");
    path_in_style(out, sizeof out, &rules, &m, "");
    CHECK_STR(out, "/root");
    path_map(&rules, "/scratch//x", &m);
    path_in_style(out, sizeof out, &rules, &m, "y");
    CHECK_STR(out, "/scratch/y");
}

static void leads(const char *from, const char *to, const char *want)
{
    char out[64];
    path_relative(out, sizeof out, from, to);
    CHECK_STR(out, want);
}

TEST(writes_the_text_of_links)
{
    leads("", "a", "a");
    leads("", "dir/a", "dir/a");
    leads("dir", "dir/a.txt", "a.txt");
    leads("dir", "a", "../a");
    leads("x/y", "x/z", "../z");
    leads("x/y", "xx/z", "../../xx/z");
    leads("ab", "a", "../a");
    leads("a", "ab", "../ab");
    leads("a/b", "", "../..");
    leads("a/b", "a", "..");
    leads("a", "a", ".");
    leads("", "", ".");
}
