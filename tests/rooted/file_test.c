/* Reading, writing and changing single files, for every way to name a base. */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

EVERYWHERE(creates_reads_overwrites_and_appends)
{
    WORKS(f, write_text(f, at(form, "a"), "hello"));
    CHECK_HOST(host(f, form, "a"), "hello");
    CHECK_CONTENT(f, at(form, "a"), "hello");
    WORKS(f, write_text(f, at(form, "a"), "x"));
    WORKS(f, append_text(f, at(form, "a"), "yz"));
    CHECK_CONTENT(f, at(form, "a"), "xyz");
    WORKS(f, append_text(f, at(form, "new"), "n"));
    CHECK_CONTENT(f, at(form, "new"), "n");
    WORKS(f, write_text(f, at(form, "empty"), ""));
    CHECK_CONTENT(f, at(form, "empty"), "");
    FAILS(f, write_text(f, at(form, "missing/a"), "x"), "ENOENT");
    FAILS(f, append_text(f, at(form, "missing/a"), "x"), "ENOENT");
}

EVERYWHERE(says_errors_as_node_does)
{
    struct cordon_root_data data;
    struct cordon_root_stat st;
    FAILS(f, cordon_root_read_file(f->root, at(form, "q"), 0, &data, &f->err), "ENOENT");
    CHECK_STR(f->err.message, text("ENOENT: no such file or directory, open '%sq'", form->shown));
    CHECK_INT(f->err.errnum, -2);
    CHECK_STR(f->err.path, text("%sq", form->shown));
    CHECK_STR(f->err.syscall, "open");
    FAILS(f, cordon_root_stat(f->root, at(form, "q"), &st, &f->err), "ENOENT");
    CHECK_STR(f->err.message, text("ENOENT: no such file or directory, stat '%sq'", form->shown));
    FAILS(f, cordon_root_chmod(f->root, at(form, "q"), 0644, &f->err), "ENOENT");
    CHECK_STR(f->err.syscall, "open");
    FAILS(f, cordon_root_rename(f->root, at(form, "q"), at(form, "r"), &f->err), "ENOENT");
    CHECK_STR(f->err.message, text("ENOENT: no such file or directory, rename '%sq' -> '%sr'",
                                   form->shown, form->shown));
    FAILS(f, rm(f, at(form, "q"), false, false), "ENOENT");
    CHECK_STR(f->err.syscall, "lstat");

    host_write(host(f, form, "file"), "x");
    FAILS(f, cordon_root_read_file(f->root, at(form, "file/x"), 0, &data, &f->err), "ENOTDIR");
    CHECK_STR(f->err.syscall, "realpath");
    FAILS(f, write_text(f, at(form, "file/x"), "y"), "ENOTDIR");
    CHECK_STR(f->err.syscall, "realpath");
    host_mkdir(host(f, form, "dir"));
    FAILS(f, cordon_root_read_file(f->root, at(form, "dir"), 0, &data, &f->err), "EISDIR");
    CHECK_STR(f->err.message, "EISDIR: illegal operation on a directory, read");
    CHECK(!f->err.has_path);
    FAILS(f, write_text(f, at(form, "dir"), "y"), "EISDIR");
    FAILS(f, append_text(f, at(form, "dir"), "y"), "EISDIR");
    FAILS(f, cordon_root_truncate(f->root, at(form, "dir"), 0, &f->err), "EISDIR");
    FAILS(f, cordon_root_truncate(f->root, at(form, "q"), 0, &f->err), "ENOENT");
    struct cordon_root_entries list;
    FAILS(f, cordon_root_readdir(f->root, at(form, "q"), false, &list, &f->err), "ENOENT");
    CHECK_STR(f->err.syscall, "scandir");
    FAILS(f, cordon_root_readdir(f->root, at(form, "file"), false, &list, &f->err), "ENOTDIR");
    CHECK_STR(f->err.syscall, "scandir");
    FAILS(f, cordon_root_get_listing(f->root, at(form, "q"), &list, &f->err), "ENOENT");
    CHECK_STR(f->err.syscall, "opendir");
    FAILS(f, cordon_root_readlink(f->root, at(form, "file"), &data, &f->err), "EINVAL");
    CHECK(!exists(f, at(form, "file/x")));
    CHECK(!exists(f, at(form, "q")));
    char name[300];
    memset(name, 'n', sizeof name);
    name[299] = '\0';
    FAILS(f, write_text(f, at(form, name), ""), "ENAMETOOLONG");
}

EVERYWHERE(changes_metadata)
{
    struct cordon_root_stat st;
    host_write(host(f, form, "a"), "12345");
    WORKS(f, cordon_root_chmod(f->root, at(form, "a"), 0755, &f->err));
    WORKS(f, cordon_root_stat(f->root, at(form, "a"), &st, &f->err));
    CHECK_INT(st.mode, 0100755);
    CHECK_INT(st.size, 5);
    CHECK_INT(st.type, 'f');
    CHECK_INT(st.nlink, 1);
    WORKS(f, cordon_root_utimes(f->root, at(form, "a"), 1000.25, 2000.5, &f->err));
    WORKS(f, cordon_root_stat(f->root, at(form, "a"), &st, &f->err));
    CHECK(st.atime_ms == 1000250.0 && st.mtime_ms == 2000500.0);
    CHECK(st.birthtime_ms > 1e12);
    WORKS(f, cordon_root_truncate(f->root, at(form, "a"), 3, &f->err));
    CHECK_CONTENT(f, at(form, "a"), "123");
    WORKS(f, cordon_root_truncate(f->root, at(form, "a"), 5, &f->err));
    WORKS(f, cordon_root_stat(f->root, at(form, "a"), &st, &f->err));
    CHECK_INT(st.size, 5);
    WORKS(f, cordon_root_truncate(f->root, at(form, "a"), -1, &f->err));
    CHECK_CONTENT(f, at(form, "a"), "");
    WORKS(f, cordon_root_stat(f->root, at(form, ""), &st, &f->err));
    CHECK_INT(st.type, 'd');
    WORKS(f, cordon_root_lstat(f->root, at(form, ""), &st, &f->err));
    CHECK_INT(st.type, 'd');
}

EVERYWHERE(answers_promptly_for_a_file_that_is_leased)
{
    struct cordon_root_data d;
    host_write(host(f, form, "a"), "A");
    signal(SIGIO, SIG_IGN); /* which asks for it back */
    int fd = open(host(f, form, "a"), O_RDWR);
    if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
        test_skip("this file system has no leases");
    FAILS(f, cordon_root_read_file(f->root, at(form, "a"), 0, &d, &f->err), "EBUSY");
    CHECK(fcntl(fd, F_SETLEASE, F_UNLCK) == 0);
    CHECK_CONTENT(f, at(form, "a"), "A");
    close(fd);
}

EVERYWHERE(answers_promptly_for_what_is_not_a_file)
{
    struct cordon_root_data d;
    mkfifo(host(f, form, "fifo"), 0600);
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    strncpy(sun.sun_path, host(f, form, "sock"), sizeof sun.sun_path - 1);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(s, (const struct sockaddr *)&sun, sizeof sun) == 0);
    alarm(5);
    static const char *const names[] = {"fifo", "sock"};
    for (size_t i = 0; i < 2; i++) {
        FAILS(f, cordon_root_read_file(f->root, at(form, names[i]), 0, &d, &f->err), "EINVAL");
        FAILS(f, write_text(f, at(form, names[i]), "x"), "EINVAL");
        FAILS(f, append_text(f, at(form, names[i]), "x"), "EINVAL");
        FAILS(f, cordon_root_truncate(f->root, at(form, names[i]), 0, &f->err), "EINVAL");
        FAILS(f, cordon_root_copy_file(f->root, at(form, names[i]), at(form, "c"), &f->err),
              "EINVAL");
    }
    close(s);
}

EVERYWHERE(keeps_what_a_replaced_file_has)
{
    struct stat before, after;
    host_write(host(f, form, "a"), "old");
    chmod(host(f, form, "a"), 0640);
    bool root = geteuid() == 0;
    if (root)
        CHECK(chown(host(f, form, "a"), 1234, 2345) == 0);
    bool xattrs = setxattr(host(f, form, "a"), "user.mark", "v", 1, 0) == 0;
    stat(host(f, form, "a"), &before);
    WORKS(f, write_text(f, at(form, "a"), "new"));
    stat(host(f, form, "a"), &after);
    CHECK(before.st_ino != after.st_ino); /* replaced, not rewritten */
    CHECK_INT(after.st_mode, before.st_mode);
    CHECK(after.st_uid == before.st_uid && after.st_gid == before.st_gid);
    char value[4];
    CHECK(!xattrs || getxattr(host(f, form, "a"), "user.mark", value, sizeof value) == 1);
    /* Set-id bits go, as they do on every write. */
    chmod(host(f, form, "a"), 06755);
    WORKS(f, write_text(f, at(form, "a"), "new"));
    stat(host(f, form, "a"), &after);
    CHECK_INT(after.st_mode & 07777, 0755);
}

EVERYWHERE(gives_no_file_the_identity_of_its_owner)
{
    static const mode_t modes[] = {04755, 02755, 06777};
    struct stat st;
    host_write(host(f, form, "a"), "x");
    host_symlink("a", host(f, form, "l"));
    host_mkdir(host(f, form, "d"));
    for (size_t i = 0; i < 3; i++) {
        chmod(host(f, form, "a"), 0644);
        if (flags == 0) {
            FAILS(f, cordon_root_chmod(f->root, at(form, "a"), modes[i], &f->err), "EPERM");
            FAILS(f, cordon_root_chmod(f->root, at(form, "l"), modes[i], &f->err), "EPERM");
            CHECK(strstr(f->err.message, "set-user-ID") != NULL); /* not for want of a right */
        } else {
            WORKS(f, cordon_root_chmod(f->root, at(form, "a"), modes[i], &f->err));
        }
        CHECK(stat(host(f, form, "a"), &st) == 0);
        CHECK_INT(st.st_mode & 07777, flags == 0 ? 0644 : modes[i]);
        WORKS(f, cordon_root_chmod(f->root, at(form, "d"), modes[i], &f->err));
        CHECK(stat(host(f, form, "d"), &st) == 0 && (st.st_mode & 07777) == modes[i]);
    }
    chmod(host(f, form, "a"), 06755);
    WORKS(f, cordon_root_chmod(f->root, at(form, "a"), 01755, &f->err)); /* takes them away */
    CHECK(stat(host(f, form, "a"), &st) == 0 && (st.st_mode & 07777) == 01755);
}

TEST(breaks_hard_links_in_safe_mode_with_the_gate_closed)
{
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "old");
    CHECK(link(host(&f, forms, "a"), host(&f, forms, "b")) == 0);
    WORKS(&f, write_text(&f, "a", "new"));
    CHECK_HOST(host(&f, forms, "b"), "old");
    CHECK_HOST(host(&f, forms, "a"), "new");
    fixture_close(&f);
}

TEST(writes_in_place_where_the_directory_is_not_writable)
{
    if (geteuid() == 0 && (setgid(1500) < 0 || setuid(1500) < 0))
        test_skip("cannot become an ordinary user");
    struct fixture f;
    fixture_open(&f, 0);
    host_mkdir(host(&f, forms, "d"));
    host_write(host(&f, forms, "d/a"), "old and long");
    host_write(host(&f, forms, "d/ro"), "x");
    chmod(host(&f, forms, "d/ro"), 0444);
    chmod(host(&f, forms, "d"), 0555);
    WORKS(&f, write_text(&f, "d/a", "new"));
    CHECK_HOST(host(&f, forms, "d/a"), "new");
    FAILS(&f, write_text(&f, "d/new", "x"), "EACCES");
    host_write(host(&f, forms, "source"), "copied");
    WORKS(&f, cordon_root_copy_file(f.root, "source", "d/a", &f.err));
    CHECK_HOST(host(&f, forms, "d/a"), "copied");
    chmod(host(&f, forms, "d"), 0755);
    FAILS(&f, write_text(&f, "d/ro", "y"), "EACCES"); /* rename could, but the mode says no */
    CHECK_HOST(host(&f, forms, "d/ro"), "x");
    /* Neither chmod nor utimes needs to read the file. */
    chmod(host(&f, forms, "d/ro"), 0);
    WORKS(&f, cordon_root_utimes(f.root, "d/ro", 1, 1, &f.err));
    WORKS(&f, cordon_root_chmod(f.root, "d/ro", 0600, &f.err));
    fixture_close(&f);
}
