/*
 * A writer that is killed at each of its system calls in turn: the file has the old content or the
 * new, nothing else is to be seen, and what was left behind is removed in time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/temporary.h"

#define CALLS_MAX 400

typedef int writer(struct fixture *f);

static char old_text[20000], new_text[20000];

#define AT_ONCE (-1) /* the clock of files may be a tick ahead of time() */

/* Runs the writer up to its n-th stop at a system call, entry or exit; true if it ended before. */
static bool killed_at(struct fixture *f, writer *write, unsigned n)
{
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(write(f) == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    for (unsigned i = 0; i < n && WIFSTOPPED(status); i++) {
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        waitpid(pid, &status, 0);
    }
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return false;
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return true;
}

/* Names in the directory as anybody sees them, and through the interface. */
static unsigned count_host(const char *path)
{
    unsigned n = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(dir);
    return n;
}

static size_t count_shown(struct fixture *f)
{
    struct cordon_root_entries list = {0};
    struct cordon_root_entries names = {0};
    WORKS(f, cordon_root_get_listing(f->root, "d", &list, &f->err));
    WORKS(f, cordon_root_readdir(f->root, "d", true, &names, &f->err));
    CHECK_INT(list.count, names.count);
    size_t n = list.count;
    cordon_root_entries_free(&list);
    cordon_root_entries_free(&names);
    return n;
}

static void check_every_point(writer *write)
{
    unsigned saw_old = 0;
    unsigned saw_new = 0;
    unsigned left = 0;
    memset(old_text, 'o', sizeof old_text - 1);
    memset(new_text, 'n', sizeof new_text - 1);
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    host_write(host(&f, forms, "source"), new_text);
    bool done = false;
    for (unsigned n = 1; !done; n++) {
        CHECK(n < CALLS_MAX);
        host_write(host(&f, forms, "d/file"), old_text);
        temporary_left_behind_seconds = 600;
        done = killed_at(&f, write, n);
        const char *content = host_read(host(&f, forms, "d/file"));
        CHECK(content != NULL);
        const bool is_new = strcmp(content, new_text) == 0;
        CHECK(is_new || strcmp(content, old_text) == 0);
        saw_new += is_new;
        saw_old += !is_new;
        CHECK(is_new || !done);
        CHECK_INT(count_shown(&f), 1); /* one that is young is hidden, and stays */
        left += count_host(host(&f, forms, "d")) > 1;
        temporary_left_behind_seconds = AT_ONCE;
        CHECK_INT(count_shown(&f), 1);
        CHECK_INT(count_host(host(&f, forms, "d")), 1);
    }
    CHECK(saw_old > 2 && saw_new > 1 && left > 0); /* it was killed before, behind and between */
    fixture_close(&f);
}

static int write_file(struct fixture *f)
{
    return cordon_root_write_file(f->root, "d/file", new_text, strlen(new_text), false, &f->err);
}

TEST(leaves_old_or_new_wherever_write_file_is_killed)
{
    check_every_point(write_file);
}

static int copy_file(struct fixture *f)
{
    return cordon_root_copy_file(f->root, "source", "d/file", &f->err);
}

TEST(leaves_old_or_new_wherever_copy_file_is_killed)
{
    check_every_point(copy_file);
}

static int copy_link(struct fixture *f)
{
    return cordon_root_cp(f->root, "link", "d/file", NULL, &f->err);
}

TEST(leaves_no_link_behind_wherever_a_copy_of_one_is_killed)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    host_symlink("new", host(&f, forms, "link"));
    bool done = false;
    unsigned left = 0;
    for (unsigned n = 1; !done; n++) {
        CHECK(n < CALLS_MAX);
        host_remove(host(&f, forms, "d/file"));
        host_symlink("old", host(&f, forms, "d/file"));
        temporary_left_behind_seconds = 600;
        done = killed_at(&f, copy_link, n);
        left += count_host(host(&f, forms, "d")) > 1;
        CHECK_INT(count_shown(&f), 1);
        temporary_left_behind_seconds = AT_ONCE;
        CHECK_INT(count_shown(&f), 1);
        CHECK_INT(count_host(host(&f, forms, "d")), 1);
    }
    CHECK(left > 0);
    fixture_close(&f);
}

static int move_tree(struct fixture *f)
{
    return cordon_root_move(f->root, "tree", "d/tree", false, &f->err);
}

TEST(leaves_the_tree_here_or_there_wherever_a_move_to_another_mount_is_killed)
{
    struct fixture f;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        test_skip("mounting needs root");
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    CHECK(mount("none", host(&f, forms, "d"), "tmpfs", 0, NULL) == 0);
    bool done = false;
    unsigned left = 0;
    for (unsigned n = 1; !done; n++) {
        CHECK(n < CALLS_MAX);
        host_mkdir(host(&f, forms, "tree"));
        host_write(host(&f, forms, "tree/x"), "X");
        temporary_left_behind_seconds = 600;
        done = killed_at(&f, move_tree, n);
        const char *here = host_read(host(&f, forms, "tree/x"));
        const char *there = host_read(host(&f, forms, "d/tree/x"));
        CHECK((here != NULL && strcmp(here, "X") == 0) || (there != NULL && strcmp(there, "X") == 0));
        CHECK(!done || here == NULL);
        const unsigned visible = host_exists(host(&f, forms, "d/tree"));
        left += count_host(host(&f, forms, "d")) > visible;
        temporary_left_behind_seconds = AT_ONCE;
        WORKS(&f, rm(&f, "d/tree", true, true));
        CHECK_INT(count_shown(&f), 0);
        CHECK_INT(count_host(host(&f, forms, "d")), 0);
        host_remove(host(&f, forms, "tree"));
    }
    CHECK(left > 2);
    CHECK(umount2(host(&f, forms, "d"), MNT_DETACH) == 0);
    fixture_close(&f);
}

/* Renamed by somebody who may write to the directory above it, and not to this one. */
TEST(sweeps_no_tree_of_another)
{
    struct fixture f;
    if (geteuid() != 0)
        test_skip("needs root, who can give files away");
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    host_mkdir(host(&f, forms, "d/" TEMPORARY_PREFIX "0123456789abcdef"));
    host_write(host(&f, forms, "d/" TEMPORARY_PREFIX "0123456789abcdef/x"), "X");
    temporary_left_behind_seconds = AT_ONCE;
    CHECK(chown(host(&f, forms, "d/" TEMPORARY_PREFIX "0123456789abcdef"), 1234, 1234) == 0);
    CHECK_INT(count_shown(&f), 0);
    CHECK_HOST(host(&f, forms, "d/" TEMPORARY_PREFIX "0123456789abcdef/x"), "X");
    CHECK(chown(host(&f, forms, "d/" TEMPORARY_PREFIX "0123456789abcdef"), 0, 0) == 0);
    CHECK_INT(count_shown(&f), 0);
    CHECK_INT(count_host(host(&f, forms, "d")), 0);
    fixture_close(&f);
}

TEST(sweeps_nothing_through_a_readonly_root_and_nothing_young)
{
    struct fixture f;
    fixture_open(&f, CORDON_ROOT_READONLY);
    host_mkdir(host(&f, forms, "d"));
    host_write(host(&f, forms, "d/" TEMPORARY_PREFIX "0123456789abcdef"), "left");
    host_write(host(&f, forms, "d/file"), "x");
    temporary_left_behind_seconds = AT_ONCE;
    CHECK_INT(count_shown(&f), 1);
    CHECK_INT(count_host(host(&f, forms, "d")), 2);
    f.options.flags = 0;
    fixture_reopen(&f);
    unlink(host(&f, forms, "d/file"));
    temporary_left_behind_seconds = 600;
    FAILS(&f, cordon_root_rmdir(f.root, "d", false, &f.err), "ENOTEMPTY");
    CHECK_INT(count_host(host(&f, forms, "d")), 1);
    temporary_left_behind_seconds = AT_ONCE;
    WORKS(&f, cordon_root_rmdir(f.root, "d", false, &f.err));
    fixture_close(&f);
}
