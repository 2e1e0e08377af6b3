#include "layer/bind.h"

#include <sys/statvfs.h>

#include "ground.h"
#include "sys/files.h"
#include "sys/mounting.h"

static struct plan_step bind_of(const char *source, unsigned flags)
{
    return (struct plan_step){.kind = STEP_BIND, .source = source, .target = "x", .flags = flags};
}

TEST(a_missing_source_is_a_mistake_in_the_policy_with_a_remedy)
{
    const struct plan_step step = bind_of("/no/such", STEP_LISTED);
    struct cordon_error err = {0};
    struct stat st;
    bool skip = true;
    CHECK_INT(bind_open(&step, &skip, &st, &err), -ENOENT);
    CHECK(!skip);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK_INT(err.errnum, ENOENT);
    CHECK_STR(err.subject, "/no/such");
    CHECK(strstr(err.remedy, "optional") != NULL);
}

TEST(an_optional_source_may_be_missing)
{
    const struct plan_step step = bind_of("/no/such", STEP_LISTED | STEP_OPTIONAL);
    struct stat st;
    bool skip = false;
    CHECK_INT(bind_open(&step, &skip, &st, NULL), 0);
    CHECK(skip);
}

/* Ruling 16.12. */
TEST(a_final_link_is_refused_where_somebody_named_it)
{
    enter_namespaces(CLONE_NEWNS);
    scratch();
    struct cordon_error err = {0};
    struct stat st;
    bool skip = false;
    const struct plan_step listed = bind_of("/mnt/link", STEP_LISTED);
    CHECK_INT(bind_open(&listed, &skip, &st, &err), -ELOOP);
    CHECK_STR(err.why, "a symbolic link is on the way");
    CHECK_STR(err.remedy, "name the place that it leads to: /mnt/tree");
    const struct plan_step system = bind_of("/mnt/link", 0); /* our own list: followed */
    int fd = bind_open(&system, &skip, &st, &err);
    CHECK(fd >= 0 && S_ISDIR(st.st_mode));
}

TEST(a_copy_takes_rights_away_and_gives_none)
{
    enter_namespaces(CLONE_NEWNS);
    scratch();
    const struct plan_step rw = bind_of("/mnt/tree", STEP_LISTED);
    const struct plan_step ro = bind_of("/mnt/tree", STEP_LISTED | STEP_RDONLY);
    struct stat st;
    bool skip = false;
    int source = bind_open(&rw, &skip, &st, NULL);
    CHECK(source >= 0);
    for (int k = 0; k < 2; k++) {
        int tree = bind_clone(source, k == 0 ? &rw : &ro, -1, NULL);
        CHECK(tree >= 0);
        struct statvfs fs;
        CHECK_INT(fstatvfs(tree, &fs), 0);
        CHECK((fs.f_flag & ST_NOSUID) != 0 && (fs.f_flag & ST_NODEV) != 0);
        CHECK_INT((fs.f_flag & ST_RDONLY) != 0, k == 1);
        int made = openat(tree, "made", O_WRONLY | O_CREAT | O_EXCL, 0644);
        CHECK_INT(made >= 0 ? 0 : errno, k == 0 ? 0 : EROFS); /* the same act, both ways */
        unlinkat(tree, "made", 0);
        close(tree);
    }
}

TEST(sub_mounts_become_read_only_with_the_tree)
{
    enter_namespaces(CLONE_NEWNS);
    scratch();
    CHECK_INT(mount("tmpfs", "/mnt/tree/sub", "tmpfs", 0, NULL), 0);
    write_text("/mnt/tree/sub/before", "works");
    const struct plan_step ro = bind_of("/mnt/tree", STEP_LISTED | STEP_RDONLY);
    struct stat st;
    bool skip = false;
    int tree = bind_clone(bind_open(&ro, &skip, &st, NULL), &ro, -1, NULL);
    CHECK(tree >= 0);
    CHECK_ERRNO(openat(tree, "sub/after", O_WRONLY | O_CREAT, 0644), EROFS);
    CHECK(openat(tree, "sub/before", O_RDONLY) >= 0);
}
