/* Copies of files, trees and lists. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"
#include "sys/entry.h"

#define STRANGER 1234

static const char *emptied; /* before it is cloned */

/* Instead of the C library's: a file system that clones, which of an empty file changes nothing and succeeds. */
int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    const long arg = va_arg(args, long);
    va_end(args);
    if (request != SYS_FICLONE || emptied == NULL)
        return (int)syscall(SYS_ioctl, fd, request, arg);
    CHECK(truncate(emptied, 0) == 0);
    return 0;
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

TEST(copies_onto_ones_own_file_whose_group_cannot_be_given)
{
    if (geteuid() != 0)
        test_skip("needs root, who can give files away");
    struct fixture f;
    struct stat before, after;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "A");
    host_write(host(&f, forms, "b"), "long content");
    CHECK(chown(host(&f, forms, "b"), 1500, 2345) == 0);
    CHECK(chmod(f.dir, 0755) == 0 && chmod(f.home, 0777) == 0);
    CHECK(stat(host(&f, forms, "b"), &before) == 0);
    CHECK(seteuid(1500) == 0);
    WORKS(&f, cordon_root_cp(f.root, "a", "b", NULL, &f.err));
    CHECK_HOST(host(&f, forms, "b"), "A");
    CHECK(stat(host(&f, forms, "b"), &after) == 0); /* in place */
    CHECK(after.st_ino == before.st_ino && after.st_gid == 2345);
    CHECK(seteuid(0) == 0);
    fixture_close(&f);
}

EVERYWHERE(copies_trees)
{
    struct cordon_root_cp_options o = {.size = sizeof o};
    host_mkdir(host(f, form, "s"));
    host_mkdir(host(f, form, "s/t"));
    chmod(host(f, form, "s/t"), 0710);
    host_mkdir(host(f, form, "s/sticky"));
    chmod(host(f, form, "s/sticky"), 01777);
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
    CHECK(stat(host(f, form, "p/q/u/sticky"), &st) == 0 && (st.st_mode & 07777) == 01777);
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
    CHECK_STR(f->err.message, text("ENOENT: no such file or directory, cp '%ss/dangling' -> '%sderef/dangling'",
                                   form->shown, form->shown));
    unlink(host(f, form, "s/dangling"));
    host_remove(host(f, form, "deref"));
    WORKS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "deref"), &o, &f->err));
    CHECK(lstat(host(f, form, "deref/l"), &st) == 0 && S_ISREG(st.st_mode));
    host_symlink("..", host(f, form, "s/t/up"));
    FAILS(f, cordon_root_cp(f->root, at(form, "s"), at(form, "deref2"), &o, &f->err), "ELOOP");
}

/* Of a thousand links, the one that leads outside. */
TEST(names_the_link_that_a_copy_may_not_follow)
{
    const struct cordon_root_cp_options o = {.size = sizeof o, .recursive = true, .dereference = true};
    FOR_EACH_FORM(form)
    {
        struct fixture f;
        fixture_open(&f, 0);
        host_mkdir(host(&f, form, "s"));
        host_mkdir(host(&f, form, "s/t"));
        host_symlink(outside(&f, "secret"), host(&f, form, "s/t/l"));
        OUTSIDE(&f, cordon_root_cp(f.root, at(form, "s"), at(form, "u"), &o, &f.err));
        CHECK_STR(f.err.path, at(form, "s/t/l"));
        fixture_close(&f);
    }
}

static const char *others, *wanted;

static bool fixed_owner;

/* Instead of the C library's: a file system whose owner and modes are those of its mount, as vfat. */
int fstat(int fd, struct stat *st)
{
    const int rc = fstatat(fd, "", st, AT_EMPTY_PATH);
    if (rc == 0 && fixed_owner) {
        st->st_uid = STRANGER;
        st->st_mode |= 0755;
    }
    return rc;
}

TEST(shows_nothing_old_behind_a_source_that_became_empty)
{
    struct fixture f;
    fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK); /* in place */
    host_write(host(&f, forms, "a"), "new");
    host_write(host(&f, forms, "b"), "old secret");
    CHECK(link(host(&f, forms, "b"), host(&f, forms, "c")) == 0);
    emptied = host(&f, forms, "a");
    WORKS(&f, cordon_root_copy_file(f.root, "a", "b", &f.err));
    emptied = NULL;
    CHECK_HOST(host(&f, forms, "c"), "");
    fixture_close(&f);
}

static const struct cordon_root_cp_options recursive = {.size = sizeof recursive, .recursive = true};

static struct {
    const char *at; /* on the host: what the copy makes */
    const char *by; /* takes its place */
} swap;

static void swap_directories(const char *point)
{
    if (strcmp(point, "copy dir") != 0)
        return;
    guard_hook = NULL;
    CHECK(rmdir(swap.at) == 0 && rename(swap.by, swap.at) == 0);
}

/* A tree of mode 0755 to `copy`, where `other` takes the place of the directory that was made. */
static int copy_while_swapped(struct fixture *f)
{
    host_mkdir(host(f, forms, "s"));
    host_write(host(f, forms, "s/x"), "X");
    swap.at = host(f, forms, "copy");
    swap.by = host(f, forms, "other");
    guard_hook = swap_directories;
    return cordon_root_cp(f->root, "s", "copy", &recursive, &f->err);
}

static const struct {
    mode_t mode;
    uid_t owner; /* 0: our own */
    bool full;
} others_directories[] = {{0700, 0, true}, {0770, 0, false}, {0700, STRANGER, false}};

TEST(opens_no_directory_of_others_that_took_the_place_of_the_one_that_was_made)
{
    for (size_t i = 0; i < sizeof others_directories / sizeof others_directories[0]; i++) {
        struct fixture f;
        struct stat st;
        const uid_t owner = others_directories[i].owner;
        if (owner != 0 && geteuid() != 0)
            continue; /* nobody else can give directories away */
        fixture_open(&f, 0);
        host_mkdir(host(&f, forms, "other"));
        if (others_directories[i].full)
            host_write(host(&f, forms, "other/secret"), "secret");
        CHECK(chmod(host(&f, forms, "other"), others_directories[i].mode) == 0);
        CHECK(owner == 0 || chown(host(&f, forms, "other"), owner, owner) == 0);
        FAILS(&f, copy_while_swapped(&f), "ESTALE");
        CHECK(stat(host(&f, forms, "copy"), &st) == 0);
        CHECK_INT(st.st_mode & 07777, others_directories[i].mode);
        CHECK_INT(st.st_uid, owner != 0 ? owner : geteuid());
        CHECK(!host_exists(host(&f, forms, "copy/x")));
        fixture_close(&f);
    }
}

/* The kernel's form of a default ACL that lets another user and the group in. */
static const struct {
    uint32_t version;
    struct {
        uint16_t tag, perm;
        uint32_t id;
    } entries[5];
} lets_others_in = {2,
                    {{0x01, 7, UINT32_MAX},
                     {0x02, 7, STRANGER},
                     {0x04, 7, UINT32_MAX},
                     {0x10, 7, UINT32_MAX},
                     {0x20, 5, UINT32_MAX}}};

static void copies_into(const char *dir_mode, mode_t mode, bool acl)
{
    struct fixture f;
    struct stat st;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "s"));
    host_mkdir(host(&f, forms, "s/t"));
    host_write(host(&f, forms, "s/t/x"), "X");
    host_mkdir(host(&f, forms, "d"));
    CHECK(chmod(host(&f, forms, "d"), mode) == 0);
    if (acl && setxattr(host(&f, forms, "d"), "system.posix_acl_default", &lets_others_in,
                        sizeof lets_others_in, 0) < 0) {
        fixture_close(&f);
        test_skip("the file system has no ACLs");
    }
    if (cordon_root_cp(f.root, "s", "d/copy", &recursive, &f.err) < 0)
        test_fail(__FILE__, __LINE__, "into a directory with %s: %s", dir_mode, f.err.message);
    CHECK_HOST(host(&f, forms, "d/copy/t/x"), "X");
    CHECK(stat(host(&f, forms, "d/copy/t"), &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0755);
    fixture_close(&f);
}

TEST(copies_into_directories_that_give_their_group_and_acl)
{
    copies_into("a group", 02755, false);
    copies_into("an ACL", 0755, true);
    copies_into("both", 02755, true);
}

TEST(copies_to_file_systems_with_owners_and_modes_of_their_own)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "s"));
    host_write(host(&f, forms, "s/x"), "X");
    fixed_owner = true;
    WORKS(&f, cordon_root_cp(f.root, "s", "copy", &recursive, &f.err));
    host_mkdir(host(&f, forms, "other"));
    host_write(host(&f, forms, "other/secret"), "secret");
    host_remove(host(&f, forms, "s"));
    host_remove(host(&f, forms, "copy"));
    FAILS(&f, copy_while_swapped(&f), "ESTALE");
    fixed_owner = false;
    CHECK_HOST(host(&f, forms, "copy/secret"), "secret");
    fixture_close(&f);
}

/* Somebody else saves a file under the name that the copy was to get; then the copy is stopped. */
static int take_the_name(void *user, uint64_t entries, uint64_t bytes)
{
    (void)user, (void)entries, (void)bytes;
    CHECK(rename(others, wanted) == 0);
    return 1;
}

EVERYWHERE(removes_nothing_of_others_when_a_copy_ends_early)
{
    const struct cordon_root_cp_options o = {.size = sizeof o, .progress = take_the_name};
    host_write(host(f, form, "a"), "A");
    host_write(host(f, form, "others"), "theirs");
    others = host(f, form, "others");
    wanted = host(f, form, "b");
    FAILS(f, cordon_root_cp(f->root, at(form, "a"), at(form, "b"), &o, &f->err), "ECANCELED");
    CHECK_HOST(host(f, form, "b"), "theirs");
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
