/* The root itself: its bases, its refusals, its locks and its options. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

TEST(keeps_bases_apart)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, &forms[0], "a"), "home");
    host_write(host(&f, &forms[2], "a"), "scratch");
    host_write(host(&f, &forms[3], "a"), "rootfs");
    CHECK_CONTENT(&f, "a", "home");
    CHECK_CONTENT(&f, "/root/a", "home");
    CHECK_CONTENT(&f, "/scratch/a", "scratch");
    CHECK_CONTENT(&f, "/a", "rootfs");
    FAILS(&f, cordon_root_rename(f.root, "a", "/scratch/b", &f.err), "EXDEV");
    FAILS(&f, cordon_root_move(f.root, "a", "/scratch/b", false, &f.err), "EXDEV");
    CHECK_STR(f.err.message, "cross-base move is not supported");
    WORKS(&f, cordon_root_copy_file(f.root, "a", "/scratch/b", &f.err));
    CHECK_CONTENT(&f, "/scratch/b", "home");
    WORKS(&f, cordon_root_cp(f.root, "/scratch/a", "c", NULL, &f.err));
    CHECK_CONTENT(&f, "c", "scratch");
    /* A link from one base into another leaves its base. */
    struct cordon_root_data d;
    host_symlink(host(&f, &forms[2], "a"), host(&f, forms, "x1"));
    host_symlink("/scratch/a", host(&f, forms, "x2"));
    host_symlink("/a", host(&f, forms, "x3"));
    OUTSIDE(&f, cordon_root_read_file(f.root, "x1", 0, &d, &f.err));
    OUTSIDE(&f, cordon_root_read_file(f.root, "x2", 0, &d, &f.err));
    OUTSIDE(&f, cordon_root_read_file(f.root, "x3", 0, &d, &f.err));
    /* But an absolute link as programs inside see it is fine. */
    host_symlink("/root/a", host(&f, forms, "y1"));
    host_symlink("/scratch/a", host(&f, &forms[2], "y2"));
    host_symlink("/a", host(&f, &forms[3], "y3"));
    CHECK_CONTENT(&f, "y1", "home");
    CHECK_CONTENT(&f, "/scratch/y2", "scratch");
    CHECK_CONTENT(&f, "/y3", "rootfs");
    fixture_close(&f);
}

/* The program may change its directory; the root stays where it is. */
TEST(stays_where_it_was_opened)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "mine");
    host_mkdir(text("%s/outside/dir/home", f.dir));
    host_write(text("%s/outside/dir/home/a", f.dir), "another's");
    CHECK(chdir(f.dir) == 0);
    f.options.home = "home";
    f.options.scratch = "./scratch";
    fixture_reopen(&f);
    CHECK_CONTENT(&f, "a", "mine");
    CHECK(chdir(text("%s/outside/dir", f.dir)) == 0);
    CHECK_CONTENT(&f, "a", "mine");
    WORKS(&f, write_text(&f, "a", "changed"));
    CHECK_HOST(host(&f, forms, "a"), "changed");
    WORKS(&f, write_text(&f, "/scratch/s", "S"));
    host_symlink(host(&f, forms, "a"), host(&f, forms, "abs"));
    CHECK_CONTENT(&f, "abs", "changed");
    CHECK_HOST("home/a", "another's");
    host_remove(text("%s/outside/dir/home", f.dir));
    CHECK(chdir("/") == 0);
    fixture_close(&f);
}

TEST(sends_absolute_paths_home_without_a_rootfs)
{
    struct fixture f;
    fixture_open(&f, 0);
    f.options.rootfs = NULL;
    f.options.scratch = NULL;
    fixture_reopen(&f);
    host_write(host(&f, forms, "x"), "X");
    WORKS(&f, cordon_root_copy_file(f.root, "/x", "/tmp", &f.err));
    CHECK_HOST(host(&f, forms, "tmp"), "X");
    struct cordon_root_data d;
    FAILS(&f, cordon_root_read_file(f.root, "/etc/passwd", 0, &d, &f.err), "ENOENT");
    CHECK_STR(f.err.path, "etc/passwd");
    CHECK_INT(cordon_root_read_file(f.root, "/scratch/x", 0, &d, &f.err), -EINVAL);
    CHECK_STR(f.err.message, "scratch is not mounted; cannot access absolute path '/scratch/x'");
    CHECK_STR(f.err.code, "");
    fixture_close(&f);
}

TEST(says_that_a_base_is_not_mounted_and_uses_it_when_it_appears)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_data d;
    CHECK(rmdir(f.rootfs) == 0 && rmdir(f.scratch) == 0);
    CHECK_INT(cordon_root_read_file(f.root, "/etc//x", 0, &d, &f.err), -EINVAL);
    CHECK_STR(f.err.message, "rootfs is not mounted; cannot access absolute path '/etc/x'. Start "
                             "the workspace and try again.");
    check_no_leak(&f, __FILE__, __LINE__);
    CHECK_INT(cordon_root_read_file(f.root, "/scratch/y", 0, &d, &f.err), -EINVAL);
    CHECK_STR(f.err.message, "scratch is not mounted; cannot access absolute path '/scratch/y'. "
                             "Start the workspace and try again.");
    WORKS(&f, write_text(&f, "/root/a", "still works"));
    host_mkdir(f.rootfs);
    host_mkdir(f.scratch);
    WORKS(&f, write_text(&f, "/a", "now"));
    WORKS(&f, write_text(&f, "/scratch/a", "now"));
    fixture_close(&f);
}

TEST(follows_a_base_that_is_replaced_while_it_lives)
{
    struct fixture f;
    struct cordon_root_data d;
    fixture_open(&f, 0);
    WORKS(&f, write_text(&f, "a", "first"));
    CHECK(rename(f.home, text("%s/away", f.dir)) == 0);
    FAILS(&f, cordon_root_read_file(f.root, "a", 0, &d, &f.err), "ENOENT");
    host_mkdir(f.home);
    FAILS(&f, cordon_root_read_file(f.root, "a", 0, &d, &f.err), "ENOENT");
    WORKS(&f, cordon_root_mkdir(f.root, "new", false, 0777, &f.err));
    CHECK(host_exists(host(&f, forms, "new")));
    WORKS(&f, write_text(&f, "a", "second"));
    CHECK_HOST(host(&f, forms, "a"), "second");
    CHECK_HOST(text("%s/away/a", f.dir), "first");
    host_remove(f.home);
    CHECK(rename(text("%s/away", f.dir), f.home) == 0);
    CHECK_CONTENT(&f, "a", "first");
    WORKS(&f, cordon_root_mkdir(f.root, "d", false, 0777, &f.err));
    CHECK(host_exists(host(&f, forms, "d")));
    fixture_close(&f);
}

static unsigned denials;
static char last_denial[9000];
static void on_denial(void *user, const struct cordon_root_denial *d)
{
    CHECK(user == &denials);
    denials++;
    CHECK_STR(d->mode, "safe");
    snprintf(last_denial, sizeof last_denial, "%s %s %s %s", d->method, d->path, d->code,
             d->message);
}

TEST(refuses_every_mutator_on_a_readonly_root)
{
    struct fixture f;
    fixture_open(&f, CORDON_ROOT_ALLOW_HARDLINK | CORDON_ROOT_ALLOW_SYMLINK);
    f.options.flags |= CORDON_ROOT_READONLY;
    f.options.on_denial = on_denial;
    f.options.user = &denials;
    fixture_reopen(&f);
    host_write(host(&f, forms, "a"), "A");
    host_mkdir(host(&f, forms, "d"));
    const char *path = "/root/a";
    struct cordon_root *r = f.root;
    struct cordon_root_error *e = &f.err;
    const char *rejected = "EACCES: permission denied -- read only filesystem, open ";
#define REFUSED(call, quoted)                                    \
    do {                                                         \
        unsigned before = denials;                               \
        FAILS(&f, call, "EACCES");                               \
        CHECK_STR(f.err.message, text("%s'%s'", rejected, quoted)); \
        CHECK_INT(f.err.errnum, -13);                            \
        CHECK_STR(f.err.syscall, "open");                        \
        CHECK_INT(denials, before + 1);                          \
    } while (0)
    REFUSED(append_text(&f, path, "x"), "/root/a");
    REFUSED(write_text(&f, path, "x"), "/root/a");
    REFUSED(cordon_root_write_patch(r, path, "[]", 2, "", false, e), "/root/a");
    REFUSED(cordon_root_write_file_delta(r, path, "abc", 3, "abc", 3, 0, false, e), "/root/a");
    REFUSED(cordon_root_write_file_delta(r, path, "abc", 3, NULL, 0, 0, false, e), "/root/a");
    REFUSED(cordon_root_chmod(r, path, 0777, e), "/root/a");
    REFUSED(cordon_root_copy_file(r, path, "b", e), "b");
    REFUSED(cordon_root_cp(r, path, "b", NULL, e), "b");
    REFUSED(cordon_root_cp_list(r, &path, 1, "d", NULL, e), "d");
    REFUSED(cordon_root_link(r, path, "b", e), "b");
    REFUSED(cordon_root_symlink(r, path, "b", e), "b");
    REFUSED(cordon_root_mkdir(r, "m", false, 0777, e), "m");
    REFUSED(cordon_root_mkdir(r, "d", true, 0777, e), "d");
    REFUSED(cordon_root_move(r, path, "b", false, e), "b");
    REFUSED(cordon_root_rename(r, path, "b", e), "b");
    REFUSED(rm(&f, path, true, true), "/root/a");
    REFUSED(cordon_root_rmdir(r, "d", false, e), "d");
    REFUSED(cordon_root_truncate(r, path, 0, e), "/root/a");
    REFUSED(cordon_root_unlink(r, path, e), "/root/a");
    REFUSED(cordon_root_utimes(r, path, 1, 1, e), "/root/a");
    CHECK_CONTENT(&f, "a", "A");
    WORKS(&f, cordon_root_lock_file(r, path, 1, e));
    struct cordon_root_counters n;
    cordon_root_counters(r, &n);
    CHECK_INT(n.readonly, 20);
    CHECK_INT(n.denials, 20);
    fixture_close(&f);
}

TEST(reports_each_denial_once)
{
    struct fixture f;
    fixture_open(&f, 0);
    f.options.on_denial = on_denial;
    f.options.user = &denials;
    fixture_reopen(&f);
    make_escapes(&f, forms);
    struct cordon_root_data d;
    OUTSIDE(&f, cordon_root_read_file(f.root, "/root/esc", 0, &d, &f.err));
    CHECK_INT(denials, 1);
    CHECK_STR(last_denial, "readFile /root/esc EACCES realpath of '/root/esc' resolves to a path "
                           "outside of sandbox");
    CHECK_INT(cordon_root_read_file(f.root, "esc", 0, &d, NULL), -EACCES);
    CHECK_INT(denials, 2);
    FAILS(&f, cordon_root_read_file(f.root, "q", 0, &d, &f.err), "ENOENT");
    CHECK_INT(denials, 2);
    struct cordon_root_counters n;
    cordon_root_counters(f.root, &n);
    CHECK(n.calls == 3 && n.failures == 3 && n.denials == 2 && n.outside == 2);
    f.options.flags = CORDON_ROOT_UNSAFE;
    fixture_reopen(&f);
    WORKS(&f, cordon_root_read_file(f.root, "esc", 0, &d, &f.err));
    cordon_root_data_free(&d);
    fixture_close(&f);
}

TEST(locks_for_readers_only)
{
    struct fixture f;
    fixture_open(&f, 0);
    struct cordon_root_data d;
    struct cordon_root_stat st;
    host_write(host(&f, forms, "p"), "P");
    WORKS(&f, cordon_root_read_file(f.root, "p", 60000, &d, &f.err));
    cordon_root_data_free(&d);
    FAILS(&f, cordon_root_read_file(f.root, "/root//p", 1, &d, &f.err), "LOCK");
    CHECK_STR(f.err.message, "path is locked - /root//p");
    WORKS(&f, cordon_root_stat(f.root, "p", &st, &f.err));
    WORKS(&f, write_text(&f, "p", "Q"));
    WORKS(&f, cordon_root_lock_file(f.root, "p", 0, &f.err));
    CHECK_CONTENT(&f, "p", "Q");
    WORKS(&f, cordon_root_lock_file(f.root, "missing", 60000, &f.err));
    FAILS(&f, cordon_root_read_file(f.root, "missing", 0, &d, &f.err), "LOCK");
    WORKS(&f, cordon_root_lock_file(f.root, "missing", 0, &f.err));
    FAILS(&f, cordon_root_read_file(f.root, "missing", 0, &d, &f.err), "ENOENT");
    WORKS(&f, cordon_root_lock_file(f.root, "p", 1, &f.err));
    usleep(20000);
    CHECK_CONTENT(&f, "p", "Q");
    fixture_close(&f);
}

TEST(refuses_options_without_a_home)
{
    struct cordon_root *r = NULL;
    struct cordon_root_error err;
    struct cordon_root_options o = {.size = sizeof o};
    CHECK_INT(cordon_root_open(&o, &r, &err), -EINVAL);
    CHECK_STR(err.code, "ERR_INVALID_ARG_VALUE");
    static const char *const bad[] = {"relative"};
    o = (struct cordon_root_options){
        .size = sizeof o, .home = "/tmp", .home_aliases = bad, .home_alias_count = 1};
    CHECK_INT(cordon_root_open(&o, &r, &err), -EINVAL);
    o = (struct cordon_root_options){.home = "/tmp"};
    CHECK_INT(cordon_root_open(&o, &r, &err), -EINVAL);
}

TEST(refuses_options_of_another_size)
{
    struct fixture f;
    fixture_open(&f, 0);
    const char *path = "a";
    struct cordon_root_watch *w = NULL;
    FAILS(&f, cordon_root_cp(f.root, "a", "b", &(struct cordon_root_cp_options){0}, &f.err),
          "ERR_INVALID_ARG_VALUE");
    FAILS(&f, cordon_root_rm(f.root, &path, 1, &(struct cordon_root_rm_options){0}, &f.err),
          "ERR_INVALID_ARG_VALUE");
    FAILS(&f, cordon_root_watch_open(f.root, "", &(struct cordon_root_watch_options){.size = 3}, &w,
                                     &f.err), "ERR_INVALID_ARG_VALUE");
    fixture_close(&f);
}

TEST(knows_the_constants_clients_need)
{
    static const struct cordon_root_constant want[] = {
        {"O_RDONLY", 0}, {"O_WRONLY", 1}, {"O_RDWR", 2}, {"S_IFMT", 61440}, {"S_IFREG", 32768},
        {"S_IFDIR", 16384}, {"S_IFLNK", 40960}, {"S_IFBLK", 24576}, {"S_IFCHR", 8192},
        {"S_IFIFO", 4096}, {"S_IFSOCK", 49152}, {"F_OK", 0}, {"R_OK", 4}, {"COPYFILE_EXCL", 1},
        {"UV_DIRENT_BLOCK", 7}};
    size_t count = 0;
    const struct cordon_root_constant *all = cordon_root_constants(&count);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        size_t k = 0;
        while (k < count && strcmp(all[k].name, want[i].name) != 0)
            k++;
        CHECK(k < count);
        CHECK_INT(all[k].value, want[i].value);
    }
}
