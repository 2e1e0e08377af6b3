/* Mounts inside a base: moves from one to another, which are copied, put in place, then removed; and none is entered. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"
#include "rooted/temporary.h"

#define STRANGER 1234
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
    CHECK_STR(f.err.message, "Unsupported file type for a move to another mount: 's/pipe'");
    CHECK(unlink(host(&f, forms, "s/pipe")) == 0);
    int fd = creat(host(&f, forms, "s/large"), 0600);
    CHECK(fd >= 0 && ftruncate(fd, 1 << 20) == 0 && pwrite(fd, "x", 1, 0) == 1);
    for (off_t at = 0; at < 1 << 20; at += 4096)
        CHECK(pwrite(fd, "x", 1, at) == 1);
    close(fd);
    FAILS(&f, cordon_root_move(f.root, "s", "m/t", true, &f.err), "ENOSPC");
    CHECK_STR(f.err.message, "ENOSPC: no space left on device, rename 's/large' -> 'm/t/large'");
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

TEST(keeps_owner_and_attributes_in_a_move)
{
    struct fixture f;
    struct stat st;
    char value[8] = {0};
    open_mounted(&f);
    CHECK(chown(host(&f, forms, "s/sub/x"), STRANGER, STRANGER + 1) == 0 &&
          chown(host(&f, forms, "s/sub"), STRANGER, STRANGER + 2) == 0);
    CHECK(chmod(host(&f, forms, "s/sub/x"), 04640) == 0 && chmod(host(&f, forms, "s/sub"), 01770) == 0);
    CHECK(setxattr(host(&f, forms, "s/sub/x"), "trusted.mark", "mine", 4, 0) == 0);
    WORKS(&f, cordon_root_move(f.root, "s", "m/t", false, &f.err));
    CHECK(stat(host(&f, forms, "m/t/sub/x"), &st) == 0);
    CHECK(st.st_uid == STRANGER && st.st_gid == STRANGER + 1 && (st.st_mode & 07777) == 0640); /* no set-id bit */
    CHECK(stat(host(&f, forms, "m/t/sub"), &st) == 0);
    CHECK(st.st_uid == STRANGER && st.st_gid == STRANGER + 2 && (st.st_mode & 07777) == 01770);
    CHECK_INT(getxattr(host(&f, forms, "m/t/sub/x"), "trusted.mark", value, sizeof value), 4);
    CHECK_STR(value, "mine");
    close_mounted(&f);
}

/* ---- somebody who may write to the destination, and has learnt the temporary name ---- */

static struct {
    const char *dir;  /* of the destination, on the host */
    const char *when; /* the point at which he strikes */
    bool makes_directory;
    char name[TEMPORARY_NAME_MAX];
} stranger;

static void find_temporary(void)
{
    DIR *dir = opendir(stranger.dir);
    stranger.name[0] = '\0';
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (temporary_is(e->d_name))
            snprintf(stranger.name, sizeof stranger.name, "%.63s", e->d_name);
    }
    closedir(dir);
}

static void learn_the_name(const char *point)
{
    if (strcmp(point, "commit") == 0)
        find_temporary();
}

static void take_the_name(const char *point)
{
    if (strcmp(point, stranger.when) != 0)
        return;
    const char *path = text("%s/%s", stranger.dir, stranger.name);
    if (stranger.makes_directory)
        host_mkdir(path);
    else
        host_write(path, "his");
    CHECK(chown(path, STRANGER, STRANGER) == 0);
    guard_hook = NULL;
}

static void move_to_a_name_that_is_taken(const char *from, const char *when, bool makes_directory)
{
    struct fixture f;
    open_mounted(&f);
    host_write(host(&f, forms, "secret"), "secret");
    CHECK(chmod(host(&f, forms, "secret"), 0600) == 0);
    host_write(host(&f, forms, "m/known"), "old");
    stranger.dir = host(&f, forms, "m");
    stranger.when = when;
    stranger.makes_directory = makes_directory;
    guard_hook = learn_the_name;
    WORKS(&f, write_text(&f, "m/known", "new"));
    CHECK(stranger.name[0] != '\0');
    stranger.dir = host(&f, forms, "m"); /* again: the text is borrowed */
    guard_hook = take_the_name;
    FAILS(&f, cordon_root_move(f.root, from, "m/t", false, &f.err), "ESTALE");
    CHECK(guard_hook == NULL);
    CHECK(!host_exists(host(&f, forms, "m/t")) && host_exists(host(&f, forms, from)));
    WORKS(&f, cordon_root_move(f.root, from, "m/t", false, &f.err)); /* by another name */
    struct stat st;
    CHECK(stat(host(&f, forms, "m/t"), &st) == 0 && st.st_uid == 0);
    close_mounted(&f);
}

TEST(gives_no_file_that_moves_to_who_took_the_name)
{
    move_to_a_name_that_is_taken("secret", "copy target", false);
}

TEST(puts_no_tree_that_moves_into_the_directory_of_who_took_the_name)
{
    move_to_a_name_that_is_taken("s", "make dir", true);
}

/* The directory that the move made beside the destination, before it is opened. */
static void put_another_in_its_place(const char *point)
{
    if (strcmp(point, "copy dir") != 0)
        return;
    find_temporary();
    const char *made = text("%s/%s", stranger.dir, stranger.name);
    CHECK(rmdir(made) == 0 && rename(text("%s/private", stranger.dir), made) == 0);
    guard_hook = NULL;
}

TEST(neither_opens_nor_removes_a_directory_that_took_the_place_of_the_one_that_was_made)
{
    struct fixture f;
    struct stat st;
    open_mounted(&f);
    host_mkdir(host(&f, forms, "m/private"));
    host_write(host(&f, forms, "m/private/key"), "key");
    CHECK(chmod(host(&f, forms, "m/private"), 0700) == 0);
    stranger.dir = host(&f, forms, "m");
    guard_hook = put_another_in_its_place;
    FAILS(&f, cordon_root_move(f.root, "s", "m/t", false, &f.err), "ESTALE");
    CHECK(guard_hook == NULL);
    const char *private = text("%s/%s", host(&f, forms, "m"), stranger.name);
    CHECK(stat(private, &st) == 0 && (st.st_mode & 07777) == 0700);
    CHECK_HOST(text("%s/key", private), "key");
    CHECK_HOST(host(&f, forms, "s/sub/x"), "X");
    CHECK(!host_exists(host(&f, forms, "m/t")));
    close_mounted(&f);
}

/* ---- somebody who changes the source of a move while it is copied, or later ---- */

static struct {
    const char *when;
    const char *path; /* on the host */
    const char *by;   /* takes its name; NULL: it gets more content */
} change;

static void change_the_source(const char *point)
{
    if (strcmp(point, change.when) != 0)
        return;
    guard_hook = NULL;
    if (change.by != NULL) {
        CHECK(rename(change.by, change.path) == 0);
        return;
    }
    int fd = open(change.path, O_WRONLY | O_APPEND);
    CHECK(fd >= 0 && write(fd, "+", 1) == 1 && close(fd) == 0);
}

static void moves_what_changes(const char *when, const char *name, const char *by)
{
    struct fixture f;
    open_mounted(&f);
    host_write(host(&f, forms, "a"), "before");
    host_write(host(&f, forms, "newer"), "after!"); /* as long as the other */
    host_symlink("newer", host(&f, forms, "l"));
    host_symlink("other", host(&f, forms, "l2"));
    host_write(host(&f, forms, "m/t"), "kept");
    change.when = when;
    change.path = host(&f, forms, name);
    change.by = by != NULL ? host(&f, forms, by) : NULL;
    guard_hook = change_the_source;
    FAILS(&f, cordon_root_move(f.root, name, "m/t", true, &f.err), "ESTALE");
    CHECK(guard_hook == NULL);
    CHECK_STR(f.err.path, name);
    if (name[0] == 'a')
        CHECK_HOST(host(&f, forms, "a"), by != NULL ? "after!" : "before+");
    CHECK(host_exists(host(&f, forms, name)));
    if (strcmp(when, "moved") != 0)
        CHECK_HOST(host(&f, forms, "m/t"), "kept");
    stranger.dir = host(&f, forms, "m");
    find_temporary();
    CHECK_STR(stranger.name, "");
    close_mounted(&f);
}

TEST(removes_no_source_of_a_move_that_changed_after_it_was_copied)
{
    moves_what_changes("moved", "a", "newer");
    moves_what_changes("moved", "a", NULL);
    moves_what_changes("moved", "l", "l2");
}

TEST(puts_nothing_in_place_of_a_source_that_changed_while_it_was_copied)
{
    moves_what_changes("copy target", "a", "newer");
    moves_what_changes("copy target", "a", NULL);
}

/* ---- no mount is entered, of the same file system either, which has the same number ---- */

static void open_bound(struct fixture *f)
{
    open_mounted(f);
    host_mkdir(host(f, forms, "plain"));
    host_write(host(f, forms, "plain/x"), "x");
    host_write(host(f, forms, "plain.txt"), "text");
    host_mkdir(host(f, forms, "t"));
    host_mkdir(host(f, forms, "t/bound"));
    host_mkdir(host(f, forms, "w"));
    host_write(host(f, forms, "w/bound.txt"), "");
    CHECK(mount(host(f, forms, "plain"), host(f, forms, "t/bound"), NULL, MS_BIND, NULL) == 0);
    CHECK(mount(host(f, forms, "plain.txt"), host(f, forms, "w/bound.txt"), NULL, MS_BIND, NULL) == 0);
    f->options.flags = CORDON_ROOT_NO_XDEV;
    fixture_reopen(f);
}

static void close_bound(struct fixture *f)
{
    CHECK_HOST(host(f, forms, "plain/x"), "x");
    CHECK_HOST(host(f, forms, "plain.txt"), "text");
    CHECK(!host_exists(host(f, forms, "plain/y")));
    CHECK(umount2(host(f, forms, "t/bound"), MNT_DETACH) == 0);
    CHECK(umount2(host(f, forms, "w/bound.txt"), MNT_DETACH) == 0);
    close_mounted(f);
}

/* The directory with the mount was replaced, and is there under another name. */
static void put_back(struct fixture *f)
{
    char name[NAME_MAX + 1] = "";
    DIR *home = opendir(f->home);
    for (struct dirent *e; (e = readdir(home)) != NULL;) {
        if (host_exists(text("%s/%s/bound/x", f->home, e->d_name)))
            snprintf(name, sizeof name, "%s", e->d_name);
    }
    closedir(home);
    CHECK(rmdir(host(f, forms, "t")) == 0 && rename(host(f, forms, name), host(f, forms, "t")) == 0);
}

TEST(removes_nothing_on_a_mount_that_it_may_not_enter)
{
    struct fixture f;
    open_bound(&f);
    FAILS(&f, rm(&f, "t/bound", true, false), "EXDEV");
    FAILS(&f, cordon_root_rmdir(f.root, "t/bound", true, &f.err), "EXDEV");
    FAILS(&f, rm(&f, "t", true, false), "EXDEV");
    CHECK_STR(f.err.path, "t/bound");
    host_mkdir(host(&f, forms, "other"));
    FAILS(&f, cordon_root_move(f.root, "other", "t", true, &f.err), "EXDEV");
    put_back(&f);
    close_bound(&f);
}

TEST(writes_no_file_that_is_a_mount_that_it_may_not_enter)
{
    struct fixture f;
    open_bound(&f);
    struct cordon_root_watch *watch = NULL;
    struct cordon_root_stat st;
    FAILS(&f, write_text(&f, "w/bound.txt", "changed"), "EXDEV");
    FAILS(&f, append_text(&f, "w/bound.txt", "more"), "EXDEV");
    FAILS(&f, cordon_root_truncate(f.root, "w/bound.txt", 0, &f.err), "EXDEV");
    FAILS(&f, cordon_root_copy_file(f.root, "s/sub/x", "w/bound.txt", &f.err), "EXDEV");
    FAILS(&f, cordon_root_lstat(f.root, "t/bound", &st, &f.err), "EXDEV");
    FAILS(&f, cordon_root_watch_open(f.root, "t/bound", NULL, &watch, &f.err), "EXDEV");
    close_bound(&f);
}

TEST(copies_and_lists_nothing_of_a_mount_that_it_may_not_enter)
{
    struct fixture f;
    const struct cordon_root_cp_options o = {.size = sizeof o, .recursive = true};
    open_bound(&f);
    FAILS(&f, cordon_root_cp(f.root, "t/bound", "copy", &o, &f.err), "EXDEV");
    FAILS(&f, cordon_root_cp(f.root, "t", "copy", &o, &f.err), "EXDEV");
    CHECK(!host_exists(host(&f, forms, "copy/bound/x")));
    FAILS(&f, cordon_root_cp(f.root, "w", "copy", &o, &f.err), "EXDEV");
    CHECK(!host_exists(host(&f, forms, "copy/bound.txt")));
    host_mkdir(host(&f, forms, "from"));
    host_mkdir(host(&f, forms, "from/bound"));
    host_write(host(&f, forms, "from/bound/y"), "y");
    FAILS(&f, cordon_root_cp(f.root, "from", "t", &o, &f.err), "EXDEV");
    CHECK_INT(entries(&f, "t"), 1); /* shown, and not entered */
    f.options.flags = 0;
    fixture_reopen(&f);
    CHECK_INT(entries(&f, "t"), 2);
    close_bound(&f);
}

/* A file whose size says 0 although there is something to read, as all of /proc. */
TEST(copies_what_has_no_size)
{
    struct fixture f;
    struct stat st;
    open_mounted(&f);
    host_write(host(&f, forms, "type"), "");
    CHECK(mount("/proc/sys/kernel/ostype", host(&f, forms, "type"), NULL, MS_BIND, NULL) == 0);
    CHECK(stat(host(&f, forms, "type"), &st) == 0 && st.st_size == 0); /* the control */
    CHECK_CONTENT(&f, "type", "Linux\n");
    host_write(host(&f, forms, "old"), "old content");
    WORKS(&f, cordon_root_copy_file(f.root, "type", "new", &f.err));
    WORKS(&f, cordon_root_copy_file(f.root, "type", "old", &f.err));
    CHECK_HOST(host(&f, forms, "new"), "Linux\n");
    CHECK_HOST(host(&f, forms, "old"), "Linux\n");
    host_write(host(&f, forms, "linked"), "old content");
    CHECK(link(host(&f, forms, "linked"), host(&f, forms, "other")) == 0);
    f.options.flags = CORDON_ROOT_ALLOW_HARDLINK; /* in place */
    fixture_reopen(&f);
    WORKS(&f, cordon_root_copy_file(f.root, "type", "linked", &f.err));
    CHECK_HOST(host(&f, forms, "other"), "Linux\n");
    CHECK(umount2(host(&f, forms, "type"), MNT_DETACH) == 0);
    close_mounted(&f);
}
