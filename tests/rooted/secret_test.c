/*
 * A writer that is stopped at each of its system calls: a stranger who may not open the file may
 * not open what is about to take its place either, at no moment, since he would keep it open.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/sha256.h"
#include "fixture.h"
#include "harness.h"
#include "rooted/temporary.h"

#define STRANGER 1234
#define HIS_GROUP 2345

/* The kernel's form of an ACL. */
struct acl {
    uint32_t version;
    struct acl_entry {
        uint16_t tag, perm;
        uint32_t id;
    } entries[5];
};
#define ACL(his, others)                                                       \
    {2, {{0x01, 6, UINT32_MAX}, {0x02, (his), STRANGER}, {0x04, 4, UINT32_MAX}, \
         {0x10, 6, UINT32_MAX}, {0x20, (others), UINT32_MAX}}}
static const struct acl lets_him_in = ACL(6, 0);
static const struct acl keeps_him_out = ACL(0, 4);

struct secret {
    const char *name;
    mode_t mode;
    gid_t group, dir_group;
    const struct acl *acl, *dir_acl; /* of the file; of what is made in its directory */
};
static const struct secret secrets[] = {
    {"by_the_acl_of_the_directory", 0660, 0, 0, NULL, &lets_him_in},
    {"by_the_group_of_the_directory", 0660, HIS_GROUP + 1, HIS_GROUP, NULL, NULL},
    {"by_the_mode_without_the_acl", 0664, 0, 0, &keeps_him_out, NULL},
};

enum { NOTHING, SHUT, OPENED };

static int try_to_open(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_NONBLOCK) >= 0 ||
                   openat(dir, name, O_WRONLY | O_NONBLOCK) >= 0
               ? OPENED : SHUT;
}

/* What he finds in the directory: `name`, or NULL for the temporary file. */
static int as_stranger(const char *path, const char *name)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setgid(HIS_GROUP) < 0 || setuid(STRANGER) < 0)
            _exit(9);
        DIR *dir = opendir(path);
        struct dirent *e = dir != NULL ? readdir(dir) : NULL;
        while (e != NULL && !(name != NULL ? strcmp(e->d_name, name) == 0 : temporary_is(e->d_name)))
            e = readdir(dir);
        _exit(dir == NULL ? 9 : e == NULL ? NOTHING : try_to_open(dirfd(dir), e->d_name));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= OPENED);
    return WEXITSTATUS(status);
}

typedef int writer(struct fixture *f);

static int write_whole(struct fixture *f)
{
    return write_text(f, "d/a", "new");
}

static int write_by_patch(struct fixture *f)
{
    static const char patch[] = "[[[[-1,\"old\"],[1,\"new\"]],0,0,3,3]]";
    char hash[65];
    sha256_hex("old", 3, hash);
    return cordon_root_write_patch(f->root, "d/a", patch, sizeof patch - 1, hash, false, &f->err);
}

static int copy_one(struct fixture *f)
{
    return cordon_root_copy_file(f->root, "new", "d/a", &f->err);
}

static int copy_entry(struct fixture *f)
{
    return cordon_root_cp(f->root, "new", "d/a", NULL, &f->err);
}

static void keeps_secret(struct fixture *f, writer *write)
{
    const char *dir = host(f, forms, "d");
    unsigned met = 0;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(write(f) == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    bool opened = false;
    while (WIFSTOPPED(status)) {
        int found = as_stranger(dir, NULL);
        met += found != NOTHING;
        opened = opened || found == OPENED;
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        waitpid(pid, &status, 0);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(met > 0);
    CHECK(!opened);
    CHECK_HOST(host(f, forms, "d/a"), "new");
    CHECK_INT(as_stranger(dir, "a"), SHUT);
}

static void make_secret(struct fixture *f, const struct secret *s)
{
    if (geteuid() != 0)
        test_skip("needs root, who can become somebody else");
    fixture_open(f, 0);
    const char *dir = host(f, forms, "d");
    host_mkdir(dir);
    host_write(host(f, forms, "d/a"), "old");
    host_write(host(f, forms, "new"), "new");
    CHECK(chmod(f->dir, 0755) == 0 && chmod(f->home, 0755) == 0);
    CHECK(chown(dir, 0, s->dir_group) == 0 && chmod(dir, 02755) == 0);
    CHECK(chown(host(f, forms, "d/a"), 0, s->group) == 0);
    CHECK(chmod(host(f, forms, "d/a"), s->mode) == 0);
    CHECK(chmod(host(f, forms, "new"), s->mode) == 0);
    if ((s->acl != NULL && setxattr(host(f, forms, "d/a"), "system.posix_acl_access", s->acl,
                                    sizeof *s->acl, 0) < 0) ||
        (s->dir_acl != NULL && setxattr(dir, "system.posix_acl_default", s->dir_acl,
                                        sizeof *s->dir_acl, 0) < 0)) {
        fixture_close(f);
        test_skip("the file system has no ACLs");
    }
    CHECK_INT(as_stranger(dir, "a"), SHUT);
}

static void each_keeps(const struct secret *s, writer *const *writers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fixture f;
        make_secret(&f, s);
        keeps_secret(&f, writers[i]);
        fixture_close(&f);
    }
}

static writer *const all[] = {write_whole, write_by_patch, copy_one, copy_entry};

TEST(is_not_opened_by_the_acl_that_its_directory_gives)
{
    each_keeps(&secrets[0], all, 4);
}

TEST(is_not_opened_by_the_group_that_its_directory_gives)
{
    each_keeps(&secrets[1], all, 4);
}

TEST(is_not_opened_by_the_mode_before_the_acl_is_there)
{
    each_keeps(&secrets[2], all, 2); /* a copy has the mode of its source, and no ACL */
}
