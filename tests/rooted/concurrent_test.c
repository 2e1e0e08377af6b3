/* One root, many threads: content is whole, locks have one winner, patches lose nothing. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sha256.h"
#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"

#define THREADS 4
#define SIZE ((size_t)512 * 1024)
#define REWRITES 100
#define PATCHES 25

static struct fixture f;
static atomic_bool stop;
static atomic_uint reads, bad, temporaries;

static void *watch_content(void *arg)
{
    (void)arg;
    while (!stop) {
        struct cordon_root_data d = {0};
        struct cordon_root_entries l = {0};
        if (cordon_root_read_file(f.root, "a", 0, &d, NULL) == 0) {
            reads++;
            /* All of one letter, and all of it. */
            if (d.len != SIZE || d.data[0] != d.data[SIZE - 1] ||
                memcmp(d.data, d.data + 1, SIZE - 1) != 0)
                bad++;
        }
        cordon_root_data_free(&d);
        if (cordon_root_readdir(f.root, "", false, &l, NULL) == 0 && l.count != 1)
            temporaries++;
        cordon_root_entries_free(&l);
    }
    return NULL;
}

TEST(shows_readers_the_old_content_or_the_new)
{
    fixture_open(&f, 0);
    char *content = malloc(SIZE);
    memset(content, 'a', SIZE);
    WORKS(&f, cordon_root_write_file(f.root, "a", content, SIZE, false, &f.err));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, watch_content, NULL) == 0);
    for (int i = 0; i < REWRITES || reads < 10; i++) {
        memset(content, 'a' + i % 26, SIZE);
        WORKS(&f, cordon_root_write_file(f.root, "a", content, SIZE, false, &f.err));
    }
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    free(content);
    CHECK_INT(bad, 0);
    CHECK_INT(temporaries, 0);
    fixture_close(&f);
}

/* Adds one letter by a patch, again and again until nobody was faster. */
static void *add_letters(void *arg)
{
    const char letter = (char)('a' + (int)(uintptr_t)arg);
    for (int i = 0; i < PATCHES;) {
        struct cordon_root_data d = {0};
        struct cordon_root_data patch = {0};
        char hash[65];
        if (cordon_root_read_file(f.root, "a", 0, &d, NULL) < 0)
            continue;
        char longer[THREADS * PATCHES + 2];
        memcpy(longer, d.data, d.len);
        longer[d.len] = letter;
        sha256_hex(d.data, d.len, hash);
        if (cordon_root_make_patch(d.data, d.len, longer, d.len + 1, &patch) == 0 &&
            cordon_root_write_patch(f.root, "a", patch.data, patch.len, hash, false, NULL) == 0)
            i++;
        cordon_root_data_free(&patch);
        cordon_root_data_free(&d);
    }
    return NULL;
}

TEST(loses_no_patch_of_several_writers)
{
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "");
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, add_letters, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(strlen(host_read(host(&f, forms, "a"))), THREADS * PATCHES);
    fixture_close(&f);
}

/* Another thread puts a whole file in the place of the one that is being patched. */
static int (*put_other)(struct cordon_root_error *err);
static atomic_bool other_done;
static pthread_t other;

static int by_rename(struct cordon_root_error *err)
{
    return cordon_root_rename(f.root, "other", "a", err);
}

static int by_move(struct cordon_root_error *err)
{
    return cordon_root_move(f.root, "other", "a", true, err);
}

static int by_cp(struct cordon_root_error *err)
{
    return cordon_root_cp(f.root, "other", "a", NULL, err);
}

static int by_write(struct cordon_root_error *err)
{
    return cordon_root_write_file(f.root, "a", "other", 5, false, err);
}

static void *run_other(void *arg)
{
    struct cordon_root_error *err = malloc(sizeof *err);
    CHECK(put_other(err) == 0);
    free(err);
    other_done = true;
    return arg;
}

static const char *moment; /* "commit": the patch has been accepted */

/* Then the other one begins, and has long enough, if nothing holds it up. */
static void start_other(const char *point)
{
    if (strcmp(point, moment) != 0 || other != 0)
        return;
    CHECK(pthread_create(&other, NULL, run_other, NULL) == 0);
    for (int i = 0; i < 100 && !other_done; i++)
        usleep(2000);
}

static void await_other(const char *point)
{
    moment = point;
    other_done = false;
    other = 0;
    guard_hook = start_other;
}

TEST(puts_no_patch_over_a_file_that_came_after_its_check)
{
    int (*const ways[])(struct cordon_root_error *err) = {by_write, by_rename, by_move, by_cp};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char hash[65];
        fixture_open(&f, 0);
        host_write(host(&f, forms, "a"), "old");
        host_write(host(&f, forms, "other"), "other");
        sha256_hex("old", 3, hash);
        put_other = ways[i];
        await_other("commit");
        WORKS(&f, cordon_root_write_patch(f.root, "a", "[[[[1,\"x\"]],0,0,0,1]]", 21, hash, false, &f.err));
        pthread_join(other, NULL);
        guard_hook = NULL;
        CHECK_HOST(host(&f, forms, "a"), "other");
        fixture_close(&f);
    }
}

static int by_other_name(struct cordon_root_error *err)
{
    return cordon_root_write_file(f.root, "twin", "longer by far", 13, false, err);
}

static int by_truncate(struct cordon_root_error *err)
{
    return cordon_root_truncate(f.root, "twin", 20, err);
}

static int by_copy(struct cordon_root_error *err)
{
    return cordon_root_copy_file(f.root, "c", "twin", err);
}

/* A file with two names is written in place, and a writer under the other name must not be cut by this one's end. */
TEST(cuts_no_writer_under_another_name)
{
    static const char *const wanted[] = {"longer by far", "short", "copied over it"};
    int (*const ways[])(struct cordon_root_error *err) = {by_other_name, by_truncate, by_copy};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK);
        host_write(host(&f, forms, "a"), "the old content");
        host_write(host(&f, forms, "c"), "copied over it");
        CHECK(link(host(&f, forms, "a"), host(&f, forms, "twin")) == 0);
        put_other = ways[i];
        await_other("cut");
        WORKS(&f, write_text(&f, "a", "short"));
        pthread_join(other, NULL);
        guard_hook = NULL;
        CHECK_HOST(host(&f, forms, "a"), wanted[i]);
        struct cordon_root_stat st;
        WORKS(&f, cordon_root_stat(f.root, "a", &st, &f.err));
        CHECK_INT(st.size, ways[i] == by_truncate ? 20 : strlen(wanted[i]));
        fixture_close(&f);
    }
}

static atomic_uint winners, losers;
static void *take_lock(void *arg)
{
    (void)arg;
    struct cordon_root_data d = {0};
    struct cordon_root_error *err = malloc(sizeof *err);
    if (cordon_root_read_file(f.root, "a", 60000, &d, err) == 0)
        winners++;
    else if (strcmp(err->code, "LOCK") == 0)
        losers++;
    cordon_root_data_free(&d);
    free(err);
    return NULL;
}

TEST(lets_one_of_many_readers_win_a_lock)
{
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "x");
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, take_lock, NULL) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(winners, 1);
    CHECK_INT(losers, 7);
    fixture_close(&f);
}
