/* Making, removing, renaming and listing names. */
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/temporary.h"

EVERYWHERE(makes_and_removes_directories)
{
    WORKS(f, cordon_root_mkdir(f->root, at(form, "d"), false, 0777, &f->err));
    FAILS(f, cordon_root_mkdir(f->root, at(form, "d"), false, 0777, &f->err), "EEXIST");
    WORKS(f, cordon_root_mkdir(f->root, at(form, "d"), true, 0777, &f->err));
    FAILS(f, cordon_root_mkdir(f->root, at(form, "x/y"), false, 0777, &f->err), "ENOENT");
    WORKS(f, cordon_root_mkdir(f->root, at(form, "x/y/z"), true, 0700, &f->err));
    struct stat st;
    CHECK(stat(host(f, form, "x/y/z"), &st) == 0 && (st.st_mode & 0777) == 0700);
    host_write(host(f, form, "file"), "");
    FAILS(f, cordon_root_mkdir(f->root, at(form, "file"), true, 0777, &f->err), "EEXIST");
    FAILS(f, cordon_root_mkdir(f->root, at(form, "file/x"), true, 0777, &f->err), "ENOTDIR");
    FAILS(f, cordon_root_mkdir(f->root, at(form, ""), false, 0777, &f->err), "EEXIST");
    WORKS(f, cordon_root_mkdir(f->root, at(form, ""), true, 0777, &f->err));
    FAILS(f, cordon_root_rmdir(f->root, at(form, "x"), false, &f->err), "ENOTEMPTY");
    FAILS(f, cordon_root_rmdir(f->root, at(form, "file"), false, &f->err), "ENOTDIR");
    FAILS(f, cordon_root_rmdir(f->root, at(form, "q"), false, &f->err), "ENOENT");
    FAILS(f, cordon_root_rmdir(f->root, at(form, ""), true, &f->err), "EPERM");
    WORKS(f, cordon_root_rmdir(f->root, at(form, "d"), false, &f->err));
    WORKS(f, cordon_root_rmdir(f->root, at(form, "x"), true, &f->err));
    CHECK(!host_exists(host(f, form, "x")));
}

EVERYWHERE(removes_files_lists_and_trees)
{
    host_write(host(f, form, "a"), "");
    host_mkdir(host(f, form, "d"));
    host_mkdir(host(f, form, "d/e"));
    host_write(host(f, form, "d/e/x"), "");
    host_symlink(outside(f, "dir"), host(f, form, "d/e/out"));
    host_symlink("..", host(f, form, "d/e/up"));
    WORKS(f, rm(f, at(form, "a"), false, false));
    FAILS(f, rm(f, at(form, "d"), false, false), "ERR_FS_EISDIR");
    CHECK_STR(f->err.message, text("Path is a directory: rm returned EISDIR (is a directory) %sd",
                                   form->shown));
    CHECK_INT(f->err.errnum, 21);
    WORKS(f, rm(f, at(form, "d"), true, false));
    CHECK(!host_exists(host(f, form, "d")));
    WORKS(f, rm(f, at(form, "d"), true, true));
    FAILS(f, rm(f, at(form, ""), true, true), "EPERM");
    FAILS(f, rm(f, at(form, ".."), true, true), "EPERM");
    host_write(host(f, form, "1"), "");
    host_write(host(f, form, "2"), "");
    const char *both[] = {at(form, "1"), at(form, "2")};
    WORKS(f, cordon_root_rm(f->root, both, 2, NULL, &f->err));
    CHECK(!host_exists(host(f, form, "1")) && !host_exists(host(f, form, "2")));
    WORKS(f, cordon_root_rm(f->root, both, 0, NULL, &f->err));
    /* One that is missing does not keep the others; the first that fails is told. */
    host_write(host(f, form, "2"), "");
    host_mkdir(host(f, form, "full"));
    const char *some[] = {at(form, "1"), at(form, "full"), at(form, "2")};
    FAILS(f, cordon_root_rm(f->root, some, 3, NULL, &f->err), "ENOENT");
    CHECK_STR(f->err.path, text("%s1", form->shown));
    CHECK(!host_exists(host(f, form, "2")) && host_exists(host(f, form, "full")));
    host_mkdir(host(f, form, "d"));
    FAILS(f, cordon_root_unlink(f->root, at(form, "d"), &f->err), "EISDIR");
    FAILS(f, cordon_root_unlink(f->root, at(form, "q"), &f->err), "ENOENT");
    host_write(host(f, form, "a"), "");
    WORKS(f, cordon_root_unlink(f->root, at(form, "a"), &f->err));
    CHECK(!host_exists(host(f, form, "a")));
}

/* A directory that may not be searched: what is in it is not known to be missing. */
TEST(tells_what_it_cannot_see_from_what_is_missing)
{
    if (geteuid() == 0 && (setgid(1500) < 0 || setuid(1500) < 0))
        test_skip("cannot become an ordinary user");
    FOR_EACH_MODE(flags)
    {
        struct fixture f;
        fixture_open(&f, flags | CORDON_ROOT_ALLOW_HARDLINK);
        host_mkdir(host(&f, forms, "d"));
        host_write(host(&f, forms, "d/x"), "X");
        CHECK(chmod(host(&f, forms, "d"), 0600) == 0);
        FAILS(&f, rm(&f, "d/x", false, true), "EACCES");
        FAILS(&f, rm(&f, "d/x", false, false), "EACCES");
        FAILS(&f, cordon_root_move(f.root, "d/x", "y", false, &f.err), "EACCES");
        FAILS(&f, cordon_root_link(f.root, "d/x", "y", &f.err), "EACCES");
        FAILS(&f, cordon_root_cp(f.root, "d/x", "y", NULL, &f.err), "EACCES");
        CHECK(chmod(host(&f, forms, "d"), 0700) == 0);
        CHECK_HOST(host(&f, forms, "d/x"), "X");
        fixture_close(&f);
    }
}

EVERYWHERE(renames_and_moves)
{
    host_write(host(f, form, "a"), "A");
    host_write(host(f, form, "b"), "B");
    host_mkdir(host(f, form, "d"));
    WORKS(f, cordon_root_rename(f->root, at(form, "a"), at(form, "b"), &f->err));
    CHECK_HOST(host(f, form, "b"), "A");
    FAILS(f, cordon_root_rename(f->root, at(form, "b"), at(form, "d"), &f->err), "EISDIR");
    FAILS(f, cordon_root_rename(f->root, at(form, "d"), at(form, "b"), &f->err), "ENOTDIR");
    FAILS(f, cordon_root_rename(f->root, at(form, "d"), at(form, "d/x"), &f->err), "EINVAL");
    WORKS(f, cordon_root_move(f->root, at(form, "b"), at(form, "d/e/f/b"), false, &f->err));
    CHECK_HOST(host(f, form, "d/e/f/b"), "A");
    host_write(host(f, form, "c"), "C");
    FAILS(f, cordon_root_move(f->root, at(form, "c"), at(form, "d/e/f/b"), false, &f->err),
          "EEXIST");
    CHECK_STR(f->err.message, "dest already exists.");
    CHECK_HOST(host(f, form, "d/e/f/b"), "A");
    FAILS(f, cordon_root_move(f->root, at(form, "c"), at(form, "d/e"), false, &f->err), "EEXIST");
    WORKS(f, cordon_root_move(f->root, at(form, "c"), at(form, "d/e/f/b"), true, &f->err));
    CHECK_HOST(host(f, form, "d/e/f/b"), "C");
    FAILS(f, cordon_root_move(f->root, at(form, "d"), at(form, "d/new/x"), false, &f->err),
          "EINVAL");
    CHECK_STR(f->err.message,
              text("Cannot move '%sd' to a subdirectory of itself, '%sd/new/x'.", form->shown,
                   form->shown));
    CHECK(!host_exists(host(f, form, "d/new")));
    FAILS(f, cordon_root_move(f->root, at(form, "q"), at(form, "r"), false, &f->err), "ENOENT");
    CHECK_STR(f->err.syscall, "lstat");
    /* A full directory is replaced in one step. */
    host_mkdir(host(f, form, "full"));
    host_write(host(f, form, "full/x"), "old");
    WORKS(f, cordon_root_move(f->root, at(form, "d"), at(form, "full"), true, &f->err));
    CHECK_HOST(host(f, form, "full/e/f/b"), "C");
    CHECK(!host_exists(host(f, form, "d")));
    FAILS(f, cordon_root_rename(f->root, at(form, ""), at(form, "x"), &f->err), "EPERM");
}

/* The destination would take the source along: overwriting it would leave neither. */
EVERYWHERE(replaces_no_directory_by_what_lies_in_it)
{
    host_mkdir(host(f, form, "d"));
    host_mkdir(host(f, form, "d/e"));
    host_mkdir(host(f, form, "d/e/sub"));
    host_write(host(f, form, "d/e/sub/x"), "X");
    host_write(host(f, form, "d/file"), "F");
    host_symlink("d/e", host(f, form, "l"));
    static const char *const sources[] = {"d/e", "d/file", "d/e/sub/x", "l/sub"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        FAILS(f, cordon_root_move(f->root, at(form, sources[i]), at(form, "d"), true, &f->err), "ENOTEMPTY");
        CHECK_HOST(host(f, form, "d/e/sub/x"), "X");
        CHECK_HOST(host(f, form, "d/file"), "F");
    }
    WORKS(f, cordon_root_move(f->root, at(form, "d"), at(form, "d"), true, &f->err));
    CHECK_HOST(host(f, form, "d/file"), "F");
}

EVERYWHERE(takes_no_file_for_its_own_that_only_begins_alike)
{
    static const char *const names[] = {".cordon-tmp-", ".cordon-tmp-notes", ".cordon-tmp-0123456789ABCDEF",
                                        ".cordon-tmp-0123456789abcdef0"};
    const struct cordon_root_cp_options o = {.size = sizeof o, .recursive = true};
    struct cordon_root_entries l;
    host_mkdir(host(f, form, "d"));
    for (size_t i = 0; i < 4; i++)
        host_write(host(f, form, text("d/%s", names[i])), "mine");
    temporary_left_behind_seconds = -1;
    WORKS(f, cordon_root_get_listing(f->root, at(form, "d"), &l, &f->err));
    CHECK_INT(l.count, 4);
    cordon_root_entries_free(&l);
    WORKS(f, cordon_root_cp(f->root, at(form, "d"), at(form, "e"), &o, &f->err));
    for (size_t i = 0; i < 4; i++) {
        CHECK_HOST(host(f, form, text("d/%s", names[i])), "mine");
        CHECK_HOST(host(f, form, text("e/%s", names[i])), "mine");
    }
    FAILS(f, cordon_root_rmdir(f->root, at(form, "d"), false, &f->err), "ENOTEMPTY");
}

EVERYWHERE(lists_directories)
{
    host_write(host(f, form, "b.txt"), "12");
    host_mkdir(host(f, form, "dir"));
    host_write(host(f, form, "dir/in"), "");
    host_symlink("b.txt", host(f, form, "link"));
    host_write(host(f, form, "\xf0\x9f\x94\xa5"), "");
    host_write(host(f, form, "bad\xff"), "");
    mkfifo(host(f, form, "pipe"), 0600);
    host_write(host(f, form, ".cordon-tmp-0123456789abcdef"), "being written");
    struct cordon_root_entries l;
    WORKS(f, cordon_root_readdir(f->root, at(form, ""), false, &l, &f->err));
    static const char *const names[] = {"b.txt", "bad\xff", "dir", "link", "pipe",
                                        "\xf0\x9f\x94\xa5"};
    static const char types[] = "ffdlpf";
    CHECK_INT(l.count, 6);
    for (size_t i = 0; i < 6; i++) {
        CHECK_STR(l.entries[i].name, names[i]);
        CHECK_INT(l.entries[i].type, types[i]);
    }
    cordon_root_entries_free(&l);
    WORKS(f, cordon_root_readdir(f->root, at(form, ""), true, &l, &f->err));
    CHECK_INT(l.count, 7);
    CHECK_STR(l.entries[3].name, "dir/in");
    CHECK_STR(l.entries[3].parent, text("%sdir", form->shown));
    cordon_root_entries_free(&l);
    WORKS(f, cordon_root_get_listing(f->root, at(form, ""), &l, &f->err));
    CHECK_INT(l.count, 6);
    for (size_t i = 0; i < l.count; i++) {
        if (strcmp(l.entries[i].name, "link") == 0)
            CHECK_STR(l.entries[i].link_target, "b.txt");
        if (strcmp(l.entries[i].name, "b.txt") == 0)
            CHECK_INT(l.entries[i].size, 2);
        CHECK(l.entries[i].mtime_ms > 1e12);
    }
    cordon_root_entries_free(&l);
    WORKS(f, cordon_root_readdir(f->root, at(form, ".."), false, &l, &f->err));
    /* ".." of an alias or of the scratch is lexical: it leads to the rootfs. */
    CHECK(l.count == 6 || form == &forms[1] || form == &forms[2]);
    cordon_root_entries_free(&l);
}
