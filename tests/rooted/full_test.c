/* A file that is written in place keeps its content if there is no room for the new one. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

#define USER 1500
#define KEPT_BYTES 60000
#define TOO_MANY 400000

static const char *letters(char letter, size_t len)
{
    static char text[TOO_MANY + 1];
    memset(text, letter, len);
    text[len] = '\0';
    return text;
}

/* A home with room for 256 KiB, in it d/keep; in the scratch a file that does not fit. */
static void open_small(struct fixture *f, uint32_t flags)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        test_skip("mounting needs root");
    fixture_open(f, flags);
    CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    CHECK(mount("none", f->home, "tmpfs", 0, "size=256k,mode=755") == 0);
    CHECK(chmod(f->dir, 0755) == 0 && chmod(f->scratch, 0755) == 0);
    host_mkdir(host(f, forms, "d"));
    host_write(host(f, forms, "d/keep"), letters('A', KEPT_BYTES));
    CHECK(chown(host(f, forms, "d/keep"), USER, USER) == 0);
    host_write(host(f, &forms[2], "large"), letters('B', TOO_MANY));
    host_write(host(f, &forms[2], "small"), "small");
}

static void close_small(struct fixture *f)
{
    CHECK(umount2(f->home, MNT_DETACH) == 0);
    fixture_close(f);
}

static void is_kept(const struct fixture *f)
{
    const char *now = host_read(host(f, forms, "d/keep"));
    CHECK_INT(strlen(now), KEPT_BYTES);
    CHECK_INT(strspn(now, "A"), KEPT_BYTES);
}

/* It fits afterwards as before: nothing stays reserved. */
static void has_room(struct fixture *f)
{
    WORKS(f, write_text(f, "d/keep", letters('C', 2 * KEPT_BYTES)));
    struct stat st;
    CHECK(stat(host(f, forms, "d/keep"), &st) == 0 && st.st_size == 2 * KEPT_BYTES);
    WORKS(f, write_text(f, "d/keep", "short"));
    CHECK_HOST(host(f, forms, "d/keep"), "short");
}

/* By each way to write; afterwards what fits is taken. */
static void refuses_what_does_not_fit(struct fixture *f)
{
    FAILS(f, write_text(f, "d/keep", letters('B', TOO_MANY)), "ENOSPC");
    is_kept(f);
    FAILS(f, cordon_root_copy_file(f->root, "/scratch/large", "d/keep", &f->err), "ENOSPC");
    is_kept(f);
    FAILS(f, cordon_root_cp(f->root, "/scratch/large", "d/keep", NULL, &f->err), "ENOSPC");
    is_kept(f);
    has_room(f);
}

TEST(keeps_the_content_where_the_directory_is_not_writable)
{
    struct fixture f;
    open_small(&f, 0);
    CHECK(seteuid(USER) == 0);
    refuses_what_does_not_fit(&f);
    WORKS(&f, cordon_root_cp(f.root, "/scratch/small", "d/keep", NULL, &f.err));
    CHECK_HOST(host(&f, forms, "d/keep"), "small");
    CHECK(seteuid(0) == 0);
    close_small(&f);
}

TEST(keeps_the_content_where_names_stay_linked)
{
    struct fixture f;
    open_small(&f, CORDON_ROOT_ALLOW_HARDLINK);
    CHECK(link(host(&f, forms, "d/keep"), host(&f, forms, "d/two")) == 0);
    refuses_what_does_not_fit(&f);
    CHECK_HOST(host(&f, forms, "d/two"), "short");
    close_small(&f);
}

TEST(keeps_the_content_where_the_group_cannot_be_given)
{
    struct fixture f;
    open_small(&f, 0);
    CHECK(chown(host(&f, forms, "d/keep"), USER, 2345) == 0);
    CHECK(chmod(host(&f, forms, "d"), 0777) == 0);
    CHECK(seteuid(USER) == 0);
    refuses_what_does_not_fit(&f);
    CHECK(seteuid(0) == 0);
    close_small(&f);
}
