/* Mounts that only root can make: owners are mapped to the user of the run. */
#include "layer/trees.h"

#include <sys/statvfs.h>

#include "ground.h"

#define RUN_UID 0x70004321

static struct arena arena = {.max = 8u << 20};

static void need_root(void)
{
    if (geteuid() != 0)
        test_skip("only root maps owners");
}

static struct plan plan_of(struct plan_step *steps, size_t count, enum policy_fs_mode mode)
{
    return (struct plan){.steps = steps, .step_count = count, .switch_user = true, .own_tree = true,
                         .fs_mode = mode, .uid_host = RUN_UID, .gid_host = RUN_UID};
}

TEST(an_ordinary_caller_needs_none)
{
    const struct plan plan = {.switch_user = false, .own_tree = true};
    struct layer_trees trees;
    CHECK_INT(layer_trees_prepare(&trees, &arena, &plan, NULL), 0);
    CHECK(trees.of_step == NULL && trees.host_count == 0);
    layer_trees_release(&trees);
}

TEST(files_of_root_are_the_payloads_own_in_a_listed_bind_and_remain_roots_outside)
{
    char dir[] = "/tmp/cordon-trees-XXXXXX";
    char file[64];
    struct stat st;
    need_root();
    CHECK(test_directory(dir) != NULL);
    snprintf(file, sizeof file, "%s/mine", dir);
    write_text(file, "of root");
    struct plan_step steps[] = {
        {.kind = STEP_TMPFS, .target = ""},
        {.kind = STEP_BIND, .source = dir, .target = "data", .flags = STEP_LISTED},
        {.kind = STEP_BIND, .source = "/usr", .target = "usr", .flags = STEP_RDONLY},
        {.kind = STEP_BIND, .source = "/no/such", .target = "x", .flags = STEP_LISTED | STEP_OPTIONAL},
    };
    const struct plan plan = plan_of(steps, 4, FS_VIEW);
    struct layer_trees trees;
    struct cordon_error err = {0};
    CHECK_INT(layer_trees_prepare(&trees, &arena, &plan, &err), 0);
    if (trees.unmapped[0] != '\0') {
        unlink(file);
        rmdir(dir);
        test_skip("the file system of /tmp cannot map owners");
    }
    CHECK_INT(trees.of_step[0], -1);
    CHECK(trees.of_step[1] >= 0);
    CHECK_INT(trees.of_step[2], -1); /* not listed: as it is */
    CHECK_INT(trees.of_step[3], -1);
    CHECK_INT(stat(file, &st), 0);
    CHECK_INT(st.st_uid, 0);
    CHECK_INT(fstatat(trees.of_step[1], "mine", &st, 0), 0);
    CHECK_INT(st.st_uid, RUN_UID);
    int fd = trees.of_step[1];
    layer_trees_release(&trees);
    layer_trees_release(&trees); /* again is fine */
    CHECK_ERRNO(fcntl(fd, F_GETFD), EBADF);
    unlink(file);
    rmdir(dir);
}

TEST(a_guard_copies_every_mount_read_only_root_first)
{
    need_root();
    if (unshare(CLONE_NEWNS) < 0)
        test_skip("no right to a mount namespace");
    CHECK_INT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    CHECK_INT(mount("tmpfs", "/mnt", "tmpfs", 0, NULL), 0);
    CHECK_INT(mkdir("/mnt/a b", 0755), 0); /* escaped in the table */
    CHECK_INT(mount("tmpfs", "/mnt/a b", "tmpfs", 0, NULL), 0);
    struct plan_step steps[] = {{.kind = STEP_HOST_TREE, .target = "", .flags = STEP_RDONLY}};
    const struct plan plan = plan_of(steps, 1, FS_GUARD);
    struct layer_trees trees;
    struct cordon_error err = {0};
    if (layer_trees_prepare(&trees, &arena, &plan, &err) < 0)
        test_fail(__FILE__, __LINE__, "%s '%s': errno %d", err.what, err.subject, err.errnum);
    CHECK(trees.host_count >= 3);
    CHECK_STR(trees.host[0].target, "");
    bool found = false;
    for (size_t k = 0; k < trees.host_count; k++) {
        struct statvfs fs;
        CHECK_INT(fstatvfs(trees.host[k].fd, &fs), 0);
        CHECK((fs.f_flag & ST_RDONLY) != 0 && (fs.f_flag & ST_NODEV) != 0 && (fs.f_flag & ST_NOSUID) != 0);
        CHECK(strncmp(trees.host[k].target, "proc", 4) != 0);
        found = found || strcmp(trees.host[k].target, "mnt/a b") == 0;
    }
    CHECK(found);
    layer_trees_release(&trees);
}

TEST(a_missing_source_is_found_before_anything_is_started)
{
    need_root();
    struct plan_step steps[] = {{.kind = STEP_TMPFS, .target = ""},
                                {.kind = STEP_BIND, .source = "/no/such", .target = "x", .flags = STEP_LISTED}};
    const struct plan plan = plan_of(steps, 2, FS_VIEW);
    struct layer_trees trees;
    struct cordon_error err = {0};
    CHECK_INT(layer_trees_prepare(&trees, &arena, &plan, &err), -ENOENT);
    CHECK_STR(err.subject, "/no/such");
    CHECK(trees.of_step == NULL);
}
