#include "rooted/patch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sha256.h"
#include "fixture.h"
#include "harness.h"
#include "rooted/guard.h"

static void applies(const char *from, const char *patch, const char *to)
{
    BUF_AUTO out = BUF_INIT(1 << 20);
    CHECK_INT(patch_apply(from, strlen(from), patch, strlen(patch), &out), 0);
    CHECK_STR(buf_string(&out), to);
}

static void refused(const char *from, const char *patch, int why)
{
    BUF_AUTO out = BUF_INIT(1 << 20);
    CHECK_INT(patch_apply(from, strlen(from), patch, strlen(patch), &out), why);
}

TEST(applies_the_patches_that_clients_make)
{
    applies("hello world", "[[[[0,\"hello \"],[1,\"brave new \"],[0,\"world\"]],0,0,11,21]]",
            "hello brave new world");
    applies("", "[[[[1,\"abc\"]],0,0,0,3]]", "abc");
    applies("abc", "[[[[-1,\"abc\"]],0,0,3,0]]", "");
    applies("abc", "[]", "abc");
    applies("a\xf0\x9f\x94\xa5" "b", "[[[[0,\"a\xf0\x9f\x94\xa5\"],[-1,\"b\"],[1,\"c\"]],0,0,4,4]]",
            "a\xf0\x9f\x94\xa5" "c");
    applies("one\r\ntwo\r\n",
            "[[[[0,\"one\"],[-1,\"\\r\"],[0,\"\\ntwo\"],[-1,\"\\r\"],[0,\"\\n\"]],0,0,10,8]]",
            "one\ntwo\n");
}

TEST(places_later_hunks_in_the_text_that_earlier_ones_made)
{
    char from[4096] = "";
    char to[4096] = "";
    for (int i = 0; i < 200; i++) {
        char line[32];
        snprintf(line, sizeof line, "line %d\n", i);
        strcat(from, line);
        if (i == 50)
            strcat(to, "LINE fifty\n");
        else if (i != 150)
            strcat(to, line);
    }
    applies(from,
            "[[[[0,\" 49\\n\"],[-1,\"line 50\"],[1,\"LINE fifty\"],[0,\"\\nlin\"]],386,386,15,18],"
            "[[[0,\"149\\n\"],[-1,\"line 150\\n\"],[0,\"line\"]],1239,1239,17,8]]",
            to);
}

TEST(refuses_what_is_not_a_patch_or_does_not_fit)
{
    refused("abc", "not json", PATCH_MALFORMED);
    refused("abc", "[", PATCH_MALFORMED);
    refused("abc", "{}", PATCH_NOT_LIST);
    refused("abc", "3", PATCH_NOT_LIST);
    static const char *const bad[] = {
        "[3]", "[[]]", "[[[],0,0,0]]", "[[[[0,\"x\"]],0,0,1,1]]", "[[[[2,\"a\"]],0,0,1,1]]",
        "[[[[0]],0,0,1,1]]", "[[[[0,3]],0,0,1,1]]", "[[[[0,\"a\"]],-1,0,1,1]]",
        "[[[[0,\"a\"]],0,1,1,1]]", "[[[[0,\"a\"]],0,0,2,1]]", "[[[[0,\"a\"]],0,0,1,2]]",
        "[[[[0,\"abcd\"]],0,0,4,4]]", "[[[[0,\"a\"]],0,9999999999,1,1]]",
        "[[[[0,\"b\"]],1,1,1,1],[[[0,\"a\"]],0,0,1,1]]", "[[[[0,\"a\"]],0.5,0,1,1]]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused("abc", bad[i], PATCH_FAILED);
}

/* Made patches apply, whatever the texts. */
TEST(makes_patches_that_apply)
{
    static const char *const bits[] = {"a", "b", "\n", "\xc3\xa4", "\xe2\x82\xac",
                                       "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa6", "word "};
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        char from[512] = "";
        char to[512] = "";
        for (int i = 0; i < 40; i++) {
            seed = seed * 1103515245 + 12345;
            const char *bit = bits[seed >> 16 & 7];
            if ((seed >> 8 & 15) != 0)
                strcat(from, bit);
            if ((seed >> 12 & 15) != 0)
                strcat(to, bit);
        }
        if (round % 7 == 0)
            from[0] = '\0';
        if (round % 11 == 0)
            to[0] = '\0';
        BUF_AUTO patch = BUF_INIT(1 << 20);
        CHECK_INT(patch_make(from, strlen(from), to, strlen(to), &patch), 0);
        applies(from, buf_string(&patch), to);
    }
}

static int patch_file(struct fixture *f, const char *path, const char *patch, const char *base)
{
    char hash[65];
    sha256_hex(base, strlen(base), hash);
    return cordon_root_write_patch(f->root, path, patch, strlen(patch), hash, false, &f->err);
}

TEST(writes_patches_in_the_order_of_checks_that_clients_know)
{
    FOR_EACH_MODE(flags) FOR_EACH_FORM(form)
    {
        struct fixture f;
        fixture_open(&f, flags);
        host_write(host(&f, form, "a"), "hello world");
        const char *good = "[[[[0,\"hello \"],[1,\"brave new \"],[0,\"world\"]],0,0,11,21]]";
        FAILS(&f, patch_file(&f, at(form, "a"), good, "other"), "ETAG_MISMATCH");
        CHECK_STR(f.err.message, "Mismatched base version for patch write");
        FAILS(&f, patch_file(&f, at(form, "missing"), good, ""), "ETAG_MISMATCH");
        FAILS(&f, patch_file(&f, at(form, "a"), "x", "other"), "ETAG_MISMATCH");
        FAILS(&f, patch_file(&f, at(form, "a"), "x", "hello world"), "EINVAL");
        CHECK_STR(f.err.message, "Invalid patch format for writeFile");
        FAILS(&f, patch_file(&f, at(form, "a"), "{}", "hello world"), "EINVAL");
        CHECK_STR(f.err.message, "Invalid patch payload for writeFile");
        FAILS(&f, patch_file(&f, at(form, "a"), "[[1]]", "hello world"), "PATCH_FAILED");
        CHECK_STR(f.err.message, "Failed to apply patch cleanly");
        FAILS(&f, patch_file(&f, at(form, ""), good, ""), "EISDIR");
        CHECK_HOST(host(&f, form, "a"), "hello world");
        const char *upper = "B94D27B9934D3E08A52E52D7DA7DABFAC484EFE37A5380EE9088F7ACE2EFCDE9";
        FAILS(&f, cordon_root_write_patch(f.root, at(form, "a"), good, strlen(good), upper, false,
                                          &f.err), "ETAG_MISMATCH");
        WORKS(&f, patch_file(&f, at(form, "a"), "[]", "hello world"));
        WORKS(&f, patch_file(&f, at(form, "a"), good, "hello world"));
        CHECK_HOST(host(&f, form, "a"), "hello brave new world");
        fixture_close(&f);
    }
}

TEST(writes_deltas_by_the_four_steps)
{
    struct fixture f;
    fixture_open(&f, 0);
    char base[2048], content[2048];
    memset(base, 'x', sizeof base);
    base[2047] = '\0';
    memcpy(content, base, sizeof base);
    content[1000] = 'y';
    host_write(host(&f, forms, "a"), "differs");
    struct cordon_root *r = f.root;
    /* Short, or without a base: written in full. */
    WORKS(&f, cordon_root_write_file_delta(r, "a", "short", 5, "x", 1, 1024, false, &f.err));
    CHECK_HOST(host(&f, forms, "a"), "short");
    WORKS(&f, cordon_root_write_file_delta(r, "a", base, 2047, NULL, 0, 1024, false, &f.err));
    CHECK_HOST(host(&f, forms, "a"), base);
    WORKS(&f, cordon_root_write_file_delta(r, "a", content, 2047, base, 2047, 1024, false, &f.err));
    CHECK_HOST(host(&f, forms, "a"), content);
    /* Equal to its base: nothing happens, even if the disk differs. */
    WORKS(&f, cordon_root_write_file_delta(r, "a", base, 2047, base, 2047, 1024, false, &f.err));
    CHECK_HOST(host(&f, forms, "a"), content);
    /* Another base: the caller is told. */
    FAILS(&f, cordon_root_write_file_delta(r, "a", content, 2047, base, 2047, 1024, false, &f.err),
          "ETAG_MISMATCH");
    WORKS(&f, cordon_root_write_file_delta(r, "a", base, 2047, "", 0, 1024, false, &f.err));
    CHECK_HOST(host(&f, forms, "a"), base);
    /* Not text: in full, since no patch could carry it. */
    content[1000] = '\0';
    WORKS(&f, cordon_root_write_file_delta(r, "a", content, 2047, base, 2047, 1024, false, &f.err));
    content[1000] = 'y';
    WORKS(&f, cordon_root_write_file_delta(r, "a", base, 2047, "\xff", 1, 1024, false, &f.err));
    CHECK_HOST(host(&f, forms, "a"), base);
    fixture_close(&f);
}

/* ---- many processes, one file ---- */

#define PROCESSES 8
#define LINES_EACH 12

static void leave_time(const char *point)
{
    if (strcmp(point, "commit") == 0)
        usleep(2000);
}

/* Adds a line to what is there now; 0, or whatever the interface says. */
static int add_line(struct fixture *f)
{
    struct cordon_root_data old, patch;
    int rc = cordon_root_read_file(f->root, "a", 0, &old, &f->err);
    if (rc < 0)
        return rc;
    char *more = malloc(old.len + 6);
    memcpy(more, old.data, old.len);
    memcpy(more + old.len, "line\n", 6);
    char hash[65];
    sha256_hex(old.data, old.len, hash);
    rc = cordon_root_make_patch(old.data, old.len, more, old.len + 5, &patch);
    if (rc == 0)
        rc = cordon_root_write_patch(f->root, "a", patch.data, patch.len, hash, false, &f->err);
    cordon_root_data_free(&old);
    cordon_root_data_free(&patch);
    free(more);
    return rc;
}

static _Noreturn void add_lines(struct fixture *f)
{
    guard_hook = leave_time;
    fixture_reopen(f); /* each has its own root: they share nothing but the file */
    for (unsigned done = 0; done < LINES_EACH;) {
        if (add_line(f) == 0)
            done++;
        else if (strcmp(f->err.code, "ETAG_MISMATCH") != 0)
            _exit(1);
    }
    _exit(0);
}

static void lose_no_line(uint32_t flags)
{
    struct fixture f;
    fixture_open(&f, flags);
    host_write(host(&f, forms, "a"), "");
    if (flags != 0) /* then it is written in place */
        CHECK(link(host(&f, forms, "a"), host(&f, forms, "b")) == 0);
    pid_t pids[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            add_lines(&f);
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        int status = 0;
        CHECK(waitpid(pids[i], &status, 0) == pids[i]);
        CHECK_INT(status, 0);
    }
    CHECK_INT(strlen(host_read(host(&f, forms, "a"))), 5 * PROCESSES * LINES_EACH);
    fixture_close(&f);
}

TEST(loses_no_patch_of_another_process)
{
    lose_no_line(0);
}

TEST(loses_no_patch_of_another_process_in_place)
{
    lose_no_line(CORDON_ROOT_ALLOW_HARDLINK);
}

TEST(does_not_wait_for_ever_for_whoever_holds_the_file)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "old\n");
    int fd = open(host(&f, forms, "a"), O_RDONLY);
    CHECK(flock(fd, LOCK_EX) == 0);
    patch_busy_ms = 20;
    FAILS(&f, add_line(&f), "EBUSY");
    CHECK_HOST(host(&f, forms, "a"), "old\n");
    close(fd);
    WORKS(&f, add_line(&f));
    CHECK_HOST(host(&f, forms, "a"), "old\nline\n");
    fixture_close(&f);
}

static const char *newer, *replaced;

static void replace_once(const char *point)
{
    if (strcmp(point, "hold") != 0 || newer == NULL)
        return;
    CHECK(rename(newer, replaced) == 0);
    newer = NULL;
}

TEST(patches_what_has_the_name_when_it_is_held)
{
    struct fixture f;
    fixture_open(&f, 0);
    replaced = host(&f, forms, "a");
    newer = host(&f, forms, "b");
    host_write(replaced, "old\n");
    host_write(newer, "newer\n");
    guard_hook = replace_once;
    FAILS(&f, add_line(&f), "ETAG_MISMATCH");
    CHECK_HOST(host(&f, forms, "a"), "newer\n");
    WORKS(&f, add_line(&f));
    CHECK_HOST(host(&f, forms, "a"), "newer\nline\n");
    fixture_close(&f);
}
