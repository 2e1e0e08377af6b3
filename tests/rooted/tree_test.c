/* Trees that are deep, wide, and gone through with few descriptors. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

#define DEEP 20000
#define WIDE 100000

static void few_descriptors(void)
{
    const struct rlimit few = {64, 64};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
}

/* In memory if that can be, whatever TMPDIR says: these trees would keep a disk busy for minutes. */
static void in_memory(void)
{
    struct statvfs room;
    if (access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &room) == 0 &&
        room.f_favail > 3 * (fsfilcnt_t)WIDE)
        setenv("TMPDIR", "/dev/shm", 1);
}

/* The path is far too long for any call that takes one. */
static void make_deep(int dir, unsigned levels)
{
    for (unsigned i = 0; i < levels; i++) {
        CHECK(mkdirat(dir, "d", 0755) == 0);
        int next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
        CHECK(next >= 0);
        close(dir);
        dir = next;
    }
    close(openat(dir, "bottom", O_WRONLY | O_CREAT, 0644));
    close(dir);
}

static unsigned depth_of(int dir)
{
    unsigned levels = 0;
    for (int next; (next = openat(dir, "d", O_RDONLY | O_DIRECTORY)) >= 0; levels++) {
        close(dir);
        dir = next;
    }
    struct stat st;
    CHECK(fstatat(dir, "bottom", &st, 0) == 0);
    close(dir);
    return levels;
}

static int cp(struct fixture *f, const char *from, const char *to)
{
    const struct cordon_root_cp_options o = {.size = sizeof o, .recursive = true};
    return cordon_root_cp(f->root, from, to, &o, &f->err);
}

TEST(copies_and_removes_a_tree_of_20000_levels)
{
    struct fixture f;
    alarm(300);
    in_memory();
    fixture_open(&f, 0);
    few_descriptors();
    host_mkdir(host(&f, forms, "deep"));
    make_deep(open(host(&f, forms, "deep"), O_RDONLY | O_DIRECTORY), DEEP);
    WORKS(&f, cp(&f, "deep", "copy"));
    CHECK_INT(depth_of(open(host(&f, forms, "copy"), O_RDONLY | O_DIRECTORY)), DEEP);
    WORKS(&f, rm(&f, "copy", true, false));
    WORKS(&f, rm(&f, "deep", true, false));
    CHECK(!host_exists(host(&f, forms, "deep")) && !host_exists(host(&f, forms, "copy")));
    fixture_close(&f);
}

TEST(walks_a_tree_deeper_than_its_descriptors)
{
    struct fixture f;
    fixture_open(&f, 0);
    few_descriptors();
    host_mkdir(host(&f, forms, "deep"));
    make_deep(open(host(&f, forms, "deep"), O_RDONLY | O_DIRECTORY), 1000);
    struct cordon_root_entries l;
    WORKS(&f, cordon_root_readdir(f.root, "deep", true, &l, &f.err));
    CHECK_INT(l.count, 1001);
    cordon_root_entries_free(&l);
    fixture_close(&f);
}

/* What no call could name is not listed: it would take memory by the square of the depth. */
TEST(lists_what_can_be_named)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "deep"));
    make_deep(open(host(&f, forms, "deep"), O_RDONLY | O_DIRECTORY), 5000);
    FOR_EACH_FORM(form)
    {
        if (strcmp(form->dir, "home") != 0)
            continue;
        struct cordon_root_entries l;
        struct cordon_root_stat st;
        WORKS(&f, cordon_root_readdir(f.root, at(form, "deep"), true, &l, &f.err));
        CHECK(l.count > 2000 && l.count < 2048);
        const char *longest = l.entries[l.count - 1].name;
        WORKS(&f, cordon_root_lstat(f.root, text("deep/%s", longest), &st, &f.err));
        FAILS(&f, cordon_root_lstat(f.root, text("deep/%s/d", longest), &st, &f.err), "ENAMETOOLONG");
        cordon_root_entries_free(&l);
    }
    WORKS(&f, rm(&f, "deep", true, false));
    fixture_close(&f);
}

TEST(handles_100000_siblings)
{
    struct fixture f;
    alarm(300);
    in_memory();
    fixture_open(&f, 0);
    few_descriptors();
    host_mkdir(host(&f, forms, "wide"));
    int dir = open(host(&f, forms, "wide"), O_RDONLY | O_DIRECTORY);
    char name[32];
    for (int i = 0; i < WIDE; i++) {
        snprintf(name, sizeof name, "f%d", i);
        int fd = openat(dir, name, O_WRONLY | O_CREAT, 0644);
        CHECK(fd >= 0);
        close(fd);
    }
    close(dir);
    struct cordon_root_entries l;
    WORKS(&f, cordon_root_get_listing(f.root, "wide", &l, &f.err));
    CHECK_INT(l.count, WIDE);
    cordon_root_entries_free(&l);
    WORKS(&f, cp(&f, "wide", "copy"));
    WORKS(&f, cordon_root_readdir(f.root, "copy", true, &l, &f.err));
    CHECK_INT(l.count, WIDE);
    cordon_root_entries_free(&l);
    WORKS(&f, rm(&f, "copy", true, false));
    WORKS(&f, rm(&f, "wide", true, false));
    fixture_close(&f);
}

static uint64_t seen;
static int stop_at_ten(void *user, uint64_t entries, uint64_t bytes)
{
    (void)user, (void)bytes;
    seen = entries;
    return entries >= 10;
}

TEST(tells_its_progress_and_can_be_stopped)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "t"));
    char name[32];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "t/f%d", i);
        host_write(host(&f, forms, name), "x");
    }
    const struct cordon_root_rm_options rm_o = {.size = sizeof rm_o, .recursive = true,
                                                .progress = stop_at_ten};
    const struct cordon_root_cp_options cp_o = {.size = sizeof cp_o, .recursive = true,
                                                .progress = stop_at_ten};
    const char *p = "t";
    FAILS(&f, cordon_root_cp(f.root, "t", "u", &cp_o, &f.err), "ECANCELED");
    CHECK_INT(seen, 10);
    FAILS(&f, cordon_root_rm(f.root, &p, 1, &rm_o, &f.err), "ECANCELED");
    CHECK_INT(seen, 10);
    fixture_close(&f);
}
