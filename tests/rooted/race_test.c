/*
 * The race harness. A swapper process exchanges directories and files with links that lead
 * outside, and renames a parent away, as fast as it can, while four threads go through every reader
 * and every mutator. In the same run the naive way is used as a control: it must escape, else the run proves
 * nothing. CORDON_RACE_SECONDS says how long it runs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/sha256.h"
#include "fixture.h"
#include "harness.h"
#include "sys/entry.h"

#define THREADS 4

static struct fixture f;
static atomic_bool stop;
static _Atomic uint64_t attempts, successes, escapes, eagains, control_tries, control_escapes;

static const char *in_home(const char *name, char *out)
{
    snprintf(out, 512, "%s/%s", f.home, name);
    return out;
}

/* d <-> dl (a link outside), d/file <-> d/fl (a link outside), and e moved away and back. */
static void swapper(void)
{
    char d[512], dl[512], file[512], fl[512], e[512], away[512];
    in_home("d", d), in_home("dl", dl), in_home("s/file", file), in_home("s/fl", fl);
    in_home("e", e), snprintf(away, sizeof away, "%s/away", f.dir);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        sys_renameat2(AT_FDCWD, d, AT_FDCWD, dl, SYS_RENAME_EXCHANGE);
        sys_renameat2(AT_FDCWD, file, AT_FDCWD, fl, SYS_RENAME_EXCHANGE);
        rename(e, away);
        sys_renameat2(AT_FDCWD, d, AT_FDCWD, dl, SYS_RENAME_EXCHANGE);
        rename(away, e);
        sys_renameat2(AT_FDCWD, file, AT_FDCWD, fl, SYS_RENAME_EXCHANGE);
    }
}

static void build(void)
{
    char p[512];
    static const char *const dirs[] = {"d", "d/sub", "e", "e/sub", "s", "plain"};
    for (size_t i = 0; i < 6; i++)
        host_mkdir(in_home(dirs[i], p));
    static const char *const files[] = {"d/file", "d/sub/file", "e/file", "e/sub/file", "s/file",
                                        "plain/file"};
    for (size_t i = 0; i < 6; i++)
        host_write(in_home(files[i], p), "inside");
    host_symlink("../outside/dir", in_home("dl", p));
    host_symlink("../../outside/secret", in_home("s/fl", p));
    host_symlink("../d/../plain/file", in_home("e/dots", p));
    host_mkdir(outside(&f, "dir/sub"));
    host_write(outside(&f, "dir/sub/file"), "canary");
}

/* Everything outside, with its metadata, as one hash. */
static void digest(char out[65])
{
    char *all = NULL;
    size_t size = 0;
    FILE *sum = open_memstream(&all, &size);
    FILE *in = popen(text("cd '%s/outside' && find . -printf '%%p %%y %%m %%n %%s %%T@ %%U\\n' | "
                          "sort && find . -type f | sort | xargs cat", f.dir), "r");
    for (int c; (c = fgetc(in)) != EOF;)
        fputc(c, sum);
    fclose(sum);
    pclose(in);
    sha256_hex(all, size, out);
    free(all);
}

static void note(int rc)
{
    attempts++;
    if (rc == 0)
        successes++;
    if (rc == -EAGAIN)
        eagains++;
}

static void check_text(const char *data, size_t len)
{
    if (memmem(data, len, "canary", 6) != NULL)
        escapes++;
}

static void read_all(struct cordon_root_error *err)
{
    static const char *const paths[] = {"d/file", "d/sub/file", "s/file", "e/file", "e/sub/file",
                                        "e/dots", "plain/file"};
    for (size_t i = 0; i < 7; i++) {
        struct cordon_root_data d = {0};
        struct cordon_root_stat st;
        struct cordon_root_entries l = {0};
        bool there;
        int rc = cordon_root_read_file(f.root, paths[i], 0, &d, err);
        note(rc);
        if (rc == 0)
            check_text(d.data, d.len);
        cordon_root_data_free(&d);
        note(cordon_root_stat(f.root, paths[i], &st, err));
        note(cordon_root_lstat(f.root, paths[i], &st, err));
        note(cordon_root_exists(f.root, paths[i], &there, err));
        rc = cordon_root_realpath(f.root, paths[i], &d, err);
        note(rc);
        if (rc == 0 && strstr(d.data, "outside") != NULL)
            escapes++;
        cordon_root_data_free(&d);
        note(cordon_root_readlink(f.root, paths[i], &d, err));
        cordon_root_data_free(&d);
        rc = cordon_root_readdir(f.root, i % 2 ? "d" : "", i == 3, &l, err);
        note(rc);
        cordon_root_entries_free(&l);
        note(cordon_root_get_listing(f.root, "d/sub", &l, err));
        cordon_root_entries_free(&l);
    }
}

static void change_all(unsigned id, struct cordon_root_error *err)
{
    struct cordon_root *r = f.root;
    const struct cordon_root_cp_options cp = {.size = sizeof cp, .recursive = true};
    const struct cordon_root_cp_options deref = {.size = sizeof deref, .recursive = true,
                                                 .dereference = true};
    const struct cordon_root_rm_options rm = {.size = sizeof rm, .recursive = true, .force = true};
    char mine[64], copy[64], moved[64];
    snprintf(mine, sizeof mine, "d/new%u", id);
    snprintf(copy, sizeof copy, "copy%u", id);
    snprintf(moved, sizeof moved, "d/moved%u/x/y", id);
    note(cordon_root_write_file(r, mine, "inside", 6, false, err));
    note(cordon_root_write_file(r, "d/file", "inside", 6, false, err));
    note(cordon_root_write_file(r, "s/file", "inside", 6, false, err));
    note(cordon_root_append_file(r, "d/sub/file", "+", 1, err));
    note(cordon_root_append_file(r, "s/file", "+", 1, err));
    note(cordon_root_append_file(r, "e/sub/new", "+", 1, err));
    note(cordon_root_truncate(r, "d/file", 6, err));
    note(cordon_root_truncate(r, "s/file", 6, err));
    note(cordon_root_chmod(r, "s/file", 0640, err));
    note(cordon_root_chmod(r, "d/file", 0640, err));
    note(cordon_root_utimes(r, "s/file", 1, 1, err));
    note(cordon_root_utimes(r, "d/sub", 1, 1, err));
    note(cordon_root_write_patch(r, "d/file", "[]", 2,
                                 "b0d8b4bf69aab2b5c7ad5d7dd8b94f4d", false, err));
    note(cordon_root_copy_file(r, "plain/file", "d/file", err));
    note(cordon_root_copy_file(r, "d/file", copy, err));
    const char *got = NULL;
    struct cordon_root_data d = {0};
    if (cordon_root_read_file(r, copy, 0, &d, err) == 0)
        check_text(got = d.data, d.len);
    cordon_root_data_free(&d);
    const char *copies[] = {copy};
    note(cordon_root_rm(r, copies, 1, &rm, err));
    note(cordon_root_cp(r, "d", copy, &cp, err));
    note(cordon_root_cp(r, "s", copy, &deref, err));
    struct cordon_root_entries l = {0};
    if (cordon_root_readdir(r, copy, true, &l, err) == 0) {
        for (size_t i = 0; i < l.count; i++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%.180s", copy, l.entries[i].name);
            if (l.entries[i].type == 'f' && cordon_root_read_file(r, path, 0, &d, err) == 0)
                check_text(d.data, d.len);
            cordon_root_data_free(&d);
        }
    }
    cordon_root_entries_free(&l);
    note(cordon_root_rm(r, copies, 1, &rm, err));
    note(cordon_root_cp(r, "plain", "d/sub/p", &cp, err));
    const char *gone[] = {"d/sub/p", mine};
    note(cordon_root_rm(r, gone, 2, &rm, err));
    note(cordon_root_mkdir(r, "d/m/n", true, 0777, err));
    note(cordon_root_rmdir(r, "d/m", true, err));
    note(cordon_root_mkdir(r, "d/m", false, 0777, err));
    note(cordon_root_rmdir(r, "d/m", false, err));
    note(cordon_root_write_file(r, mine, "inside", 6, false, err));
    note(cordon_root_move(r, mine, moved, true, err));
    note(cordon_root_rename(r, moved, mine, err));
    note(cordon_root_link(r, "s/file", mine, err));
    note(cordon_root_symlink(r, "plain/file", mine, err));
    note(cordon_root_unlink(r, mine, err));
}

static void *worker(void *arg)
{
    const unsigned id = (unsigned)(uintptr_t)arg;
    struct cordon_root_error *err = malloc(sizeof *err);
    while (!stop) {
        read_all(err);
        change_all(id, err);
    }
    free(err);
    return NULL;
}

/* What the reference does: resolve the path, see that it is inside, then use the path. */
static void *control(void *arg)
{
    (void)arg;
    char path[512], real[PATH_MAX], buf[64], home[PATH_MAX];
    in_home("d/sub/file", path);
    if (realpath(f.home, home) == NULL)
        return NULL;
    while (!stop) {
        control_tries++;
        if (realpath(path, real) == NULL || strncmp(real, home, strlen(home)) != 0)
            continue;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t n = read(fd, buf, sizeof buf);
        close(fd);
        if (n > 0 && memmem(buf, (size_t)n, "canary", 6) != NULL)
            control_escapes++;
    }
    return NULL;
}

TEST(never_escapes_however_the_tree_is_swapped)
{
    const char *env = getenv("CORDON_RACE_SECONDS");
    const unsigned seconds = env != NULL ? (unsigned)atoi(env) : 5;
    alarm(seconds + 60);
    fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_ALLOW_SYMLINK);
    build();
    char before[65], after[65];
    digest(before);
    pid_t pid = fork();
    if (pid == 0)
        swapper();
    pthread_t threads[THREADS + 1];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    CHECK(pthread_create(&threads[THREADS], NULL, control, NULL) == 0);
    sleep(seconds);
    /* The control must have struck once: give it as long as that takes, within reason. */
    for (unsigned i = 0; control_escapes == 0 && i < 40; i++)
        sleep(1);
    stop = true;
    for (size_t i = 0; i < THREADS + 1; i++)
        pthread_join(threads[i], NULL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    digest(after);
    test_figure("races: %llu calls, %llu succeeded, %llu escapes; the naive way: %llu escapes in %llu",
           (unsigned long long)attempts, (unsigned long long)successes,
           (unsigned long long)escapes, (unsigned long long)control_escapes,
           (unsigned long long)control_tries);
    CHECK(control_escapes > 0);
    CHECK_INT(escapes, 0);
    CHECK_STR(after, before);
    CHECK(successes > attempts / 100);
    CHECK_INT(eagains, 0);
    cordon_root_close(f.root);
    host_remove(f.dir);
}
