/*
 * Nothing leads outside: by the plain ways, and by swaps at the very points where a check has been
 * made and its use is still to come. For each swap the naive way is shown to escape.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"
#include "rooted/resolve.h"
#include "rooted/temporary.h"
#include "sys/openat2.h"

static int cp(struct fixture *f, const char *from, const char *to, bool dereference)
{
    const struct cordon_root_cp_options o = {.size = sizeof o, .recursive = true,
                                             .dereference = dereference};
    return cordon_root_cp(f->root, from, to, &o, &f->err);
}

static int read_text(struct fixture *f, const char *path)
{
    struct cordon_root_data d = {0};
    int rc = cordon_root_read_file(f->root, path, 0, &d, &f->err);
    cordon_root_data_free(&d);
    return rc;
}

/* Every method on a path that leads outside. */
static void all_refuse(struct fixture *f, const struct form *form, const char *name)
{
    struct cordon_root *r = f->root;
    struct cordon_root_error *e = &f->err;
    struct cordon_root_data d;
    struct cordon_root_stat st;
    struct cordon_root_entries l;
    bool there;
    const char *p = at(form, name);
    const char *in = at(form, "in/file");
    OUTSIDE(f, read_text(f, p));
    CHECK_STR(f->err.path, p);
    CHECK_INT(f->err.errnum, -13);
    OUTSIDE(f, cordon_root_stat(r, p, &st, e));
    OUTSIDE(f, cordon_root_lstat(r, p, &st, e));
    OUTSIDE(f, cordon_root_exists(r, p, &there, e));
    OUTSIDE(f, cordon_root_readlink(r, p, &d, e));
    OUTSIDE(f, cordon_root_realpath(r, p, &d, e));
    OUTSIDE(f, cordon_root_readdir(r, p, false, &l, e));
    OUTSIDE(f, cordon_root_get_listing(r, p, &l, e));
    OUTSIDE(f, write_text(f, p, "x"));
    OUTSIDE(f, append_text(f, p, "x"));
    OUTSIDE(f, cordon_root_write_patch(r, p, "[]", 2, "0", false, e));
    OUTSIDE(f, cordon_root_truncate(r, p, 0, e));
    OUTSIDE(f, cordon_root_chmod(r, p, 0777, e));
    OUTSIDE(f, cordon_root_utimes(r, p, 1, 1, e));
    OUTSIDE(f, cordon_root_mkdir(r, p, false, 0777, e));
    OUTSIDE(f, cordon_root_mkdir(r, p, true, 0777, e));
    OUTSIDE(f, cordon_root_rmdir(r, p, false, e));
    OUTSIDE(f, cordon_root_rmdir(r, p, true, e));
    OUTSIDE(f, cordon_root_unlink(r, p, e));
    OUTSIDE(f, rm(f, p, true, false));
    OUTSIDE(f, cordon_root_rename(r, p, at(form, "new"), e));
    OUTSIDE(f, cordon_root_rename(r, in, p, e));
    OUTSIDE(f, cordon_root_move(r, p, at(form, "new"), false, e));
    OUTSIDE(f, cordon_root_move(r, in, p, true, e));
    OUTSIDE(f, cordon_root_move(r, in, p, false, e));
    OUTSIDE(f, cordon_root_copy_file(r, p, at(form, "new"), e));
    OUTSIDE(f, cordon_root_copy_file(r, in, p, e));
    OUTSIDE(f, cp(f, p, at(form, "new"), false));
    OUTSIDE(f, cp(f, p, at(form, "new"), true));
    OUTSIDE(f, cp(f, in, p, false));
    OUTSIDE(f, cp(f, at(form, "in"), p, false));
    OUTSIDE(f, cordon_root_link(r, p, at(form, "new"), e));
    OUTSIDE(f, cordon_root_link(r, in, p, e));
    OUTSIDE(f, cordon_root_symlink(r, p, at(form, "new"), e));
    OUTSIDE(f, cordon_root_symlink(r, in, p, e));
    OUTSIDE(f, cordon_root_lock_file(r, p, 1, e));
    CHECK(!host_exists(host(f, form, "new")));
    CHECK_HOST(host(f, form, "in/file"), "inside");
}

TEST(refuses_every_method_on_what_leads_outside)
{
    FOR_EACH_FORM(form)
    {
        struct fixture f;
        fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_ALLOW_SYMLINK);
        make_escapes(&f, form);
        static const char *const names[] = {
            "esc", "escd", "esc_missing", "esc_rel", "escd_rel", "esc_missing_rel",
            "escd/file", "escd/missing", "escd_rel/file", "escd_rel/missing", "escd/missing/deep",
            "escd_rel/missing/deep", "goodd/../escd_rel/file"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            all_refuse(&f, form, names[i]);
        fixture_close(&f);
    }
}

TEST(reaches_outside_in_unsafe_mode_so_the_refusals_mean_something)
{
    FOR_EACH_FORM(form)
    {
        struct fixture f;
        fixture_open(&f, CORDON_ROOT_UNSAFE);
        make_escapes(&f, form);
        CHECK_CONTENT(&f, at(form, "esc"), "canary");
        CHECK_CONTENT(&f, at(form, "escd_rel/file"), "canary");
        WORKS(&f, write_text(&f, at(form, "escd/new"), "x"));
        CHECK_HOST(outside(&f, "dir/new"), "x");
        WORKS(&f, append_text(&f, at(form, "esc_missing_rel"), "x"));
        CHECK_HOST(outside(&f, "missing"), "x");
        WORKS(&f, write_text(&f, at(form, "esc"), "gone"));
        CHECK_HOST(outside(&f, "secret"), "gone");
        WORKS(&f, cordon_root_unlink(f.root, at(form, "esc"), &f.err));
        CHECK(host_exists(outside(&f, "secret")));
        WORKS(&f, cordon_root_mkdir(f.root, at(form, "escd/a/b"), true, 0777, &f.err));
        WORKS(&f, rm(&f, at(form, "escd/a"), true, false));
        CHECK(!host_exists(outside(&f, "dir/a")));
        fixture_close(&f);
    }
}

TEST(acts_on_links_themselves_if_asked_to)
{
    struct fixture f;
    fixture_open(&f, CORDON_ROOT_LEAF_LINKS_ACT);
    make_escapes(&f, forms);
    struct cordon_root_stat st;
    struct cordon_root_data d;
    WORKS(&f, cordon_root_lstat(f.root, "esc", &st, &f.err));
    CHECK_INT(st.type, 'l');
    WORKS(&f, cordon_root_readlink(f.root, "escd_rel", &d, &f.err));
    CHECK_STR(d.data, "../outside/dir");
    cordon_root_data_free(&d);
    WORKS(&f, cordon_root_rename(f.root, "esc", "moved", &f.err));
    WORKS(&f, cordon_root_rename(f.root, "in/file", "escd", &f.err)); /* replaces the link */
    CHECK_HOST(host(&f, forms, "escd"), "inside");
    WORKS(&f, cordon_root_unlink(f.root, "moved", &f.err));
    WORKS(&f, rm(&f, "esc_missing", true, false));
    WORKS(&f, rm(&f, "loop", true, false));
    OUTSIDE(&f, cordon_root_stat(f.root, "esc_rel", &st, &f.err));
    OUTSIDE(&f, read_text(&f, "esc_rel"));
    OUTSIDE(&f, cordon_root_unlink(f.root, "escd_rel/file", &f.err));
    OUTSIDE(&f, cordon_root_chmod(f.root, "esc_rel", 0777, &f.err));
    fixture_close(&f);
}

TEST(follows_no_link_at_all_if_strict)
{
    struct fixture f;
    fixture_open(&f, CORDON_ROOT_STRICT);
    make_escapes(&f, forms);
    struct cordon_root_stat st;
    FAILS(&f, read_text(&f, "good"), "ELOOP");
    FAILS(&f, read_text(&f, "goodd/file"), "ELOOP");
    FAILS(&f, write_text(&f, "good", "x"), "ELOOP");
    FAILS(&f, write_text(&f, "goodd/new", "x"), "ELOOP");
    FAILS(&f, read_text(&f, "good_abs"), "ELOOP");
    WORKS(&f, cordon_root_lstat(f.root, "good", &st, &f.err));
    WORKS(&f, cordon_root_unlink(f.root, "good", &f.err));
    CHECK_CONTENT(&f, "in/file", "inside");
    fixture_close(&f);
}

TEST(enters_no_mount_if_told_not_to)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "m"));
    host_mkdir(host(&f, forms, "plain"));
    host_write(host(&f, forms, "plain/x"), "x");
    /* A bind of the same file system: only the mount differs. */
    enum { BIND = 4096, REC = 16384, PRIVATE = 1 << 18, DETACH = 2 };
    if (unshare(CLONE_NEWNS) < 0 ||
        syscall(SYS_mount, "none", "/", NULL, REC | PRIVATE, NULL) < 0 ||
        syscall(SYS_mount, host(&f, forms, "plain"), host(&f, forms, "m"), NULL, BIND, NULL) < 0) {
        host_remove(f.dir);
        test_skip("mounting needs root");
    }
    CHECK_CONTENT(&f, "m/x", "x");
    f.options.flags = CORDON_ROOT_NO_XDEV;
    fixture_reopen(&f);
    FAILS(&f, read_text(&f, "m/x"), "EXDEV");
    FAILS(&f, write_text(&f, "m/y", "y"), "EXDEV");
    FAILS(&f, rm(&f, "m/x", true, false), "EXDEV");
    CHECK_CONTENT(&f, "plain/x", "x");
    syscall(SYS_umount2, host(&f, forms, "m"), DETACH);
    fixture_close(&f);
}

TEST(jumps_through_no_magic_link)
{
    if (!host_exists("/proc/self/fd"))
        test_skip("/proc is not mounted");
    struct fixture f;
    fixture_open(&f, 0);
    char secret[256];
    snprintf(secret, sizeof secret, "%s", outside(&f, "secret"));
    int fd = open(secret, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_STR(host_read(text("/proc/self/fd/%d", fd)), "canary"); /* the naive way */
    f.options.home = "/proc/self/fd";
    fixture_reopen(&f);
    struct cordon_root_data d;
    int rc = cordon_root_read_file(f.root, text("%d", fd), 0, &d, &f.err);
    /* By openat2() a magic link is refused as such; the walk reads its text, which leads out. */
    struct open_how how = {.flags = O_PATH};
    int probe = sys_openat2(AT_FDCWD, ".", &how);
    CHECK_INT(rc, probe >= 0 ? -ELOOP : -EACCES);
    f.options.home = f.home;
    fixture_reopen(&f);
    close(fd);
    fixture_close(&f);
}

/* ---- swaps, injected between the check and the use ---- */

static struct {
    const char *point; /* where to strike */
    unsigned skip;     /* how often it is passed before */
    char victim[512];  /* replaced by a link to... */
    char with[512];
    bool struck;
} attack;

/* Moves the victim aside and puts a link in its place: what RENAME_EXCHANGE does, once. */
static void strike(void)
{
    attack.struck = true;
    char aside[600];
    snprintf(aside, sizeof aside, "%s.aside", attack.victim);
    rename(attack.victim, aside);
    if (symlink(attack.with, attack.victim) < 0)
        test_fail(__FILE__, __LINE__, "the attack failed: errno %d", errno);
}

static void at_point(const char *name)
{
    if (attack.struck || strcmp(name, attack.point) != 0)
        return;
    if (attack.skip > 0)
        attack.skip--;
    else
        strike();
}

static void arm(const char *point, unsigned skip, const char *victim, const char *with)
{
    attack.point = point;
    attack.skip = skip;
    attack.struck = false;
    snprintf(attack.victim, sizeof attack.victim, "%s", victim);
    snprintf(attack.with, sizeof attack.with, "%s", with);
    guard_hook = at_point;
}

#define disarm() disarm_at(__LINE__)
static void disarm_at(int line)
{
    guard_hook = NULL;
    if (!attack.struck) /* then the test would prove nothing */
        test_fail(__FILE__, line, "the attack did not happen");
}

/* Either the outside error (or one of a path that changed), or success on what is inside. */
static void accept(struct fixture *f, int rc, int line)
{
    static const int fine[] = {0, -EACCES, -ESTALE, -ELOOP, -ENOTDIR, -EEXIST, -ENOENT, -EINVAL,
                               -EISDIR, -ENOTEMPTY};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        if (rc == fine[i])
            return;
    }
    test_fail(__FILE__, line, "gave %d: %s", rc, f->err.message);
}

#define UNDER_ATTACK(f, where, skip, victim, with, call)             \
    do {                                                             \
        arm(where, skip, host(f, form, victim), outside(f, with));   \
        int rc_ = (call);                                            \
        disarm();                                                    \
        accept((f), rc_, __LINE__);                                  \
        check_outside(f);                                            \
        host_remove(text("%s/%s", (f)->dir, form->dir));             \
        host_mkdir(text("%s/%s", (f)->dir, form->dir));              \
        make_escapes(f, form);                                       \
    } while (0)

static void check_outside(const struct fixture *f)
{
    CHECK_HOST(outside(f, "secret"), "canary");
    CHECK_HOST(outside(f, "dir/file"), "canary");
    unsigned entries = 0;
    DIR *d = opendir(outside(f, "dir"));
    while (d != NULL && readdir(d) != NULL)
        entries++;
    closedir(d);
    CHECK_INT(entries, 3);
}

/* A base without openat2 walks, and every step of the walk is a place to strike. */
TEST(survives_swaps_on_every_base)
{
    FOR_EACH_FORM(form)
    {
        struct fixture f;
        fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_ALLOW_SYMLINK);
        make_escapes(&f, form);
        struct cordon_root *r = f.root;
        struct cordon_root_error *e = &f.err;
        char file[64]; /* text() reuses its memory */
        snprintf(file, sizeof file, "%s", at(form, "in/file"));
        UNDER_ATTACK(&f, "write open", 0, "in/file", "secret", write_text(&f, file, "x"));
        UNDER_ATTACK(&f, "write open", 0, "in/file", "secret", append_text(&f, file, "x"));
        UNDER_ATTACK(&f, "write open", 0, "in/file", "secret", cordon_root_truncate(r, file, 0, e));
        UNDER_ATTACK(&f, "write open", 0, "in", "dir", write_text(&f, file, "x"));
        UNDER_ATTACK(&f, "commit", 0, "in/file", "secret", write_text(&f, file, "x"));
        UNDER_ATTACK(&f, "commit", 0, "in", "dir", write_text(&f, file, "x"));
        UNDER_ATTACK(&f, "write open", 0, "in/file", "secret",
                     cordon_root_write_patch(r, file, "[]", 2, "", false, e));
        UNDER_ATTACK(&f, "write open", 0, "in/file", "secret",
                     cordon_root_copy_file(r, at(form, "good"), at(form, "in/file"), e));
        UNDER_ATTACK(&f, "mkdir", 0, "in", "dir",
                     cordon_root_mkdir(r, at(form, "in/x"), false, 0777, e));
        UNDER_ATTACK(&f, "mkdir", 0, "in", "dir",
                     cordon_root_mkdir(r, at(form, "in/x/y"), true, 0777, e));
        UNDER_ATTACK(&f, "mkdir", 1, "in", "dir",
                     cordon_root_mkdir(r, at(form, "in/x/y"), true, 0777, e));
        UNDER_ATTACK(&f, "rm leaf", 0, "in", "dir", rm(&f, file, true, false));
        UNDER_ATTACK(&f, "unlink leaf", 0, "in", "dir", cordon_root_unlink(r, file, e));
        UNDER_ATTACK(&f, "rmdir leaf", 0, "in", "dir",
                     cordon_root_rmdir(r, at(form, "in"), false, e));
        UNDER_ATTACK(&f, "descend", 0, "in", "dir", rm(&f, at(form, "in"), true, false));
        UNDER_ATTACK(&f, "remove top", 0, "in", "dir", rm(&f, at(form, "in"), true, false));
        UNDER_ATTACK(&f, "descend", 0, "in", "dir", cordon_root_rmdir(r, at(form, "in"), true, e));
        UNDER_ATTACK(&f, "rename", 0, "in", "dir", cordon_root_rename(r, file, at(form, "n"), e));
        UNDER_ATTACK(&f, "rename", 0, "in", "dir",
                     cordon_root_rename(r, at(form, "good"), at(form, "in/n"), e));
        UNDER_ATTACK(&f, "move", 0, "in", "dir",
                     cordon_root_move(r, at(form, "good"), at(form, "in/n"), false, e));
        UNDER_ATTACK(&f, "move", 0, "in", "dir", cordon_root_move(r, file, at(form, "n"), true, e));
        UNDER_ATTACK(&f, "mkdir", 0, "in", "dir",
                     cordon_root_move(r, at(form, "good"), at(form, "in/p/q"), false, e));
        UNDER_ATTACK(&f, "cp", 0, "in", "dir", cp(&f, at(form, "in"), at(form, "n"), false));
        UNDER_ATTACK(&f, "cp", 0, "in", "dir", cp(&f, at(form, "good"), at(form, "in/n"), false));
        UNDER_ATTACK(&f, "copy source", 0, "in/file", "secret", cp(&f, file, at(form, "n"), false));
        UNDER_ATTACK(&f, "copy target", 0, "n", "secret", cp(&f, file, at(form, "n"), false));
        UNDER_ATTACK(&f, "copy target", 0, "n", "missing", cp(&f, file, at(form, "n"), false));
        UNDER_ATTACK(&f, "copy dir", 0, "n", "dir", cp(&f, at(form, "in"), at(form, "n"), false));
        host_mkdir(host(&f, form, "n")); /* what is there already is merged with, whatever it looks like */
        UNDER_ATTACK(&f, "copy dir", 0, "n", "dir", cp(&f, at(form, "in"), at(form, "n"), false));
        UNDER_ATTACK(&f, "link", 0, "in/file", "secret",
                     cordon_root_link(r, file, at(form, "n"), e));
        cordon_root_close(f.root);
        f.root = NULL;
        fixture_close(&f);
    }
}

/* Copies of what was swapped in must not hold what is outside. */
TEST(copies_no_content_from_outside_under_a_swap)
{
    const struct form *form = forms;
    struct fixture f;
    fixture_open(&f, 0);
    make_escapes(&f, form);
    arm("copy source", 0, host(&f, form, "in/file"), outside(&f, "secret"));
    int rc = cp(&f, "in/file", "n", false);
    disarm();
    const char *got = host_read(host(&f, form, "n"));
    CHECK(rc < 0 || (got != NULL && strcmp(got, "canary") != 0));
    /* The positive control: a checked name, opened after the swap. */
    CHECK_HOST(host(&f, form, "in/file"), "canary");

    host_mkdir(host(&f, form, "t"));
    host_mkdir(host(&f, form, "t/sub"));
    host_write(host(&f, form, "t/sub/x"), "mine");
    arm("copy source", 1, host(&f, form, "t/sub"), outside(&f, "dir"));
    rc = cp(&f, "t", "t2", false);
    disarm();
    CHECK(host_read(host(&f, form, "t2/sub/file")) == NULL ||
          host_exists(host(&f, form, "t2/sub.aside")) ||
          readlink(host(&f, form, "t2/sub"), (char[9]){0}, 8) > 0);
    CHECK_INT(rc, 0);
    struct stat st;
    CHECK(lstat(host(&f, form, "t2/sub"), &st) == 0 && S_ISLNK(st.st_mode));
    struct cordon_root_entries l;
    host_mkdir(host(&f, form, "u"));
    host_mkdir(host(&f, form, "u/sub"));
    arm("descend", 0, host(&f, form, "u/sub"), outside(&f, "dir"));
    WORKS(&f, cordon_root_readdir(f.root, "u", true, &l, &f.err));
    disarm();
    for (size_t i = 0; i < l.count; i++)
        CHECK(strstr(l.entries[i].name, "file") == NULL);
    cordon_root_entries_free(&l);
    fixture_close(&f);
}

TEST(links_what_was_checked_or_nothing)
{
    const struct form *form = forms;
    struct fixture f;
    fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK);
    make_escapes(&f, form);
    arm("link", 0, host(&f, form, "in/file"), outside(&f, "secret"));
    FAILS(&f, cordon_root_link(f.root, "in/file", "n", &f.err), "ESTALE");
    disarm();
    CHECK_STR(f.err.message, "Path changed during operation: 'in/file'");
    CHECK(!host_exists(host(&f, form, "n")));
    fixture_close(&f);
}

/* ---- the walk, which serves where openat2() does not: the resolver itself is asked ---- */

static struct resolve_counts counts;
static struct resolve_prefix nothing;

static struct resolve_base base_of(const struct fixture *f, const struct form *form)
{
    struct resolve_base b = {.prefixes = &nothing, .counts = &counts};
    b.fd = open(text("%s/%s", f->dir, form->dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(b.fd >= 0);
    return b;
}

/* Through an absolute link: openat2() gives up on it, so the walk decides. */
TEST(walks_under_swaps)
{
    const struct form *form = forms;
    struct fixture f;
    fixture_open(&f, 0);
    make_escapes(&f, form);
    struct resolve_prefix prefix = {.text = f.home, .inside = true};
    struct resolve_base b = base_of(&f, form);
    b.prefixes = &prefix;
    b.prefix_count = 1;
    char real[PATH_MAX];

    /* The leaf becomes a link between the look and the open. */
    arm("open leaf", 0, host(&f, form, "in/file"), outside(&f, "secret"));
    int fd = resolve_open(&b, "goodd_abs/file", O_RDONLY);
    disarm();
    CHECK_INT(fd, RESOLVE_OUTSIDE);
    unlink(host(&f, form, "in/file"));
    rename(host(&f, form, "in/file.aside"), host(&f, form, "in/file"));

    arm("open leaf", 0, host(&f, form, "in/file"), outside(&f, "secret"));
    fd = resolve_open(&b, "goodd_abs/file", O_PATH);
    disarm();
    CHECK_INT(fd, RESOLVE_OUTSIDE);
    unlink(host(&f, form, "in/file"));
    rename(host(&f, form, "in/file.aside"), host(&f, form, "in/file"));

    /* A component in the middle becomes a link before its step. */
    arm("walk", 1, host(&f, form, "in"), outside(&f, "dir"));
    fd = resolve_open(&b, "goodd_abs/file", O_RDONLY);
    disarm();
    CHECK_INT(fd, RESOLVE_OUTSIDE);
    unlink(host(&f, form, "in"));
    rename(host(&f, form, "in.aside"), host(&f, form, "in"));

    /* A component that was gone through becomes a link before the way is gone again. */
    host_mkdir(host(&f, form, "in/sub"));
    host_symlink(host(&f, form, "in/sub/../file"), host(&f, form, "dots_abs"));
    CHECK_INT(resolve_real(&b, "dots_abs", real), 0);
    CHECK_STR(real, "in/file");
    arm("rewalk", 0, host(&f, form, "in"), outside(&f, "dir"));
    fd = resolve_open(&b, "dots_abs", O_RDONLY);
    disarm();
    CHECK_INT(fd, RESOLVE_OUTSIDE);
    unlink(host(&f, form, "in"));
    rename(host(&f, form, "in.aside"), host(&f, form, "in"));

    /* The directory that was entered is moved elsewhere, and ".." is asked for. */
    host_symlink(host(&f, form, "in/sub/../../in/file"), host(&f, form, "dots2_abs"));
    CHECK_INT(resolve_real(&b, "dots2_abs", real), 0);
    host_symlink(host(&f, form, "in/../../outside/secret"), host(&f, form, "dots3_abs"));
    CHECK_INT(resolve_open(&b, "dots3_abs", O_RDONLY), RESOLVE_OUTSIDE);
    CHECK(host_read(host(&f, form, "dots3_abs")) != NULL); /* the naive way gets there */

    b.strict = true;
    CHECK_INT(resolve_open(&b, "goodd_abs/file", O_RDONLY), -ELOOP);
    close(b.fd);
    fixture_close(&f);
}

/* A tree deeper than the descriptors kept open, whose inner part is moved away meanwhile. */
static char moved_from[8192], moved_to[600];
static void move_away(const char *name)
{
    if (strcmp(name, "ascend") == 0 && !attack.struck) {
        attack.struck = true;
        CHECK(rename(moved_from, moved_to) == 0);
    }
}

TEST(stops_when_the_tree_it_removes_is_moved)
{
    struct fixture f;
    fixture_open(&f, 0);
    char deep[8192];
    snprintf(deep, sizeof deep, "%s", host(&f, forms, "top"));
    host_mkdir(deep);
    for (int i = 0; i < 20; i++) {
        strcat(deep, "/d");
        host_mkdir(deep);
    }
    /* The way up from d/d/...: its parent is then a directory that is not ours. */
    snprintf(moved_from, sizeof moved_from, "%s", host(&f, forms, "top/d/d/d/d/d/d/d/d/d"));
    host_mkdir(text("%s/elsewhere", f.dir));
    host_mkdir(text("%s/elsewhere/d", f.dir));
    host_write(text("%s/elsewhere/d/precious", f.dir), "precious");
    snprintf(moved_to, sizeof moved_to, "%s/elsewhere/moved", f.dir);
    attack.struck = false;
    guard_hook = move_away;
    int rc = rm(&f, "top", true, false);
    guard_hook = NULL;
    CHECK(attack.struck);
    CHECK_INT(rc, -ESTALE);
    CHECK_HOST(text("%s/elsewhere/d/precious", f.dir), "precious");
    fixture_close(&f);
}

TEST(sweeps_no_temporary_files_outside)
{
    FOR_EACH_FORM(form)
    {
        struct fixture f;
        fixture_open(&f, 0);
        make_escapes(&f, form);
        char left[300];
        snprintf(left, sizeof left, "%s", outside(&f, "dir/" TEMPORARY_PREFIX "0123456789abcdef"));
        host_write(left, "left");
        temporary_left_behind_seconds = 0;
        arm("descend", 0, host(&f, form, "in"), outside(&f, "dir"));
        accept(&f, cordon_root_rmdir(f.root, at(form, "in"), false, &f.err), __LINE__);
        disarm();
        CHECK(host_exists(left));
        host_remove(left);
        fixture_close(&f);
    }
}
