#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"

#define LONG 20000 /* ms; only reached when something is broken */

static void expect(struct fixture *f, const char *type, const char *path, const char *content)
{
    struct cordon_root_sync_event e;
    CHECK_INT(cordon_root_sync_next(f->root, LONG, &e, &f->err), 1);
    CHECK_STR(e.type, type);
    CHECK_STR(e.path, path);
    CHECK_STR(e.content.data != NULL ? e.content.data : "", content);
    CHECK_INT(strlen(e.sha256), 64);
    cordon_root_sync_event_free(&e);
}

static void nothing(struct fixture *f)
{
    struct cordon_root_sync_event e;
    CHECK_INT(cordon_root_sync_next(f->root, 800, &e, &f->err), 0);
}

static void edit(const struct form *form)
{
    struct fixture f;
    fixture_open(&f, 0);
    char path[64];
    strcpy(path, at(form, "a"));
    host_write(host(&f, form, "a"), "one");
    WORKS(&f, cordon_root_sync_fs_watch(f.root, path, true, &f.err));
    host_write(host(&f, form, "a"), "one two");
    expect(&f, "change", path, "one two");
    /* A save through the interface is no news to those who edit. */
    WORKS(&f, cordon_root_write_file(f.root, path, "mine", 4, true, &f.err));
    nothing(&f);
    /* But another's edit right after it is. */
    host_write(host(&f, form, "a"), "theirs");
    expect(&f, "change", path, "theirs");
    unlink(host(&f, form, "a"));
    expect(&f, "delete", path, "");
    host_write(host(&f, form, "a"), "back");
    expect(&f, "change", path, "back");
    WORKS(&f, cordon_root_unlink(f.root, path, &f.err));
    expect(&f, "delete", path, "");
    nothing(&f);
    WORKS(&f, cordon_root_sync_fs_watch(f.root, path, false, &f.err));
    host_write(host(&f, form, "a"), "nobody listens");
    nothing(&f);
    fixture_close(&f);
}

TEST(tells_what_others_change_while_somebody_edits)
{
    for_each_form_at_once(edit);
}

TEST(remembers_snapshots_across_roots)
{
    struct fixture f;
    fixture_open(&f, 0);
    char store[300];
    strcpy(store, text("%s/store", f.dir));
    host_mkdir(store);
    f.options.sync_dir = store;
    fixture_reopen(&f);
    host_write(host(&f, forms, "a"), "before");
    WORKS(&f, cordon_root_sync_fs_watch(f.root, "a", true, &f.err));
    fixture_reopen(&f);
    host_write(host(&f, forms, "a"), "changed while nobody looked");
    WORKS(&f, cordon_root_sync_fs_watch(f.root, "a", true, &f.err));
    expect(&f, "change", "a", "changed while nobody looked");
    fixture_close(&f);
}

TEST(sends_patches_from_what_was_last_told_and_from_nothing_after_a_delete)
{
    struct fixture f;
    struct cordon_root_sync_event e;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "one");
    WORKS(&f, cordon_root_sync_fs_watch(f.root, "a", true, &f.err));
    unlink(host(&f, forms, "a"));
    expect(&f, "delete", "a", "");
    host_write(host(&f, forms, "a"), "one again");
    CHECK_INT(cordon_root_sync_next(f.root, LONG, &e, &f.err), 1);
    CHECK_STR(e.patch.data, "[[[[1,\"one again\"]],0,0,0,9]]");
    cordon_root_sync_event_free(&e);
    fixture_close(&f);
}

/* A checkout, or whoever moves a directory away and makes another one. */
TEST(follows_the_path_to_another_directory)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    host_write(host(&f, forms, "d/a"), "one");
    WORKS(&f, cordon_root_sync_fs_watch(f.root, "d/a", true, &f.err));
    CHECK(rename(host(&f, forms, "d"), host(&f, forms, "away")) == 0);
    WORKS(&f, cordon_root_sync_fs_watch(f.root, "d/a", true, &f.err));
    expect(&f, "delete", "d/a", "");
    host_mkdir(host(&f, forms, "d"));
    host_write(host(&f, forms, "d/a"), "two");
    WORKS(&f, cordon_root_sync_fs_watch(f.root, "d/a", true, &f.err));
    expect(&f, "change", "d/a", "two");
    host_write(host(&f, forms, "d/a"), "three");
    expect(&f, "change", "d/a", "three");
    host_write(host(&f, forms, "away/a"), "nobody listens");
    nothing(&f);
    fixture_close(&f);
}

TEST(keeps_256_paths_and_drops_the_oldest)
{
    struct fixture f;
    char name[16];
    fixture_open(&f, 0);
    for (int i = 0; i <= 256; i++) {
        snprintf(name, sizeof name, "f%d", i);
        host_write(host(&f, forms, name), "x");
        WORKS(&f, cordon_root_sync_fs_watch(f.root, name, true, &f.err));
        if (i == 0)
            usleep(5000); /* the first is the oldest by the clock, too */
    }
    host_write(host(&f, forms, "f0"), "nobody listens");
    nothing(&f);
    host_write(host(&f, forms, "f256"), "news");
    expect(&f, "change", "f256", "news");
    fixture_close(&f);
}

TEST(refuses_heartbeats_for_what_leads_outside)
{
    struct fixture f;
    fixture_open(&f, 0);
    make_escapes(&f, forms);
    OUTSIDE(&f, cordon_root_sync_fs_watch(f.root, "esc", true, &f.err));
    OUTSIDE(&f, cordon_root_sync_fs_watch(f.root, "escd/file", true, &f.err));
    fixture_close(&f);
}

static int noisy[2];

static void make_noise(const char *point)
{
    static unsigned turn;
    if (strcmp(point, "drain") == 0)
        CHECK(pwrite(noisy[turn++ % 2], "x", 1, 0) == 1);
}

/* The root is locked while the queue is read: every other call would wait for whoever makes the noise. */
TEST(keeps_nobody_waiting_while_somebody_changes_things_without_end)
{
    struct fixture f;
    alarm(120);
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "one");
    for (int i = 0; i < 2; i++)
        noisy[i] = open(host(&f, forms, i == 0 ? "x" : "y"), O_WRONLY | O_CREAT, 0600);
    WORKS(&f, cordon_root_sync_fs_watch(f.root, "a", true, &f.err));
    guard_hook = make_noise;
    nothing(&f);
    host_write(host(&f, forms, "a"), "two");
    expect(&f, "change", "a", "two");
    guard_hook = NULL;
    fixture_close(&f);
}
