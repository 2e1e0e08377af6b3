/* Moves from one mount to another inside a base: copied, put in place, then removed. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

#define SMALL "size=64k,mode=755"

/* In the home a directory `m` that is another file system, with little room. */
static void open_mounted(struct fixture *f)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        test_skip("mounting needs root");
    fixture_open(f, 0);
    CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    host_mkdir(host(f, forms, "m"));
    CHECK(mount("none", host(f, forms, "m"), "tmpfs", 0, SMALL) == 0);
    host_mkdir(host(f, forms, "s"));
    host_mkdir(host(f, forms, "s/sub"));
    host_write(host(f, forms, "s/sub/x"), "X");
    host_symlink("sub/x", host(f, forms, "s/l"));
    CHECK(chmod(host(f, forms, "s/sub"), 0710) == 0);
}

static void close_mounted(struct fixture *f)
{
    CHECK(umount2(host(f, forms, "m"), MNT_DETACH) == 0);
    fixture_close(f);
}

static unsigned entries(struct fixture *f, const char *path)
{
    struct cordon_root_entries l;
    WORKS(f, cordon_root_readdir(f->root, path, true, &l, &f->err));
    const unsigned count = (unsigned)l.count;
    cordon_root_entries_free(&l);
    return count;
}

TEST(moves_a_tree_to_another_mount)
{
    struct fixture f;
    struct stat st;
    open_mounted(&f);
    CHECK(rename(host(&f, forms, "s"), host(&f, forms, "m/t")) < 0 && errno == EXDEV); /* the control */
    FAILS(&f, cordon_root_rename(f.root, "s", "m/t", &f.err), "EXDEV");
    WORKS(&f, cordon_root_move(f.root, "s", "m/t", false, &f.err));
    CHECK_HOST(host(&f, forms, "m/t/l"), "X");
    CHECK(stat(host(&f, forms, "m/t/sub"), &st) == 0 && (st.st_mode & 07777) == 0710);
    CHECK(!host_exists(host(&f, forms, "s")));
    /* Back, over a full directory. */
    host_mkdir(host(&f, forms, "full"));
    host_write(host(&f, forms, "full/old"), "old");
    FAILS(&f, cordon_root_move(f.root, "m/t", "full", false, &f.err), "EEXIST");
    CHECK_HOST(host(&f, forms, "full/old"), "old");
    WORKS(&f, cordon_root_move(f.root, "m/t", "full", true, &f.err));
    CHECK_HOST(host(&f, forms, "full/sub/x"), "X");
    CHECK(!host_exists(host(&f, forms, "full/old")) && !host_exists(host(&f, forms, "m/t")));
    close_mounted(&f);
}

TEST(keeps_the_source_of_a_move_that_fails)
{
    struct fixture f;
    open_mounted(&f);
    CHECK_INT(mkfifo(host(&f, forms, "s/pipe"), 0600), 0);
    FAILS(&f, cordon_root_move(f.root, "s", "m/t", false, &f.err), "EINVAL");
    CHECK_STR(f.err.message, "Unsupported file type for a move to another mount: 's'");
    CHECK(unlink(host(&f, forms, "s/pipe")) == 0);
    int fd = creat(host(&f, forms, "s/large"), 0600);
    CHECK(fd >= 0 && ftruncate(fd, 1 << 20) == 0 && pwrite(fd, "x", 1, 0) == 1);
    for (off_t at = 0; at < 1 << 20; at += 4096)
        CHECK(pwrite(fd, "x", 1, at) == 1);
    close(fd);
    FAILS(&f, cordon_root_move(f.root, "s", "m/t", true, &f.err), "ENOSPC");
    CHECK_HOST(host(&f, forms, "s/sub/x"), "X");
    CHECK_INT(entries(&f, "m"), 0);
    CHECK_INT(rmdir(host(&f, forms, "m/t")), -1);
    CHECK(!host_exists(host(&f, forms, "m/t")));
    WORKS(&f, cordon_root_unlink(f.root, "s/large", &f.err));
    WORKS(&f, cordon_root_move(f.root, "s", "m/t", true, &f.err)); /* there is room again */
    close_mounted(&f);
}

TEST(keeps_what_a_move_would_have_replaced_if_it_fails)
{
    struct fixture f;
    open_mounted(&f);
    host_write(host(&f, forms, "file"), "kept");
    FAILS(&f, cordon_root_move(f.root, "m", "file", true, &f.err), "EBUSY"); /* a mount stays where it is */
    CHECK_HOST(host(&f, forms, "file"), "kept");
    FAILS(&f, cordon_root_move(f.root, "m", "s", true, &f.err), "EBUSY");
    CHECK_HOST(host(&f, forms, "s/sub/x"), "X");
    FAILS(&f, cordon_root_move(f.root, "s", "m", true, &f.err), "EBUSY");
    CHECK_HOST(host(&f, forms, "s/sub/x"), "X");
    CHECK_INT(entries(&f, ""), 6);
    close_mounted(&f);
}

TEST(replaces_no_directory_by_what_lies_on_a_mount_in_it)
{
    struct fixture f;
    open_mounted(&f);
    host_mkdir(host(&f, forms, "s/m"));
    CHECK(mount(host(&f, forms, "m"), host(&f, forms, "s/m"), NULL, MS_BIND, NULL) == 0);
    host_write(host(&f, forms, "m/x"), "on the mount");
    FAILS(&f, cordon_root_move(f.root, "s/m/x", "s", true, &f.err), "ENOTEMPTY");
    CHECK_HOST(host(&f, forms, "s/sub/x"), "X");
    CHECK_HOST(host(&f, forms, "m/x"), "on the mount");
    CHECK(umount2(host(&f, forms, "s/m"), MNT_DETACH) == 0);
    close_mounted(&f);
}
