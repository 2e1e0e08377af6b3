/*
 * What is on disk when a call returns: each call of fsync() is counted, by what it was for. And file systems that refuse
 * content when the file is closed, as network file systems do where the disk or a quota is full.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "harness.h"

static unsigned files, directories;

/* Instead of the C library's. */
int fsync(int fd)
{
    struct stat st;
    const int rc = (int)syscall(SYS_fsync, fd);
    CHECK(fstat(fd, &st) == 0);
    files += rc == 0 && S_ISREG(st.st_mode);
    directories += rc == 0 && S_ISDIR(st.st_mode);
    return rc;
}

static bool refuses_at_close;

static bool is_written(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

int close(int fd)
{
    const bool refused = refuses_at_close && is_written(fd);
    const int rc = (int)syscall(SYS_close, fd);
    if (!refused)
        return rc;
    errno = EDQUOT;
    return -1;
}

static const struct cordon_root_cp_options recursive = {.size = sizeof recursive, .recursive = true};

static int write_new(struct fixture *f)
{
    return write_text(f, "new", "x");
}

static int write_again(struct fixture *f)
{
    return write_text(f, "old", "x");
}

static int append_new(struct fixture *f)
{
    return append_text(f, "new", "x");
}

static int truncate_old(struct fixture *f)
{
    return cordon_root_truncate(f->root, "old", 1, &f->err);
}

static int copy_to_new(struct fixture *f)
{
    return cordon_root_copy_file(f->root, "source", "new", &f->err);
}

static int copy_to_old(struct fixture *f)
{
    return cordon_root_copy_file(f->root, "source", "old", &f->err);
}

static int copy_in_place(struct fixture *f)
{
    return cordon_root_copy_file(f->root, "source", "linked", &f->err);
}

static int cp_to_new(struct fixture *f)
{
    return cordon_root_cp(f->root, "source", "new", NULL, &f->err);
}

static int cp_a_tree(struct fixture *f)
{
    return cordon_root_cp(f->root, "tree", "tree2", &recursive, &f->err);
}

static int rename_a_file(struct fixture *f)
{
    return cordon_root_rename(f->root, "source", "old", &f->err);
}

static int move_a_file(struct fixture *f)
{
    return cordon_root_move(f->root, "source", "new", false, &f->err);
}

static const struct {
    const char *name;
    int (*call)(struct fixture *f);
    unsigned contents; /* files whose content it changes */
} calls[] = {
    {"writeFile of a new file", write_new, 1}, {"writeFile", write_again, 1},
    {"appendFile", append_new, 1},             {"truncate", truncate_old, 1},
    {"copyFile to a new name", copy_to_new, 1}, {"copyFile", copy_to_old, 1},
    {"copyFile in place", copy_in_place, 1},   {"cp to a new name", cp_to_new, 1},
    {"cp of a tree", cp_a_tree, 2},            {"rename", rename_a_file, 0},
    {"move", move_a_file, 0},
};

static void prepare(struct fixture *f, uint32_t sync)
{
    fixture_open(f, CORDON_ROOT_ALLOW_HARDLINK);
    f->options.sync = sync;
    fixture_reopen(f);
    host_write(host(f, forms, "source"), "source");
    host_write(host(f, forms, "old"), "old content");
    host_write(host(f, forms, "linked"), "linked");
    CHECK(link(host(f, forms, "linked"), host(f, forms, "linked2")) == 0);
    host_mkdir(host(f, forms, "tree"));
    host_mkdir(host(f, forms, "tree/sub"));
    host_write(host(f, forms, "tree/x"), "x");
    host_write(host(f, forms, "tree/sub/y"), "y");
}

static void check_sync(uint32_t sync)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct fixture f;
        prepare(&f, sync);
        files = directories = 0;
        WORKS(&f, calls[i].call(&f));
        const bool content = sync == CORDON_ROOT_SYNC_NONE ? files == 0 : files >= calls[i].contents;
        /* In place there is no new name, and an old one is on disk already. */
        const bool name = calls[i].call == truncate_old || calls[i].call == copy_in_place ||
                          (sync == CORDON_ROOT_SYNC_FULL ? directories > 0 : directories == 0);
        if (!content || !name)
            test_fail(__FILE__, __LINE__, "%s: fsync of %u files and %u directories", calls[i].name, files, directories);
        fixture_close(&f);
    }
}

TEST(syncs_nothing_if_nobody_asked)
{
    check_sync(CORDON_ROOT_SYNC_NONE);
}

TEST(syncs_content)
{
    check_sync(CORDON_ROOT_SYNC_DATA);
}

TEST(syncs_content_and_names)
{
    check_sync(CORDON_ROOT_SYNC_FULL);
}

/*
 * A directory that can be written to and not read cannot be synced. When that is found the new content has its name:
 * no reason to write in place, which would reach the other name or write twice.
 */
TEST(writes_nothing_again_if_only_the_name_could_not_be_synced)
{
    if (geteuid() == 0 && (setgid(1500) < 0 || setuid(1500) < 0))
        test_skip("cannot become an ordinary user");
    struct fixture f;
    prepare(&f, CORDON_ROOT_SYNC_FULL);
    f.options.flags = 0; /* links are broken */
    fixture_reopen(&f);
    host_mkdir(host(&f, forms, "d"));
    CHECK(link(host(&f, forms, "linked"), host(&f, forms, "d/a")) == 0);
    CHECK(chmod(host(&f, forms, "d"), 0300) == 0);
    for (int i = 0; i < 3; i++) {
        files = 0;
        if (i < 2)
            FAILS(&f, write_text(&f, "d/a", i == 0 ? "new" : "newer"), "EACCES");
        else
            FAILS(&f, cordon_root_copy_file(f.root, "source", "d/a", &f.err), "EACCES");
        CHECK_HOST(host(&f, forms, "d/a"), i == 0 ? "new" : i == 1 ? "newer" : "source");
        CHECK_HOST(host(&f, forms, "linked"), "linked");
        CHECK_INT(files, 1);
    }
    CHECK(chmod(host(&f, forms, "d"), 0700) == 0);
    fixture_close(&f);
}

TEST(keeps_the_old_content_if_the_new_is_refused_when_it_is_closed)
{
    static int (*const writers[])(struct fixture *f) = {write_again, copy_to_old, copy_to_new, cp_to_new, append_new};
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        struct fixture f;
        prepare(&f, CORDON_ROOT_SYNC_NONE);
        refuses_at_close = true;
        FAILS(&f, writers[i](&f), "EDQUOT");
        refuses_at_close = false;
        CHECK_HOST(host(&f, forms, "old"), "old content");
        CHECK(writers[i] == append_new || !host_exists(host(&f, forms, "new")));
        fixture_close(&f);
    }
}
