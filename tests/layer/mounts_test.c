/* Mounts in a namespace of the test's own: each act works before the layer and fails after it. */
#include "layer/mounts.h"

#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "ground.h"

static struct plan_step steps[32];
static struct plan plan;

static void step(enum step_kind kind, const char *source, const char *target, unsigned flags)
{
    steps[plan.step_count++] = (struct plan_step){
        .kind = kind, .source = source, .target = target, .flags = flags, .mode = 0755};
}

/* A view with /proc and /dev, as every plan has them. */
static void begin_view(void)
{
    plan = (struct plan){.steps = steps, .fs_mode = FS_VIEW, .own_tree = true, .pidns = true};
    step(STEP_TMPFS, "mode=755", "", STEP_RDONLY);
    step(STEP_DIR, NULL, "dev", 0);
    step(STEP_DEVICE, "/dev/null", "dev/null", 0);
}

static void begin_guard(void)
{
    plan = (struct plan){.steps = steps, .fs_mode = FS_GUARD, .own_tree = true, .pidns = true};
    step(STEP_HOST_TREE, NULL, "", STEP_RDONLY);
    step(STEP_TMPFS, "mode=755", "dev", STEP_RDONLY);
    step(STEP_DEVICE, "/dev/null", "dev/null", 0);
}

static void must(int r, const struct cordon_error *err)
{
    if (r < 0)
        test_fail(__FILE__, __LINE__, "%s '%s': errno %d %s", err->what, err->subject, err->errnum, err->why);
}

static uint32_t enter(void)
{
    struct cordon_error err = {0};
    uint32_t proof = 0;
    step(STEP_PROC, NULL, "proc", 0);
    must(layer_mounts_build(&plan, NULL, NULL, &proof, &err), &err);
    must(layer_mounts_enter(NULL, &proof, &err), &err);
    return proof;
}

static uint32_t apply(void)
{
    struct cordon_error err = {0};
    const uint32_t proof = enter();
    must(layer_mounts_leave(&err), &err);
    return proof;
}

static void refused(int errnum, const char *subject, const char *why)
{
    struct cordon_error err = {0};
    uint32_t proof = 0;
    CHECK_INT(layer_mounts_build(&plan, NULL, NULL, &proof, &err), -errnum);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK_STR(err.subject, subject);
    CHECK_STR(err.why, why);
    CHECK_INT(proof, 0);
}

static void ground(void)
{
    enter_namespaces(CLONE_NEWNS | CLONE_NEWPID);
    scratch();
}

TEST(a_view_shows_what_is_listed_and_nothing_else)
{
    ground();
    CHECK_INT(access("/etc/passwd", F_OK), 0);
    begin_view();
    step(STEP_BIND, "/mnt/tree", "data", STEP_MAKE | STEP_LISTED);
    step(STEP_LINK, "data/file", "shortcut", 0);
    step(STEP_FILE, "made up\n", "etc/passwd", 0);
    CHECK_INT(apply(), PROOF_READONLY | PROOF_DEVICES | PROOF_NO_NESTING);
    CHECK_INT(access("/data/sub/deep", F_OK), 0);
    CHECK_INT(access("/shortcut", R_OK), 0);
    struct stat st;
    CHECK_INT(stat("/etc/passwd", &st), 0);
    CHECK_INT(st.st_size, 8);
    CHECK_ERRNO(access("/mnt", F_OK), ENOENT);
    CHECK_ERRNO(access("/usr", F_OK), ENOENT);
    CHECK_ERRNO(mkdir("/new", 0755), EROFS); /* the root is sealed */
    CHECK_INT(access("/../..", F_OK), 0);
    CHECK_ERRNO(access("/../mnt", F_OK), ENOENT); /* and the old one is gone */
    _exit(0);
}

TEST(a_read_only_bind_does_not_change_and_a_writable_one_does)
{
    ground();
    write_text("/mnt/tree/before", "works");
    begin_view();
    step(STEP_BIND, "/mnt/tree", "rw", STEP_MAKE | STEP_LISTED);
    step(STEP_BIND, "/mnt/tree", "ro", STEP_MAKE | STEP_LISTED | STEP_RDONLY);
    CHECK((apply() & PROOF_READONLY) != 0);
    write_text("/rw/new", "seen by both");
    CHECK_INT(access("/ro/new", R_OK), 0);
    CHECK_ERRNO(open("/ro/other", O_WRONLY | O_CREAT, 0644), EROFS);
    CHECK_ERRNO(unlink("/ro/before"), EROFS);
    CHECK_ERRNO(truncate("/ro/before", 0), EROFS);
    _exit(0);
}

TEST(a_process_sees_whether_the_old_root_is_gone)
{
    struct cordon_error err = {0};
    ground();
    begin_view();
    enter();
    const uint64_t root = layer_mounts_root();
    CHECK_ERRNO(access("/mnt/tree", F_OK), ENOENT);
    CHECK_INT(access("/../mnt/tree", F_OK), 0);
    CHECK(!layer_mounts_alone(root));
    must(layer_mounts_leave(&err), &err);
    CHECK_ERRNO(access("/../mnt/tree", F_OK), ENOENT);
    CHECK(layer_mounts_alone(root));
    CHECK(layer_mounts_root() == root);
    CHECK(!layer_mounts_alone(0)); /* a kernel that does not tell proves nothing */
    _exit(0);
}

/* Ruling 16.2: the rename works without the pin and is EBUSY with it. */
TEST(a_pinned_directory_cannot_be_renamed_away)
{
    for (int pinned = 0; pinned < 2; pinned++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            ground();
            CHECK_INT(mkdir("/mnt/tree/sub/hooks", 0755), 0);
            begin_view();
            step(STEP_BIND, "/mnt/tree", "data", STEP_MAKE | STEP_LISTED);
            if (pinned)
                step(STEP_BIND, "data/sub", "data/sub", STEP_OWN | STEP_OPTIONAL);
            step(STEP_BIND, "data/sub/hooks", "data/sub/hooks", STEP_OWN | STEP_OPTIONAL | STEP_RDONLY);
            apply();
            CHECK_ERRNO(open("/data/sub/hooks/x", O_WRONLY | O_CREAT, 0644), EROFS);
            write_text("/data/sub/beside", "still writable");
            if (pinned)
                CHECK_ERRNO(rename("/data/sub", "/data/away"), EBUSY);
            else
                CHECK_INT(rename("/data/sub", "/data/away"), 0);
            CHECK_ERRNO(rename("/data/sub/hooks", "/data/sub/away"), pinned ? EBUSY : ENOENT);
            _exit(0);
        }
        int status = 0;
        CHECK_INT(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            test_skip("this host gives no user namespaces");
        CHECK_INT(status, 0);
    }
}

TEST(nothing_is_created_in_a_tree_of_the_hosts)
{
    ground();
    begin_view();
    step(STEP_BIND, "/mnt/tree", "data", STEP_MAKE | STEP_LISTED);
    step(STEP_BIND, "/mnt/tree/sub", "data/missing", STEP_LISTED);
    refused(ENOENT, "/data/missing", "it does not exist beneath another bind");
    _exit(0);
}

TEST(a_target_is_reached_without_links)
{
    ground();
    CHECK_INT(symlink("sub", "/mnt/tree/detour"), 0);
    begin_view();
    step(STEP_BIND, "/mnt/tree", "data", STEP_MAKE | STEP_LISTED);
    step(STEP_BIND, "/mnt/tree/sub", "data/detour", STEP_LISTED);
    refused(ELOOP, "/data/detour", "a symbolic link is in the way");
    _exit(0);
}

TEST(a_directory_does_not_fit_onto_a_file)
{
    ground();
    begin_view();
    step(STEP_BIND, "/mnt/tree", "data", STEP_MAKE | STEP_LISTED);
    step(STEP_BIND, "/mnt/tree/sub", "data/file", STEP_LISTED);
    refused(ENOTDIR, "/data/file", "one of them is a directory and the other is not");
    _exit(0);
}

TEST(an_optional_bind_that_is_missing_is_left_out)
{
    ground();
    begin_view();
    step(STEP_BIND, "/no/such", "data", STEP_MAKE | STEP_LISTED | STEP_OPTIONAL);
    apply();
    CHECK_ERRNO(access("/data", F_OK), ENOENT);
    _exit(0);
}

TEST(a_tmpfs_has_the_size_it_was_given)
{
    ground();
    begin_view();
    step(STEP_TMPFS, "size=65536,nr_inodes=8,mode=1777", "tmp", STEP_MAKE);
    apply();
    static char block[32768];
    int fd = open("/tmp/a", O_WRONLY | O_CREAT, 0600);
    CHECK_INT(write(fd, block, sizeof block), (long long)sizeof block);
    CHECK_INT(write(fd, block, sizeof block), (long long)sizeof block);
    CHECK_ERRNO(write(fd, block, sizeof block), ENOSPC);
    struct stat st;
    CHECK_INT(stat("/tmp", &st), 0);
    CHECK_INT(st.st_mode & 07777, 01777);
    _exit(0);
}

TEST(the_kernels_switches_are_read_only_and_devices_work_only_from_our_list)
{
    ground();
    begin_view();
    step(STEP_BIND, "/mnt/tree", "data", STEP_MAKE | STEP_LISTED);
    step(STEP_DEVPTS, NULL, "dev/pts", 0);
    apply();
    CHECK_INT(access("/proc/self/status", R_OK), 0);
    struct statvfs fs;
    CHECK_INT(statvfs("/proc/sys", &fs), 0);
    CHECK((fs.f_flag & ST_RDONLY) != 0);
    CHECK_INT(statvfs("/proc", &fs), 0);
    CHECK((fs.f_flag & ST_RDONLY) == 0); /* a process may write its own files there */
    write_text("/dev/null", "gone");
    CHECK_INT(access("/dev/pts/ptmx", R_OK | W_OK), 0);
    CHECK_ERRNO(open("/dev/new", O_WRONLY | O_CREAT, 0644), EROFS);
    CHECK_INT(statvfs("/data", &fs), 0);
    CHECK((fs.f_flag & ST_NODEV) != 0 && (fs.f_flag & ST_NOSUID) != 0);
    _exit(0);
}

TEST(a_guard_shows_the_host_and_lets_nothing_change_but_what_is_listed)
{
    ground();
    write_text("/mnt/tree/works", "before");
    begin_guard();
    step(STEP_TMPFS, "mode=755", "run", STEP_RDONLY | STEP_OPTIONAL);
    step(STEP_TMPFS, "mode=755", "no/such/mask", STEP_RDONLY | STEP_OPTIONAL);
    step(STEP_BIND, "/mnt/tree/sub", "mnt/tree/sub", STEP_LISTED);
    CHECK_INT(apply(), PROOF_READONLY | PROOF_DEVICES | PROOF_NO_NESTING);
    CHECK_INT(access("/mnt/tree/file", R_OK), 0);
    CHECK_INT(access("/usr/bin", F_OK), 0);
    CHECK_ERRNO(open("/mnt/tree/new", O_WRONLY | O_CREAT, 0644), EROFS);
    CHECK_ERRNO(unlink("/mnt/tree/works"), EROFS);
    write_text("/mnt/tree/sub/new", "listed");
    CHECK_ERRNO(mkdir("/run/x", 0755), EROFS);
    CHECK_ERRNO(access("/dev/kmsg", F_OK), ENOENT);
    _exit(0);
}
