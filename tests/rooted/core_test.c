/* Every method in safe and unsafe mode, for every way to name a base. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

/* Runs `body` on a fresh fixture for each mode and each form. */
#define EVERYWHERE(name)                                                           \
    static void name##_body(struct fixture *f, const struct form *form, uint32_t flags); \
    TEST(name)                                                                     \
    {                                                                              \
        FOR_EACH_MODE(flags) FOR_EACH_FORM(form)                                   \
        {                                                                          \
            struct fixture f;                                                      \
            fixture_open(&f, flags);                                               \
            name##_body(&f, form, flags);                                          \
            fixture_close(&f);                                                     \
        }                                                                          \
    }                                                                              \
    static void name##_body(struct fixture *f, const struct form *form,            \
                            uint32_t flags __attribute__((unused)))

static int write_text(struct fixture *f, const char *path, const char *content)
{
    return cordon_root_write_file(f->root, path, content, strlen(content), false, &f->err);
}

static int append_text(struct fixture *f, const char *path, const char *content)
{
    return cordon_root_append_file(f->root, path, content, strlen(content), &f->err);
}

static bool exists(struct fixture *f, const char *path)
{
    bool there = false;
    WORKS(f, cordon_root_exists(f->root, path, &there, &f->err));
    return there;
}

static int rm(struct fixture *f, const char *path, bool recursive, bool force)
{
    const struct cordon_root_rm_options o = {.size = sizeof o, .recursive = recursive,
                                             .force = force};
    return cordon_root_rm(f->root, &path, 1, &o, &f->err);
}

EVERYWHERE(creates_reads_overwrites_and_appends)
{
    WORKS(f, write_text(f, at(form, "a"), "hello"));
    CHECK_HOST(host(f, form, "a"), "hello");
    CHECK_CONTENT(f, at(form, "a"), "hello");
    WORKS(f, write_text(f, at(form, "a"), "x"));
    WORKS(f, append_text(f, at(form, "a"), "yz"));
    CHECK_CONTENT(f, at(form, "a"), "xyz");
    WORKS(f, append_text(f, at(form, "new"), "n"));
    CHECK_CONTENT(f, at(form, "new"), "n");
    WORKS(f, write_text(f, at(form, "empty"), ""));
    CHECK_CONTENT(f, at(form, "empty"), "");
    FAILS(f, write_text(f, at(form, "missing/a"), "x"), "ENOENT");
    FAILS(f, append_text(f, at(form, "missing/a"), "x"), "ENOENT");
}

EVERYWHERE(says_errors_as_node_does)
{
    struct cordon_root_data data;
    struct cordon_root_stat st;
    FAILS(f, cordon_root_read_file(f->root, at(form, "q"), 0, &data, &f->err), "ENOENT");
    CHECK_STR(f->err.message, text("ENOENT: no such file or directory, open '%sq'", form->shown));
    CHECK_INT(f->err.errnum, -2);
    CHECK_STR(f->err.path, text("%sq", form->shown));
    CHECK_STR(f->err.syscall, "open");
    FAILS(f, cordon_root_stat(f->root, at(form, "q"), &st, &f->err), "ENOENT");
    CHECK_STR(f->err.message, text("ENOENT: no such file or directory, stat '%sq'", form->shown));
    FAILS(f, cordon_root_chmod(f->root, at(form, "q"), 0644, &f->err), "ENOENT");
    CHECK_STR(f->err.syscall, "open");
    FAILS(f, cordon_root_rename(f->root, at(form, "q"), at(form, "r"), &f->err), "ENOENT");
    CHECK_STR(f->err.message, text("ENOENT: no such file or directory, rename '%sq' -> '%sr'",
                                   form->shown, form->shown));
    FAILS(f, rm(f, at(form, "q"), false, false), "ENOENT");
    CHECK_STR(f->err.syscall, "lstat");

    host_write(host(f, form, "file"), "x");
    FAILS(f, cordon_root_read_file(f->root, at(form, "file/x"), 0, &data, &f->err), "ENOTDIR");
    CHECK_STR(f->err.syscall, "realpath");
    FAILS(f, write_text(f, at(form, "file/x"), "y"), "ENOTDIR");
    CHECK_STR(f->err.syscall, "realpath");
    host_mkdir(host(f, form, "dir"));
    FAILS(f, cordon_root_read_file(f->root, at(form, "dir"), 0, &data, &f->err), "EISDIR");
    CHECK_STR(f->err.message, "EISDIR: illegal operation on a directory, read");
    CHECK(!f->err.has_path);
    FAILS(f, write_text(f, at(form, "dir"), "y"), "EISDIR");
    FAILS(f, append_text(f, at(form, "dir"), "y"), "EISDIR");
    FAILS(f, cordon_root_truncate(f->root, at(form, "dir"), 0, &f->err), "EISDIR");
    FAILS(f, cordon_root_truncate(f->root, at(form, "q"), 0, &f->err), "ENOENT");
    struct cordon_root_entries list;
    FAILS(f, cordon_root_readdir(f->root, at(form, "q"), false, &list, &f->err), "ENOENT");
    CHECK_STR(f->err.syscall, "scandir");
    FAILS(f, cordon_root_readdir(f->root, at(form, "file"), false, &list, &f->err), "ENOTDIR");
    CHECK_STR(f->err.syscall, "scandir");
    FAILS(f, cordon_root_get_listing(f->root, at(form, "q"), &list, &f->err), "ENOENT");
    CHECK_STR(f->err.syscall, "opendir");
    FAILS(f, cordon_root_readlink(f->root, at(form, "file"), &data, &f->err), "EINVAL");
    CHECK(!exists(f, at(form, "file/x")));
    CHECK(!exists(f, at(form, "q")));
    char name[300];
    memset(name, 'n', sizeof name);
    name[299] = '\0';
    FAILS(f, write_text(f, at(form, name), ""), "ENAMETOOLONG");
}

EVERYWHERE(changes_metadata)
{
    struct cordon_root_stat st;
    host_write(host(f, form, "a"), "12345");
    WORKS(f, cordon_root_chmod(f->root, at(form, "a"), 0755, &f->err));
    WORKS(f, cordon_root_stat(f->root, at(form, "a"), &st, &f->err));
    CHECK_INT(st.mode, 0100755);
    CHECK_INT(st.size, 5);
    CHECK_INT(st.type, 'f');
    CHECK_INT(st.nlink, 1);
    WORKS(f, cordon_root_utimes(f->root, at(form, "a"), 1000.25, 2000.5, &f->err));
    WORKS(f, cordon_root_stat(f->root, at(form, "a"), &st, &f->err));
    CHECK(st.atime_ms == 1000250.0 && st.mtime_ms == 2000500.0);
    CHECK(st.birthtime_ms > 1e12);
    WORKS(f, cordon_root_truncate(f->root, at(form, "a"), 3, &f->err));
    CHECK_CONTENT(f, at(form, "a"), "123");
    WORKS(f, cordon_root_truncate(f->root, at(form, "a"), 5, &f->err));
    WORKS(f, cordon_root_stat(f->root, at(form, "a"), &st, &f->err));
    CHECK_INT(st.size, 5);
    WORKS(f, cordon_root_truncate(f->root, at(form, "a"), -1, &f->err));
    CHECK_CONTENT(f, at(form, "a"), "");
    WORKS(f, cordon_root_stat(f->root, at(form, ""), &st, &f->err));
    CHECK_INT(st.type, 'd');
    WORKS(f, cordon_root_lstat(f->root, at(form, ""), &st, &f->err));
    CHECK_INT(st.type, 'd');
}

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
    host_mkdir(host(f, form, "d"));
    FAILS(f, cordon_root_unlink(f->root, at(form, "d"), &f->err), "EISDIR");
    FAILS(f, cordon_root_unlink(f->root, at(form, "q"), &f->err), "ENOENT");
    host_write(host(f, form, "a"), "");
    WORKS(f, cordon_root_unlink(f->root, at(form, "a"), &f->err));
    CHECK(!host_exists(host(f, form, "a")));
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

EVERYWHERE(copies_files)
{
    host_write(host(f, form, "a"), "A");
    chmod(host(f, form, "a"), 0750);
    WORKS(f, cordon_root_copy_file(f->root, at(form, "a"), at(form, "b"), &f->err));
    CHECK_HOST(host(f, form, "b"), "A");
    struct stat st;
    CHECK(stat(host(f, form, "b"), &st) == 0 && (st.st_mode & 07777) == 0750);
    host_write(host(f, form, "c"), "long content");
    WORKS(f, cordon_root_copy_file(f->root, at(form, "a"), at(form, "c"), &f->err));
    CHECK_HOST(host(f, form, "c"), "A");
    if (geteuid() == 0) { /* who had the file has it still */
        CHECK(chown(host(f, form, "c"), 1234, 2345) == 0);
        WORKS(f, cordon_root_copy_file(f->root, at(form, "a"), at(form, "c"), &f->err));
        CHECK(stat(host(f, form, "c"), &st) == 0 && st.st_uid == 1234 && st.st_gid == 2345);
    }
    FAILS(f, cordon_root_copy_file(f->root, at(form, "a"), at(form, "a"), &f->err), "EINVAL");
    CHECK_STR(f->err.message,
              text("Source and destination must not be the same file: '%sa'", form->shown));
    CHECK_HOST(host(f, form, "a"), "A");
    host_mkdir(host(f, form, "d"));
    FAILS(f, cordon_root_copy_file(f->root, at(form, "d"), at(form, "e"), &f->err), "EISDIR");
    CHECK_STR(f->err.syscall, "read");
    FAILS(f, cordon_root_copy_file(f->root, at(form, "a"), at(form, "d"), &f->err), "EISDIR");
    CHECK_STR(f->err.syscall, "open");
    FAILS(f, cordon_root_copy_file(f->root, at(form, "a"), at(form, "q/x"), &f->err), "ENOENT");
    CHECK_STR(f->err.path, text("%sq/x", form->shown));
}

EVERYWHERE(copies_trees)
{
    struct cordon_root_cp_options o = {.size = sizeof o};
    host_mkdir(host(f, form, "s"));
    host_mkdir(host(f, form, "s/t"));
    chmod(host(f, form, "s/t"), 0710);
    host_write(host(f, form, "s/t/x"), "X");
    host_write(host(f, form, "s/y"), "Y");
    host_symlink("t/x", host(f, form, "s/l"));
    host_symlink("nowhere", host(f, form, "s/dangling"));
    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "u"), &o, &f->err), "ERR_FS_EISDIR");
    o.recursive = true;
    WORKS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "p/q/u"), &o, &f->err));
    CHECK_HOST(host(f, form, "p/q/u/t/x"), "X");
    char link[64] = {0};
    CHECK(readlink(host(f, form, "p/q/u/l"), link, sizeof link) == 3);
    CHECK_STR(link, "t/x");
    CHECK(readlink(host(f, form, "p/q/u/dangling"), link, sizeof link) == 7);
    struct stat st;
    CHECK(stat(host(f, form, "p/q/u/t"), &st) == 0 && (st.st_mode & 07777) == 0710);
    /* Merges, and again: never p/q/u/s. */
    host_write(host(f, form, "p/q/u/extra"), "E");
    WORKS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "p/q/u"), &o, &f->err));
    CHECK(!host_exists(host(f, form, "p/q/u/s")));
    CHECK_HOST(host(f, form, "p/q/u/extra"), "E");

    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "s/t/in"), &o, &f->err),
          "ERR_FS_CP_EINVAL");
    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "s"), &o, &f->err),
          "ERR_FS_CP_EINVAL");
    FAILS(f, cordon_root_cp(f->root, at(form, "s/y"), at(form, "s/y"), &o, &f->err),
          "ERR_FS_CP_EINVAL");
    FAILS(f, cordon_root_cp(f->root, at(form, "s/y"), at(form, "p"), &o, &f->err),
          "ERR_FS_CP_NON_DIR_TO_DIR");
    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "p/q/u/y"), &o, &f->err),
          "ERR_FS_CP_DIR_TO_NON_DIR");
    FAILS(f, cordon_root_cp(f->root, at(form, "q"), at(form, "r"), &o, &f->err), "ENOENT");

    o.keep_existing = true;
    host_write(host(f, form, "s/y"), "newer");
    WORKS(f, cordon_root_cp(f->root, at(form, "s/y"), at(form, "p/q/u/y"), &o, &f->err));
    CHECK_HOST(host(f, form, "p/q/u/y"), "Y");
    o.error_on_exist = true;
    FAILS(f, cordon_root_cp(f->root, at(form, "s/y"), at(form, "p/q/u/y"), &o, &f->err),
          "ERR_FS_CP_EEXIST");
    o = (struct cordon_root_cp_options){.size = sizeof o, .recursive = true, .dereference = true};
    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "deref"), &o, &f->err), "ENOENT");
    unlink(host(f, form, "s/dangling"));
    host_remove(host(f, form, "deref"));
    WORKS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "deref"), &o, &f->err));
    CHECK(lstat(host(f, form, "deref/l"), &st) == 0 && S_ISREG(st.st_mode));
    host_symlink("..", host(f, form, "s/t/up"));
    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "deref2"), &o, &f->err), "ELOOP");
}

EVERYWHERE(copies_lists_and_preserves_times)
{
    struct cordon_root_cp_options o = {.size = sizeof o, .recursive = true,
                                       .preserve_timestamps = true};
    host_write(host(f, form, "a"), "A");
    host_mkdir(host(f, form, "s"));
    host_write(host(f, form, "s/x"), "X");
    WORKS(f, cordon_root_utimes(f->root, at(form, "a"), 1, 2, &f->err));
    const char *list[] = {at(form, "a"), at(form, "s/")};
    FAILS(f, cordon_root_cp_list(f->root, list, 2, at(form, "to"), &o, &f->err), "ENOENT");
    host_mkdir(host(f, form, "to"));
    WORKS(f, cordon_root_cp_list(f->root, list, 2, at(form, "to"), &o, &f->err));
    CHECK_HOST(host(f, form, "to/a"), "A");
    CHECK_HOST(host(f, form, "to/s/x"), "X");
    struct stat st;
    CHECK(stat(host(f, form, "to/a"), &st) == 0 && st.st_mtime == 2);
    mkfifo(host(f, form, "s/fifo"), 0600);
    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "z"), &o, &f->err), "EINVAL");
    CHECK_STR(f->err.message, text("Unsupported source file type for cp in safe mode: '%ss/fifo'",
                                   form->shown));
    FAILS(f, cordon_root_cp(f->root, at(form, "s/fifo"), at(form, "z2"), &o, &f->err), "EINVAL");
}

EVERYWHERE(keeps_sparse_files_sparse_and_copies_large_ones)
{
    int fd = open(host(f, form, "sparse"), O_WRONLY | O_CREAT, 0644);
    char block[4096];
    memset(block, 'x', sizeof block);
    CHECK(pwrite(fd, block, sizeof block, 8 << 20) == 4096 && ftruncate(fd, 32 << 20) == 0);
    close(fd);
    WORKS(f, cordon_root_copy_file(f->root, at(form, "sparse"), at(form, "copy"), &f->err));
    struct stat st;
    CHECK(stat(host(f, form, "copy"), &st) == 0 && st.st_size == 32 << 20);
    CHECK(st.st_blocks * 512 < 1 << 20);
    CHECK_INT(system(text("cmp -s %s %s", host(f, form, "sparse"), host(f, form, "copy"))), 0);
    fd = open(host(f, form, "large"), O_WRONLY | O_CREAT, 0644);
    for (int i = 0; i < 300; i++)
        CHECK(write(fd, block, sizeof block) == 4096);
    close(fd);
    WORKS(f, cordon_root_copy_file(f->root, at(form, "large"), at(form, "copy"), &f->err));
    CHECK_INT(system(text("cmp -s %s %s", host(f, form, "large"), host(f, form, "copy"))), 0);
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

EVERYWHERE(follows_links_that_stay_inside)
{
    make_escapes(f, form);
    CHECK_CONTENT(f, at(form, "good"), "inside");
    CHECK_CONTENT(f, at(form, "goodd/file"), "inside");
    CHECK_CONTENT(f, at(form, "good_abs"), "inside");
    CHECK_CONTENT(f, at(form, "goodd_abs/file"), "inside");
    WORKS(f, write_text(f, at(form, "good"), "new"));
    CHECK_HOST(host(f, form, "in/file"), "new");
    struct stat st;
    CHECK(lstat(host(f, form, "good"), &st) == 0 && S_ISLNK(st.st_mode));
    WORKS(f, write_text(f, at(form, "good_abs"), "newer"));
    CHECK_HOST(host(f, form, "in/file"), "newer");
    WORKS(f, append_text(f, at(form, "dangling"), "made"));
    CHECK_HOST(host(f, form, "in/nothing"), "made");
    unlink(host(f, form, "in/nothing"));
    WORKS(f, write_text(f, at(form, "dangling"), "made"));
    CHECK_HOST(host(f, form, "in/nothing"), "made");
    WORKS(f, cordon_root_mkdir(f->root, at(form, "goodd/sub"), false, 0777, &f->err));
    CHECK(host_exists(host(f, form, "in/sub")));
    WORKS(f, cordon_root_mkdir(f->root, at(form, "goodd_abs/sub/x"), true, 0777, &f->err));
    CHECK(host_exists(host(f, form, "in/sub/x")));
    WORKS(f, cordon_root_unlink(f->root, at(form, "good"), &f->err));
    CHECK(!host_exists(host(f, form, "good")) && host_exists(host(f, form, "in/file")));
    host_symlink("sub/../file", host(f, form, "in/dots"));
    CHECK_CONTENT(f, at(form, "in/dots"), "newer");
    host_symlink("../in/./sub/..", host(f, form, "in/dots2"));
    CHECK_CONTENT(f, at(form, "in/dots2/file"), "newer");
    struct cordon_root_data data;
    FAILS(f, cordon_root_read_file(f->root, at(form, "loop"), 0, &data, &f->err), "ELOOP");
}

EVERYWHERE(resolves_in_the_style_of_the_request)
{
    make_escapes(f, form);
    struct cordon_root_data d;
    const char *slash = form->shown[0] == '\0' && form->prefix[0] == '\0' ? "" : form->prefix;
    WORKS(f, cordon_root_realpath(f->root, at(form, "good"), &d, &f->err));
    CHECK_STR(d.data, text("%sin/file", slash));
    cordon_root_data_free(&d);
    WORKS(f, cordon_root_realpath(f->root, at(form, "goodd_abs//./"), &d, &f->err));
    CHECK_STR(d.data, text("%sin", slash));
    cordon_root_data_free(&d);
    WORKS(f, cordon_root_realpath(f->root, at(form, ""), &d, &f->err));
    CHECK_STR(d.data, form->top);
    cordon_root_data_free(&d);
    FAILS(f, cordon_root_realpath(f->root, at(form, "q"), &d, &f->err), "ENOENT");
    OUTSIDE(f, cordon_root_realpath(f->root, at(form, "esc"), &d, &f->err));
    OUTSIDE(f, cordon_root_realpath(f->root, at(form, "escd_rel/file"), &d, &f->err));
    WORKS(f, cordon_root_readlink(f->root, at(form, "good"), &d, &f->err));
    CHECK_STR(d.data, "in/file");
    cordon_root_data_free(&d);
}

EVERYWHERE(links_when_the_gates_are_open)
{
    struct cordon_root_data d;
    host_write(host(f, form, "a"), "A");
    if (flags == 0) {
        FAILS(f, cordon_root_link(f->root, at(form, "a"), at(form, "b"), &f->err), "EPERM");
        CHECK_STR(f->err.message, text("EPERM: operation not permitted in safe mode, link '%s'",
                                       at(form, "b")));
        CHECK_INT(f->err.errnum, -1);
        FAILS(f, cordon_root_symlink(f->root, at(form, "a"), at(form, "b"), &f->err), "EPERM");
        CHECK_STR(f->err.syscall, "symlink");
        f->options.flags |= CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_ALLOW_SYMLINK;
        fixture_reopen(f);
    }
    WORKS(f, cordon_root_link(f->root, at(form, "a"), at(form, "b"), &f->err));
    WORKS(f, append_text(f, at(form, "a"), "more"));
    CHECK_CONTENT(f, at(form, "b"), "Amore");
    WORKS(f, write_text(f, at(form, "a"), "in place"));
    CHECK_CONTENT(f, at(form, "b"), "in place");
    host_write(host(f, form, "source"), "copied");
    WORKS(f, cordon_root_copy_file(f->root, at(form, "source"), at(form, "a"), &f->err));
    CHECK_CONTENT(f, at(form, "b"), "copied");
    FAILS(f, cordon_root_link(f->root, at(form, "a"), at(form, "b"), &f->err), "EEXIST");
    host_mkdir(host(f, form, "dir"));
    FAILS(f, cordon_root_link(f->root, at(form, "dir"), at(form, "c"), &f->err), "EPERM");
    FAILS(f, cordon_root_link(f->root, at(form, "q"), at(form, "c"), &f->err), "ENOENT");
    WORKS(f, cordon_root_symlink(f->root, at(form, "dir/a.txt"), at(form, "dir/link"), &f->err));
    WORKS(f, cordon_root_readlink(f->root, at(form, "dir/link"), &d, &f->err));
    CHECK_STR(d.data, "a.txt");
    cordon_root_data_free(&d);
    WORKS(f, write_text(f, at(form, "dir/link"), "through"));
    CHECK_HOST(host(f, form, "dir/a.txt"), "through");
    FAILS(f, cordon_root_symlink(f->root, at(form, "a"), at(form, "dir/link"), &f->err), "EEXIST");
    const char *other = form->dir[0] == 's' ? "x" : "/scratch/x";
    OUTSIDE(f, cordon_root_symlink(f->root, other, at(form, "cross"), &f->err));
    if (flags == 0) {
        host_symlink(outside(f, "dir"), host(f, form, "escd"));
        OUTSIDE(f, cordon_root_symlink(f->root, at(form, "escd/x"), at(form, "s"), &f->err));
        OUTSIDE(f, cordon_root_symlink(f->root, at(form, "a"), at(form, "escd/x"), &f->err));
        OUTSIDE(f, cordon_root_link(f->root, at(form, "escd/file"), at(form, "s"), &f->err));
        OUTSIDE(f, cordon_root_link(f->root, at(form, "a"), at(form, "escd/x"), &f->err));
    }
}

EVERYWHERE(answers_promptly_for_what_is_not_a_file)
{
    struct cordon_root_data d;
    mkfifo(host(f, form, "fifo"), 0600);
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    strncpy(sun.sun_path, host(f, form, "sock"), sizeof sun.sun_path - 1);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(s, (const struct sockaddr *)&sun, sizeof sun) == 0);
    alarm(5);
    static const char *const names[] = {"fifo", "sock"};
    for (size_t i = 0; i < 2; i++) {
        FAILS(f, cordon_root_read_file(f->root, at(form, names[i]), 0, &d, &f->err), "EINVAL");
        FAILS(f, write_text(f, at(form, names[i]), "x"), "EINVAL");
        FAILS(f, append_text(f, at(form, names[i]), "x"), "EINVAL");
        FAILS(f, cordon_root_truncate(f->root, at(form, names[i]), 0, &f->err), "EINVAL");
        FAILS(f, cordon_root_copy_file(f->root, at(form, names[i]), at(form, "c"), &f->err),
              "EINVAL");
    }
    close(s);
}

EVERYWHERE(keeps_what_a_replaced_file_has)
{
    struct stat before, after;
    host_write(host(f, form, "a"), "old");
    chmod(host(f, form, "a"), 0640);
    bool root = geteuid() == 0;
    if (root)
        CHECK(chown(host(f, form, "a"), 1234, 2345) == 0);
    bool xattrs = setxattr(host(f, form, "a"), "user.mark", "v", 1, 0) == 0;
    stat(host(f, form, "a"), &before);
    WORKS(f, write_text(f, at(form, "a"), "new"));
    stat(host(f, form, "a"), &after);
    CHECK(before.st_ino != after.st_ino); /* replaced, not rewritten */
    CHECK_INT(after.st_mode, before.st_mode);
    CHECK(after.st_uid == before.st_uid && after.st_gid == before.st_gid);
    char value[4];
    CHECK(!xattrs || getxattr(host(f, form, "a"), "user.mark", value, sizeof value) == 1);
    /* Set-id bits go, as they do on every write. */
    chmod(host(f, form, "a"), 06755);
    WORKS(f, write_text(f, at(form, "a"), "new"));
    stat(host(f, form, "a"), &after);
    CHECK_INT(after.st_mode & 07777, 0755);
}

TEST(breaks_hard_links_in_safe_mode_with_the_gate_closed)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "old");
    CHECK(link(host(&f, forms, "a"), host(&f, forms, "b")) == 0);
    WORKS(&f, write_text(&f, "a", "new"));
    CHECK_HOST(host(&f, forms, "b"), "old");
    CHECK_HOST(host(&f, forms, "a"), "new");
    fixture_close(&f);
}

TEST(writes_in_place_where_the_directory_is_not_writable)
{
    if (geteuid() == 0 && (setgid(1500) < 0 || setuid(1500) < 0))
        test_skip("cannot become an ordinary user");
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    host_write(host(&f, forms, "d/a"), "old and long");
    host_write(host(&f, forms, "d/ro"), "x");
    chmod(host(&f, forms, "d/ro"), 0444);
    chmod(host(&f, forms, "d"), 0555);
    WORKS(&f, write_text(&f, "d/a", "new"));
    CHECK_HOST(host(&f, forms, "d/a"), "new");
    FAILS(&f, write_text(&f, "d/new", "x"), "EACCES");
    host_write(host(&f, forms, "source"), "copied");
    WORKS(&f, cordon_root_copy_file(f.root, "source", "d/a", &f.err));
    CHECK_HOST(host(&f, forms, "d/a"), "copied");
    chmod(host(&f, forms, "d"), 0755);
    FAILS(&f, write_text(&f, "d/ro", "y"), "EACCES"); /* rename could, but the mode says no */
    CHECK_HOST(host(&f, forms, "d/ro"), "x");
    /* Neither chmod nor utimes needs to read the file. */
    chmod(host(&f, forms, "d/ro"), 0);
    WORKS(&f, cordon_root_utimes(f.root, "d/ro", 1, 1, &f.err));
    WORKS(&f, cordon_root_chmod(f.root, "d/ro", 0600, &f.err));
    fixture_close(&f);
}

TEST(keeps_bases_apart)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, &forms[0], "a"), "home");
    host_write(host(&f, &forms[2], "a"), "scratch");
    host_write(host(&f, &forms[3], "a"), "rootfs");
    CHECK_CONTENT(&f, "a", "home");
    CHECK_CONTENT(&f, "/root/a", "home");
    CHECK_CONTENT(&f, "/scratch/a", "scratch");
    CHECK_CONTENT(&f, "/a", "rootfs");
    FAILS(&f, cordon_root_rename(f.root, "a", "/scratch/b", &f.err), "EXDEV");
    FAILS(&f, cordon_root_move(f.root, "a", "/scratch/b", false, &f.err), "EXDEV");
    CHECK_STR(f.err.message, "cross-base move is not supported");
    WORKS(&f, cordon_root_copy_file(f.root, "a", "/scratch/b", &f.err));
    CHECK_CONTENT(&f, "/scratch/b", "home");
    WORKS(&f, cordon_root_cp(f.root, "/scratch/a", "c", NULL, &f.err));
    CHECK_CONTENT(&f, "c", "scratch");
    /* A link from one base into another leaves its base. */
    struct cordon_root_data d;
    host_symlink(host(&f, &forms[2], "a"), host(&f, forms, "x1"));
    host_symlink("/scratch/a", host(&f, forms, "x2"));
    host_symlink("/a", host(&f, forms, "x3"));
    OUTSIDE(&f, cordon_root_read_file(f.root, "x1", 0, &d, &f.err));
    OUTSIDE(&f, cordon_root_read_file(f.root, "x2", 0, &d, &f.err));
    OUTSIDE(&f, cordon_root_read_file(f.root, "x3", 0, &d, &f.err));
    /* But an absolute link as programs inside see it is fine. */
    host_symlink("/root/a", host(&f, forms, "y1"));
    host_symlink("/scratch/a", host(&f, &forms[2], "y2"));
    host_symlink("/a", host(&f, &forms[3], "y3"));
    CHECK_CONTENT(&f, "y1", "home");
    CHECK_CONTENT(&f, "/scratch/y2", "scratch");
    CHECK_CONTENT(&f, "/y3", "rootfs");
    fixture_close(&f);
}

TEST(sends_absolute_paths_home_without_a_rootfs)
{
    struct fixture f;
    fixture_open(&f, 0);
    f.options.rootfs = NULL;
    f.options.scratch = NULL;
    fixture_reopen(&f);
    host_write(host(&f, forms, "x"), "X");
    WORKS(&f, cordon_root_copy_file(f.root, "/x", "/tmp", &f.err));
    CHECK_HOST(host(&f, forms, "tmp"), "X");
    struct cordon_root_data d;
    FAILS(&f, cordon_root_read_file(f.root, "/etc/passwd", 0, &d, &f.err), "ENOENT");
    CHECK_STR(f.err.path, "etc/passwd");
    CHECK_INT(cordon_root_read_file(f.root, "/scratch/x", 0, &d, &f.err), -EINVAL);
    CHECK_STR(f.err.message, "scratch is not mounted; cannot access absolute path '/scratch/x'");
    CHECK_STR(f.err.code, "");
    fixture_close(&f);
}

TEST(says_that_a_base_is_not_mounted_and_uses_it_when_it_appears)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_data d;
    CHECK(rmdir(f.rootfs) == 0 && rmdir(f.scratch) == 0);
    CHECK_INT(cordon_root_read_file(f.root, "/etc//x", 0, &d, &f.err), -EINVAL);
    CHECK_STR(f.err.message, "rootfs is not mounted; cannot access absolute path '/etc/x'. Start "
                             "the workspace and try again.");
    check_no_leak(&f, __FILE__, __LINE__);
    CHECK_INT(cordon_root_read_file(f.root, "/scratch/y", 0, &d, &f.err), -EINVAL);
    CHECK_STR(f.err.message, "scratch is not mounted; cannot access absolute path '/scratch/y'. "
                             "Start the workspace and try again.");
    WORKS(&f, write_text(&f, "/root/a", "still works"));
    host_mkdir(f.rootfs);
    host_mkdir(f.scratch);
    WORKS(&f, write_text(&f, "/a", "now"));
    WORKS(&f, write_text(&f, "/scratch/a", "now"));
    fixture_close(&f);
}

TEST(follows_a_base_that_is_replaced_while_it_lives)
{
    struct fixture f;
    struct cordon_root_data d;
    fixture_open(&f, 0);
    WORKS(&f, write_text(&f, "a", "first"));
    CHECK(rename(f.home, text("%s/away", f.dir)) == 0);
    FAILS(&f, cordon_root_read_file(f.root, "a", 0, &d, &f.err), "ENOENT");
    host_mkdir(f.home);
    FAILS(&f, cordon_root_read_file(f.root, "a", 0, &d, &f.err), "ENOENT");
    WORKS(&f, cordon_root_mkdir(f.root, "new", false, 0777, &f.err));
    CHECK(host_exists(host(&f, forms, "new")));
    WORKS(&f, write_text(&f, "a", "second"));
    CHECK_HOST(host(&f, forms, "a"), "second");
    CHECK_HOST(text("%s/away/a", f.dir), "first");
    host_remove(f.home);
    CHECK(rename(text("%s/away", f.dir), f.home) == 0);
    CHECK_CONTENT(&f, "a", "first");
    WORKS(&f, cordon_root_mkdir(f.root, "d", false, 0777, &f.err));
    CHECK(host_exists(host(&f, forms, "d")));
    fixture_close(&f);
}

static unsigned denials;
static char last_denial[9000];
static void on_denial(void *user, const struct cordon_root_denial *d)
{
    CHECK(user == &denials);
    denials++;
    CHECK_STR(d->mode, "safe");
    snprintf(last_denial, sizeof last_denial, "%s %s %s %s", d->method, d->path, d->code,
             d->message);
}

TEST(refuses_every_mutator_on_a_readonly_root)
{
    struct fixture f;
    fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_ALLOW_SYMLINK);
    f.options.flags |= CORDON_ROOT_READONLY;
    f.options.on_denial = on_denial;
    f.options.user = &denials;
    fixture_reopen(&f);
    host_write(host(&f, forms, "a"), "A");
    host_mkdir(host(&f, forms, "d"));
    const char *path = "/root/a";
    struct cordon_root *r = f.root;
    struct cordon_root_error *e = &f.err;
    const char *rejected = "EACCES: permission denied -- read only filesystem, open ";
#define REFUSED(call, quoted)                                    \
    do {                                                         \
        unsigned before = denials;                               \
        FAILS(&f, call, "EACCES");                               \
        CHECK_STR(f.err.message, text("%s'%s'", rejected, quoted)); \
        CHECK_INT(f.err.errnum, -13);                            \
        CHECK_STR(f.err.syscall, "open");                        \
        CHECK_INT(denials, before + 1);                          \
    } while (0)
    REFUSED(append_text(&f, path, "x"), "/root/a");
    REFUSED(write_text(&f, path, "x"), "/root/a");
    REFUSED(cordon_root_write_patch(r, path, "[]", 2, "", false, e), "/root/a");
    REFUSED(cordon_root_write_file_delta(r, path, "abc", 3, "abc", 3, 0, false, e), "/root/a");
    REFUSED(cordon_root_write_file_delta(r, path, "abc", 3, NULL, 0, 0, false, e), "/root/a");
    REFUSED(cordon_root_chmod(r, path, 0777, e), "/root/a");
    REFUSED(cordon_root_copy_file(r, path, "b", e), "b");
    REFUSED(cordon_root_cp(r, path, "b", NULL, e), "b");
    REFUSED(cordon_root_cp_list(r, &path, 1, "d", NULL, e), "d");
    REFUSED(cordon_root_link(r, path, "b", e), "b");
    REFUSED(cordon_root_symlink(r, path, "b", e), "b");
    REFUSED(cordon_root_mkdir(r, "m", false, 0777, e), "m");
    REFUSED(cordon_root_mkdir(r, "d", true, 0777, e), "d");
    REFUSED(cordon_root_move(r, path, "b", false, e), "b");
    REFUSED(cordon_root_rename(r, path, "b", e), "b");
    REFUSED(rm(&f, path, true, true), "/root/a");
    REFUSED(cordon_root_rmdir(r, "d", false, e), "d");
    REFUSED(cordon_root_truncate(r, path, 0, e), "/root/a");
    REFUSED(cordon_root_unlink(r, path, e), "/root/a");
    REFUSED(cordon_root_utimes(r, path, 1, 1, e), "/root/a");
    CHECK_CONTENT(&f, "a", "A");
    WORKS(&f, cordon_root_lock_file(r, path, 1, e));
    struct cordon_root_counters n;
    cordon_root_counters(r, &n);
    CHECK_INT(n.readonly, 20);
    CHECK_INT(n.denials, 20);
    fixture_close(&f);
}

TEST(reports_each_denial_once)
{
    struct fixture f;
    fixture_open(&f, 0);
    f.options.on_denial = on_denial;
    f.options.user = &denials;
    fixture_reopen(&f);
    make_escapes(&f, forms);
    struct cordon_root_data d;
    OUTSIDE(&f, cordon_root_read_file(f.root, "/root/esc", 0, &d, &f.err));
    CHECK_INT(denials, 1);
    CHECK_STR(last_denial, "readFile /root/esc EACCES realpath of '/root/esc' resolves to a path "
                           "outside of sandbox");
    CHECK_INT(cordon_root_read_file(f.root, "esc", 0, &d, NULL), -EACCES);
    CHECK_INT(denials, 2);
    FAILS(&f, cordon_root_read_file(f.root, "q", 0, &d, &f.err), "ENOENT");
    CHECK_INT(denials, 2);
    struct cordon_root_counters n;
    cordon_root_counters(f.root, &n);
    CHECK(n.calls == 3 && n.failures == 3 && n.denials == 2 && n.outside == 2);
    f.options.flags = CORDON_ROOT_UNSAFE;
    fixture_reopen(&f);
    WORKS(&f, cordon_root_read_file(f.root, "esc", 0, &d, &f.err));
    cordon_root_data_free(&d);
    fixture_close(&f);
}

TEST(locks_for_readers_only)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_data d;
    struct cordon_root_stat st;
    host_write(host(&f, forms, "p"), "P");
    WORKS(&f, cordon_root_read_file(f.root, "p", 60000, &d, &f.err));
    cordon_root_data_free(&d);
    FAILS(&f, cordon_root_read_file(f.root, "/root//p", 1, &d, &f.err), "LOCK");
    CHECK_STR(f.err.message, "path is locked - /root//p");
    WORKS(&f, cordon_root_stat(f.root, "p", &st, &f.err));
    WORKS(&f, write_text(&f, "p", "Q"));
    WORKS(&f, cordon_root_lock_file(f.root, "p", 0, &f.err));
    CHECK_CONTENT(&f, "p", "Q");
    WORKS(&f, cordon_root_lock_file(f.root, "missing", 60000, &f.err));
    FAILS(&f, cordon_root_read_file(f.root, "missing", 0, &d, &f.err), "LOCK");
    WORKS(&f, cordon_root_lock_file(f.root, "missing", 0, &f.err));
    FAILS(&f, cordon_root_read_file(f.root, "missing", 0, &d, &f.err), "ENOENT");
    WORKS(&f, cordon_root_lock_file(f.root, "p", 1, &f.err));
    usleep(20000);
    CHECK_CONTENT(&f, "p", "Q");
    fixture_close(&f);
}

TEST(refuses_options_without_a_home)
{
    struct cordon_root *r = NULL;
    struct cordon_root_error err;
    struct cordon_root_options o = {.size = sizeof o};
    CHECK_INT(cordon_root_open(&o, &r, &err), -EINVAL);
    CHECK_STR(err.code, "ERR_INVALID_ARG_VALUE");
    static const char *const bad[] = {"relative"};
    o = (struct cordon_root_options){
        .size = sizeof o, .home = "/tmp", .home_aliases = bad, .home_alias_count = 1};
    CHECK_INT(cordon_root_open(&o, &r, &err), -EINVAL);
    o = (struct cordon_root_options){.home = "/tmp"};
    CHECK_INT(cordon_root_open(&o, &r, &err), -EINVAL);
}

TEST(refuses_options_of_another_size)
{
    struct fixture f;
    fixture_open(&f, 0);
    const char *path = "a";
    struct cordon_root_watch *w = NULL;
    FAILS(&f, cordon_root_cp(f.root, "a", "b", &(struct cordon_root_cp_options){0}, &f.err),
          "ERR_INVALID_ARG_VALUE");
    FAILS(&f, cordon_root_rm(f.root, &path, 1, &(struct cordon_root_rm_options){0}, &f.err),
          "ERR_INVALID_ARG_VALUE");
    FAILS(&f, cordon_root_watch_open(f.root, "", &(struct cordon_root_watch_options){.size = 3}, &w,
                                     &f.err), "ERR_INVALID_ARG_VALUE");
    fixture_close(&f);
}

TEST(knows_the_constants_clients_need)
{
    static const struct cordon_root_constant want[] = {
        {"O_RDONLY", 0}, {"O_WRONLY", 1}, {"O_RDWR", 2}, {"S_IFMT", 61440}, {"S_IFREG", 32768},
        {"S_IFDIR", 16384}, {"S_IFLNK", 40960}, {"S_IFBLK", 24576}, {"S_IFCHR", 8192},
        {"S_IFIFO", 4096}, {"S_IFSOCK", 49152}, {"F_OK", 0}, {"R_OK", 4}, {"COPYFILE_EXCL", 1},
        {"UV_DIRENT_BLOCK", 7}};
    size_t count = 0;
    const struct cordon_root_constant *all = cordon_root_constants(&count);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        size_t k = 0;
        while (k < count && strcmp(all[k].name, want[i].name) != 0)
            k++;
        CHECK(k < count);
        CHECK_INT(all[k].value, want[i].value);
    }
}
