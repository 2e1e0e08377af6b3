/* Links that stay inside, and the gates of link and symlink. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"

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

static unsigned long rewalks;

static void count_rewalks(const char *point)
{
    rewalks += strcmp(point, "rewalk") == 0;
}

/* Forty links, each of which goes down and up as often as its text has room for. */
TEST(goes_no_way_again_without_end)
{
    struct fixture f;
    fixture_open(&f, 0);
    char way[PATH_MAX] = "";
    char deep[PATH_MAX];
    snprintf(deep, sizeof deep, "%s", host(&f, forms, ""));
    for (int i = 0; i < 600; i++) {
        strcat(deep, "a/");
        host_mkdir(deep);
        strcat(way, "a/");
    }
    for (int i = 0; i < 600; i++)
        strcat(way, "../");
    for (int i = 0; i < 38; i++)
        host_symlink(text("%sl%d", way, i + 1), host(&f, forms, text("l%d", i)));
    host_write(host(&f, forms, "l38"), "the end");
    struct cordon_root_data d;
    guard_hook = count_rewalks;
    FAILS(&f, cordon_root_realpath(f.root, "l0", &d, &f.err), "ELOOP");
    guard_hook = NULL;
    CHECK(rewalks > 1000 && rewalks <= 65536);
    WORKS(&f, cordon_root_realpath(f.root, "l38", &d, &f.err));
    cordon_root_data_free(&d);
    host_symlink(text("%sl38", way + 1000), host(&f, forms, "few")); /* a hundred down, six hundred up: outside */
    OUTSIDE(&f, cordon_root_realpath(f.root, "few", &d, &f.err));
    fixture_close(&f);
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

static const char *others, *linked;

static void take_the_name(const char *point)
{
    if (strcmp(point, "linked") == 0)
        CHECK(rename(others, linked) == 0);
}

EVERYWHERE(takes_back_no_link_that_somebody_has_replaced)
{
    f->options.flags |= CORDON_ROOT_ALLOW_HARDLINK;
    fixture_reopen(f);
    host_write(host(f, form, "a"), "A");
    host_write(host(f, form, "others"), "theirs");
    others = host(f, form, "others");
    linked = host(f, form, "b");
    guard_hook = take_the_name;
    FAILS(f, cordon_root_link(f->root, at(form, "a"), at(form, "b"), &f->err), "ESTALE");
    guard_hook = NULL;
    CHECK_HOST(host(f, form, "b"), "theirs");
    CHECK_HOST(host(f, form, "a"), "A");
}
