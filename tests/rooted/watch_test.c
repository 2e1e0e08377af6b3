/* Events, in the order the contract demands. Waits end when the event comes, not by the clock. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"

static struct cordon_root_watch *start(struct fixture *f, const char *path,
                                       struct cordon_root_watch_options o)
{
    struct cordon_root_watch *w = NULL;
    o.size = sizeof o;
    WORKS(f, cordon_root_watch_open(f->root, path, &o, &w, &f->err));
    return w;
}

/* The next event as "add name"; "" if none comes within the time. */
static const char *next(struct fixture *f, struct cordon_root_watch *w, int ms)
{
    struct cordon_root_event e;
    int rc = cordon_root_watch_next(w, ms, &e, &f->err);
    if (rc < 0)
        return f->err.message;
    if (rc == 0)
        return "";
    const char *out = text("%s %s", e.event, e.name);
    cordon_root_event_free(&e);
    return out;
}

#define LONG 20000 /* ms; only reached when something is broken */
#define QUIET 300
#define NEXT(want) CHECK_STR(next(&f, w, LONG), want)
#define NO_MORE() CHECK_STR(next(&f, w, QUIET), "")

static void live_in_a_directory(const struct form *form)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, form, "old"), "x");
    host_mkdir(host(&f, form, "olddir"));
    const struct cordon_root_watch_options none = {0};
    struct cordon_root_watch *w = start(&f, at(form, ""), none);
    NO_MORE(); /* what is there at the start is no news */
    host_mkdir(host(&f, form, "dir"));
    NEXT("addDir dir");
    host_symlink("nowhere", host(&f, form, "link"));
    NEXT("add link");
    host_write(host(&f, form, "old"), "changed");
    NEXT("change old");
    NO_MORE();
    chmod(host(&f, form, "old"), 0600);
    NEXT("change old");
    host_write(host(&f, form, "dir/inner"), "");
    NO_MORE(); /* depth 0 */
    CHECK(rename(host(&f, form, "old"), host(&f, form, "new")) == 0);
    NEXT("add new");
    NEXT("unlink old");
    unlink(host(&f, form, "new"));
    NEXT("unlink new");
    CHECK(rmdir(host(&f, form, "olddir")) == 0);
    NEXT("unlinkDir olddir");
    NO_MORE();
    cordon_root_watch_close(w);
    fixture_close(&f);
}

TEST(says_what_happens_in_a_directory)
{
    for_each_form_at_once(live_in_a_directory);
}

TEST(sees_a_replaced_file_as_changed_and_no_temporary_name)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "z"), "x");
    struct cordon_root_watch *w = start(&f, "", (struct cordon_root_watch_options){0});
    for (int i = 0; i < 5; i++)
        WORKS(&f, cordon_root_write_file(f.root, "z", "new", 3, false, &f.err));
    NEXT("change z");
    NO_MORE();
    unlink(host(&f, forms, "z"));
    host_write(host(&f, forms, "z"), "again");
    /* A change before the unlink may be said; an unlink may not. */
    NEXT("change z");
    NO_MORE();
    cordon_root_watch_close(w);
    fixture_close(&f);
}

TEST(says_add_before_change_before_unlink)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_watch *w = start(&f, "", (struct cordon_root_watch_options){0});
    host_write(host(&f, forms, "a"), "x");
    unlink(host(&f, forms, "a"));
    NEXT("add a");
    const char *event = next(&f, w, LONG);
    if (strcmp(event, "change a") == 0)
        event = next(&f, w, LONG);
    CHECK_STR(event, "unlink a");
    NO_MORE();
    cordon_root_watch_close(w);
    fixture_close(&f);
}

TEST(watches_one_file_also_before_it_exists)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_watch *w = start(&f, "a", (struct cordon_root_watch_options){.stats = true});
    host_write(host(&f, forms, "other"), "x");
    NO_MORE();
    int fd = open(host(&f, forms, "a"), O_WRONLY | O_CREAT, 0644);
    NEXT("add ");
    CHECK(write(fd, "12345", 5) == 5);
    close(fd);
    struct cordon_root_event e;
    CHECK_INT(cordon_root_watch_next(w, LONG, &e, &f.err), 1);
    CHECK_STR(e.event, "change");
    CHECK(e.has_stat && e.stat.size == 5);
    unlink(host(&f, forms, "a"));
    NEXT("unlink ");
    host_write(host(&f, forms, "a"), "");
    NEXT("add ");
    cordon_root_watch_close(w);
    w = start(&f, "a", (struct cordon_root_watch_options){.close_on_unlink = true});
    unlink(host(&f, forms, "a"));
    NEXT("unlink ");
    CHECK(cordon_root_watch_done(w));
    cordon_root_watch_close(w);
    fixture_close(&f);
}

TEST(says_that_the_watched_directory_is_gone)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    host_write(host(&f, forms, "d/a"), "");
    struct cordon_root_watch *w = start(&f, "d", (struct cordon_root_watch_options){0});
    unlink(host(&f, forms, "d/a"));
    CHECK(rmdir(host(&f, forms, "d")) == 0);
    NEXT("unlinkDir ");
    NEXT("unlink a");
    CHECK(cordon_root_watch_done(w));
    cordon_root_watch_close(w);
    fixture_close(&f);
}

TEST(bounds_its_queue)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_watch *w = start(&f, "", (struct cordon_root_watch_options){.max_queue = 2});
    host_mkdir(host(&f, forms, "1"));
    host_mkdir(host(&f, forms, "2"));
    host_mkdir(host(&f, forms, "3"));
    NEXT("addDir 2");
    CHECK_INT(cordon_root_watch_queue_size(w), 1);
    NEXT("addDir 3");
    cordon_root_watch_close(w);
    w = start(&f, "", (struct cordon_root_watch_options){.max_queue = 2,
                                                         .throw_on_overflow = true});
    host_mkdir(host(&f, forms, "4"));
    host_mkdir(host(&f, forms, "5"));
    host_mkdir(host(&f, forms, "6"));
    NEXT("maxQueue overflow");
    CHECK(cordon_root_watch_done(w));
    cordon_root_watch_close(w);
    fixture_close(&f);
}

/* How many events the kernel keeps for somebody who does not read them. */
static unsigned kernel_queue(void)
{
    unsigned size = 0;
    FILE *in = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (in == NULL || fscanf(in, "%u", &size) != 1)
        size = 0;
    if (in != NULL)
        fclose(in);
    if (size == 0 || size > 65536)
        test_skip("the kernel's queue is not known, or larger than a test should fill");
    return size;
}

TEST(finds_out_what_happened_when_the_kernel_lost_events)
{
    struct fixture f;
    const unsigned size = kernel_queue();
    fixture_open(&f, 0);
    host_write(host(&f, forms, "becomes-dir"), "x");
    host_mkdir(host(&f, forms, "becomes-file"));
    host_write(host(&f, forms, "goes"), "x");
    host_write(host(&f, forms, "stays"), "x");
    struct cordon_root_watch *w = start(&f, "", (struct cordon_root_watch_options){0});
    const char *dir = host(&f, forms, "noise");
    for (unsigned i = 0; i <= size / 2; i++)
        CHECK(mkdir(dir, 0755) == 0 && rmdir(dir) == 0);
    CHECK(unlink(host(&f, forms, "becomes-dir")) == 0 && unlink(host(&f, forms, "goes")) == 0);
    CHECK(rmdir(host(&f, forms, "becomes-file")) == 0);
    host_mkdir(host(&f, forms, "becomes-dir"));
    host_write(host(&f, forms, "becomes-file"), "x");
    host_write(host(&f, forms, "comes"), "x");
    unsigned seen = 0;
    static const char *const wanted[] = {"unlink becomes-dir", "addDir becomes-dir", "unlinkDir becomes-file",
                                         "add becomes-file", "unlink goes", "add comes"};
    for (const char *event; *(event = next(&f, w, 1000)) != '\0';) {
        for (unsigned i = 0; i < 6; i++)
            seen |= strcmp(event, wanted[i]) == 0 ? 1u << i : 0;
    }
    for (unsigned i = 0; i < 6; i++) {
        if ((seen & 1u << i) == 0)
            test_fail(__FILE__, __LINE__, "nobody said: %s", wanted[i]);
    }
    cordon_root_watch_close(w);
    fixture_close(&f);
}

TEST(waits_until_a_file_is_stable)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_watch *w =
        start(&f, "", (struct cordon_root_watch_options){.stability_ms = 200});
    host_write(host(&f, forms, "a"), "1");
    CHECK_STR(next(&f, w, 0), "");
    NEXT("add a");
    NO_MORE();
    host_write(host(&f, forms, "b"), "1");
    unlink(host(&f, forms, "b"));
    CHECK_STR(next(&f, w, 500), ""); /* nobody needs to hear of it */
    cordon_root_watch_close(w);
    fixture_close(&f);
}

TEST(sends_patches_for_what_others_change_and_no_echo)
{
    struct fixture f;
    fixture_open(&f, 0);
    WORKS(&f, cordon_root_write_file(f.root, "a", "hello world", 11, true, &f.err));
    struct cordon_root_watch *w = start(&f, "a", (struct cordon_root_watch_options){.patch = true});
    WORKS(&f, cordon_root_write_file(f.root, "a", "hello brave world", 17, true, &f.err));
    NO_MORE(); /* our own */
    host_write(host(&f, forms, "a"), "hello new world");
    struct cordon_root_event e;
    CHECK_INT(cordon_root_watch_next(w, LONG, &e, &f.err), 1);
    CHECK(e.patch.data != NULL && e.patch_seq == 0);
    struct cordon_root_data made;
    CHECK_INT(cordon_root_make_patch("hello brave world", 17, "hello new world", 15, &made), 0);
    CHECK_STR(e.patch.data, made.data);
    cordon_root_data_free(&made);
    cordon_root_event_free(&e);
    host_write(host(&f, forms, "a"), "hello world");
    NO_MORE(); /* seen within the last 15 s */
    cordon_root_watch_close(w);
    fixture_close(&f);
}

/* In one step, so that nobody sees a part of it; whether the event had a patch. */
static bool replaced_with_patch(struct fixture *f, struct cordon_root_watch *w, const char *content)
{
    struct cordon_root_event e;
    char from[300];
    strcpy(from, host(f, forms, "b"));
    host_write(from, content);
    CHECK_INT(rename(from, host(f, forms, "a")), 0);
    CHECK_INT(cordon_root_watch_next(w, LONG, &e, &f->err), 1);
    CHECK_STR(e.event, "change");
    const bool patched = e.patch.data != NULL;
    cordon_root_event_free(&e);
    return patched;
}

TEST(sends_no_patch_from_or_to_a_million_units)
{
    struct fixture f;
    const size_t units = 1000000;
    char *large = malloc(units + 1);
    CHECK(large != NULL);
    memset(large, 'x', units);
    large[units] = '\0';
    fixture_open(&f, 0);
    WORKS(&f, cordon_root_write_file(f.root, "a", "old", 3, true, &f.err));
    struct cordon_root_watch *w = start(&f, "a", (struct cordon_root_watch_options){.patch = true});
    CHECK(!replaced_with_patch(&f, w, large));
    large[units - 1] = '\0';
    CHECK(!replaced_with_patch(&f, w, large));
    large[units - 2] = '\0';
    CHECK(replaced_with_patch(&f, w, large));
    cordon_root_watch_close(w);
    fixture_close(&f);
    free(large);
}

TEST(keeps_up_with_a_large_directory)
{
    struct fixture f;
    enum { MANY = 20000, NEW = 500 };
    alarm(120);
    fixture_open(&f, 0);
    int dir = open(host(&f, forms, ""), O_RDONLY | O_DIRECTORY);
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "old%d", i);
        close(openat(dir, name, O_WRONLY | O_CREAT, 0644));
    }
    struct cordon_root_watch *w = start(&f, "", (struct cordon_root_watch_options){0});
    for (int i = 0; i < NEW; i++) {
        snprintf(name, sizeof name, "new%d", i);
        CHECK(mkdirat(dir, name, 0755) == 0);
    }
    for (int i = 0; i < NEW; i++)
        NEXT(text("addDir new%d", i));
    NO_MORE();
    close(dir);
    cordon_root_watch_close(w);
    fixture_close(&f);
}

static void *end_it(void *w)
{
    usleep(50000);
    cordon_root_watch_end(w);
    return NULL;
}

TEST(ends_from_another_thread_and_ignores_for_a_while)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_watch *w = start(&f, "", (struct cordon_root_watch_options){0});
    cordon_root_watch_ignore(w, 60000);
    host_mkdir(host(&f, forms, "1"));
    NO_MORE();
    cordon_root_watch_ignore(w, 0);
    host_mkdir(host(&f, forms, "2"));
    NEXT("addDir 2");
    pthread_t t;
    pthread_create(&t, NULL, end_it, w);
    CHECK_STR(next(&f, w, -1), "");
    CHECK(cordon_root_watch_done(w));
    pthread_join(t, NULL);
    cordon_root_watch_close(w);
    fixture_close(&f);
}

static struct {
    int files[2];
    unsigned turn;
    struct cordon_root_watch *ends; /* after some noise */
} noise;

/* Whenever the queue has been read, there is something in it again; of two files, since the kernel merges equal ones. */
static void make_noise(const char *point)
{
    if (strcmp(point, "drain") != 0)
        return;
    CHECK(pwrite(noise.files[noise.turn++ % 2], "x", 1, 0) == 1);
    if (noise.ends != NULL && noise.turn > 1000)
        cordon_root_watch_end(noise.ends);
}

TEST(tells_and_ends_while_somebody_changes_things_without_end)
{
    struct fixture f;
    alarm(120);
    fixture_open(&f, 0);
    const struct cordon_root_watch_options none = {0};
    struct cordon_root_watch *w = start(&f, "", none);
    for (int i = 0; i < 2; i++)
        noise.files[i] = open(host(&f, forms, i == 0 ? "a" : "b"), O_WRONLY | O_CREAT, 0600);
    guard_hook = make_noise;
    NEXT("add a");
    NEXT("add b");
    CHECK(strncmp(next(&f, w, LONG), "change ", 7) == 0);
    noise.turn = 0;
    noise.ends = w;
    while (!cordon_root_watch_done(w))
        next(&f, w, -1);
    guard_hook = NULL;
    cordon_root_watch_close(w);
    fixture_close(&f);
}

static bool set_limit(const char *name, const char *value)
{
    FILE *file = fopen(text("/proc/sys/user/%s", name), "w");
    const bool written = file != NULL && fputs(value, file) >= 0;
    return file != NULL && fclose(file) == 0 && written;
}

TEST(says_which_limit_on_watches_is_reached)
{
    struct fixture f;
    struct cordon_root_watch *w = NULL;
    fixture_open(&f, 0);
    if (unshare(CLONE_NEWUSER) < 0 || !set_limit("max_inotify_watches", "0")) {
        host_remove(f.dir);
        test_skip("needs a user namespace, whose limits are its own");
    }
    FAILS(&f, cordon_root_watch_open(f.root, "a", NULL, &w, &f.err), "ENOSPC");
    CHECK_STR(f.err.message, "ENOSPC: System limit for number of file watchers reached, watch 'a'");
    CHECK(set_limit("max_inotify_instances", "0"));
    FAILS(&f, cordon_root_watch_open(f.root, "a", NULL, &w, &f.err), "EMFILE");
    CHECK(strstr(f.err.message, "fs.inotify.max_user_instances") != NULL);
    FAILS(&f, cordon_root_sync_fs_watch(f.root, "a", true, &f.err), "EMFILE");
    fixture_close(&f);
}

TEST(watches_nothing_outside)
{
    struct fixture f;
    fixture_open(&f, 0);
    make_escapes(&f, forms);
    struct cordon_root_watch *w = NULL;
    OUTSIDE(&f, cordon_root_watch_open(f.root, "escd", NULL, &w, &f.err));
    OUTSIDE(&f, cordon_root_watch_open(f.root, "escd_rel/file", NULL, &w, &f.err));
    FAILS(&f, cordon_root_watch_open(f.root, "missing/x", NULL, &w, &f.err), "ENOENT");
    CHECK_STR(f.err.message, "ENOENT: no such file or directory, watch 'missing/x'");
    fixture_close(&f);
}
