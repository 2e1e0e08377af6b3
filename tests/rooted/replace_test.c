/* What a file keeps when its content is replaced, and which files may not be replaced. */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

#define OTHER_USER 1234
#define OTHER_GROUP 2345

static const char acl_access[] = "system.posix_acl_access";
static const char acl_default[] = "system.posix_acl_default";

/* The kernel's form of an ACL. This one lets another user read and write. */
struct acl {
    uint32_t version;
    struct acl_entry {
        uint16_t tag, perm;
        uint32_t id;
    } entries[5];
};
static const struct acl lets_other_in = {
    2,
    {{0x01, 6, UINT32_MAX},    /* owner */
     {0x02, 6, OTHER_USER},    /* the other user */
     {0x04, 4, UINT32_MAX},    /* group */
     {0x10, 6, UINT32_MAX},    /* mask */
     {0x20, 0, UINT32_MAX}},   /* others */
};

static void become_ordinary(void)
{
    if (geteuid() == 0 && (setgid(1500) < 0 || setuid(1500) < 0))
        test_skip("cannot become an ordinary user");
}

static void set_attribute(const char *path, const char *name, const void *value, size_t len)
{
    if (setxattr(path, name, value, len, 0) < 0 && errno == EOPNOTSUPP)
        test_skip("the file system has no such attributes");
    CHECK(getxattr(path, name, NULL, 0) == (ssize_t)len);
}

EVERYWHERE(keeps_the_attributes_of_ones_own_file)
{
    const char *a = host(f, form, "a");
    host_write(a, "old");
    set_attribute(a, "user.mark", "v", 1);
    for (int i = 0; i < 2; i++) {
        WORKS(f, write_text(f, at(form, "a"), "new"));
        CHECK_HOST(a, "new");
        CHECK_INT(getxattr(a, "user.mark", NULL, 0), 1);
    }
}

EVERYWHERE(keeps_the_acl_of_ones_own_file)
{
    const char *a = host(f, form, "a");
    struct acl kept;
    host_write(a, "old");
    set_attribute(a, acl_access, &lets_other_in, sizeof lets_other_in);
    WORKS(f, write_text(f, at(form, "a"), "new"));
    CHECK_HOST(a, "new");
    CHECK_INT(getxattr(a, acl_access, &kept, sizeof kept), sizeof kept);
    CHECK(memcmp(&kept, &lets_other_in, sizeof kept) == 0);
}

EVERYWHERE(gives_no_acl_to_a_file_that_had_none)
{
    const char *a = host(f, form, "d/a");
    struct stat st;
    host_mkdir(host(f, form, "d"));
    host_write(a, "old");
    CHECK(chmod(a, 0640) == 0);
    set_attribute(host(f, form, "d"), acl_default, &lets_other_in, sizeof lets_other_in);
    WORKS(f, write_text(f, at(form, "d/a"), "new"));
    CHECK_HOST(a, "new");
    CHECK(getxattr(a, acl_access, NULL, 0) < 0 && errno == ENODATA);
    CHECK(stat(a, &st) == 0 && (st.st_mode & 07777) == 0640);
    /* One that had it keeps it, and a new one gets it. */
    set_attribute(a, acl_access, &lets_other_in, sizeof lets_other_in);
    WORKS(f, write_text(f, at(form, "d/a"), "newer"));
    CHECK_INT(getxattr(a, acl_access, NULL, 0), sizeof lets_other_in);
    WORKS(f, write_text(f, at(form, "d/b"), "new"));
    CHECK_INT(getxattr(host(f, form, "d/b"), acl_access, NULL, 0), sizeof lets_other_in);
}

EVERYWHERE(keeps_the_mode_whatever_the_umask)
{
    static const mode_t modes[] = {0666, 0640, 0604, 0600, 0755, 0711, 01644};
    struct stat st;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        host_write(host(f, form, "a"), "old");
        CHECK(chmod(host(f, form, "a"), modes[i]) == 0);
        mode_t before = umask(i % 2 == 0 ? 077 : 0);
        WORKS(f, write_text(f, at(form, "a"), "new"));
        umask(before);
        CHECK(stat(host(f, form, "a"), &st) == 0);
        CHECK_INT(st.st_mode & 07777, modes[i] & 0777);
    }
}

EVERYWHERE(keeps_the_group)
{
    if (geteuid() != 0)
        test_skip("needs root, who can give files away");
    struct stat st;
    host_mkdir(host(f, form, "d"));
    CHECK(chown(host(f, form, "d"), 0, OTHER_GROUP) == 0);
    CHECK(chmod(host(f, form, "d"), 02755) == 0); /* new files get its group */
    host_write(host(f, form, "d/a"), "old");
    CHECK(stat(host(f, form, "d/a"), &st) == 0 && st.st_gid == OTHER_GROUP);
    CHECK(chown(host(f, form, "d/a"), 0, OTHER_GROUP + 1) == 0);
    WORKS(f, write_text(f, at(form, "d/a"), "new"));
    CHECK(stat(host(f, form, "d/a"), &st) == 0);
    CHECK_INT(st.st_gid, OTHER_GROUP + 1);
}

EVERYWHERE(writes_through_a_link_that_stays)
{
    struct stat st;
    host_write(host(f, form, "a"), "old");
    host_symlink("a", host(f, form, "l"));
    WORKS(f, write_text(f, at(form, "l"), "new"));
    CHECK_HOST(host(f, form, "a"), "new");
    CHECK(lstat(host(f, form, "l"), &st) == 0 && S_ISLNK(st.st_mode));
}

EVERYWHERE(refuses_a_program_that_runs)
{
    char *a = strdup(host(f, form, "a"));
    pid_t pid = -1;
    CHECK_INT(system(text("cp /bin/sleep %s", a)), 0);
    int rc = posix_spawn(&pid, a, NULL, NULL, (char *[]){a, (char[]){"60"}, NULL}, NULL);
    if (rc == EACCES)
        test_skip("nothing may be executed here");
    CHECK_INT(rc, 0);
    FAILS(f, write_text(f, at(form, "a"), "new"), "ETXTBSY");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    WORKS(f, write_text(f, at(form, "a"), "new"));
    free(a);
}

TEST(refuses_the_owner_whom_the_mode_forbids)
{
    become_ordinary();
    struct fixture f;
    fixture_open(&f, 0);
    host_write(host(&f, forms, "a"), "old");
    CHECK(chmod(host(&f, forms, "a"), 0466) == 0); /* everybody else may */
    FAILS(&f, write_text(&f, "a", "new"), "EACCES");
    CHECK_HOST(host(&f, forms, "a"), "old");
    CHECK(chmod(host(&f, forms, "a"), 0200) == 0);
    WORKS(&f, write_text(&f, "a", "new"));
    CHECK(chmod(host(&f, forms, "a"), 0600) == 0);
    CHECK_HOST(host(&f, forms, "a"), "new");
    fixture_close(&f);
}

TEST(keeps_names_linked_where_links_are_allowed)
{
    static const uint32_t flags[] = {CORDON_ROOT_ALLOW_HARDLINK, CORDON_ROOT_UNSAFE};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        fixture_open(&f, flags[i]);
        host_write(host(&f, forms, "a"), "old");
        CHECK(link(host(&f, forms, "a"), host(&f, forms, "b")) == 0);
        WORKS(&f, write_text(&f, "a", "new"));
        CHECK_HOST(host(&f, forms, "b"), "new");
        fixture_close(&f);
    }
}

/* d/no may be written by its owner alone, d/yes by everybody. */
static void make_files_of_another(struct fixture *f)
{
    if (geteuid() != 0)
        test_skip("needs root, who can give files away");
    fixture_open(f, 0);
    host_mkdir(host(f, forms, "d"));
    CHECK(chmod(f->dir, 0755) == 0 && chmod(f->home, 0755) == 0);
    CHECK(chmod(host(f, forms, "d"), 0777) == 0);
    static const char *const names[] = {"d/no", "d/yes"};
    for (size_t i = 0; i < 2; i++) {
        host_write(host(f, forms, names[i]), "old");
        CHECK(chmod(host(f, forms, names[i]), i == 0 ? 0644 : 0666) == 0);
        CHECK(chown(host(f, forms, names[i]), OTHER_USER, OTHER_GROUP) == 0);
    }
}

TEST(treats_the_file_of_another_as_the_kernel_does)
{
    struct fixture f;
    struct stat before, after;
    make_files_of_another(&f);
    CHECK(stat(host(&f, forms, "d/yes"), &before) == 0);
    CHECK(seteuid(1500) == 0);
    FAILS(&f, write_text(&f, "d/no", "new"), "EACCES");
    CHECK_HOST(host(&f, forms, "d/no"), "old");
    WORKS(&f, write_text(&f, "d/yes", "new")); /* in place: it stays the other's */
    CHECK(stat(host(&f, forms, "d/yes"), &after) == 0);
    CHECK(after.st_ino == before.st_ino && after.st_uid == OTHER_USER);
    CHECK_HOST(host(&f, forms, "d/yes"), "new");
    CHECK(seteuid(0) == 0);
    fixture_close(&f);
}

TEST(refuses_root_whom_the_mode_forbids)
{
    struct fixture f;
    make_files_of_another(&f);
    WORKS(&f, write_text(&f, "d/no", "by root"));
    /* Root still may give files away, but no longer write to all. */
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct all[2], some[2];
    CHECK(syscall(SYS_capget, &header, all) == 0);
    memcpy(some, all, sizeof some);
    some[0].effective &= ~(1u << CAP_DAC_OVERRIDE);
    CHECK(syscall(SYS_capset, &header, some) == 0);
    FAILS(&f, write_text(&f, "d/no", "new"), "EACCES");
    CHECK(syscall(SYS_capset, &header, all) == 0);
    CHECK_HOST(host(&f, forms, "d/no"), "by root");
    fixture_close(&f);
}
