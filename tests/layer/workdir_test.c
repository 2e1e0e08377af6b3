#include "layer/workdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness.h"

static char place[] = "/tmp/workdir-test-XXXXXX";
static char path[64];

static void make_place(void)
{
    CHECK(test_directory(place) != NULL);
    snprintf(path, sizeof path, "%s/user/" WORKDIR_PREFIX "1", place);
}

static void make(struct layer_workdir *w)
{
    *w = LAYER_WORKDIR_INIT;
    CHECK_INT(layer_workdir_make(w, path, geteuid(), getegid(), NULL), 0);
}

static void touch(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
}

TEST(is_private_and_goes_with_everything_in_it)
{
    struct layer_workdir w;
    struct stat st;
    make_place();
    make(&w);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0700);
    CHECK_INT(chdir(path), 0);
    for (int i = 0; i < 100; i++) {
        touch("f");
        CHECK_INT(mkdir("d", 0700), 0);
        CHECK_INT(chdir("d"), 0);
    }
    CHECK_INT(mkdir("closed", 0), 0);
    CHECK_INT(chdir("/"), 0);
    layer_workdir_remove(&w);
    CHECK_ERRNO(stat(path, &st), ENOENT);
    layer_workdir_remove(&w); /* idempotent */
    CHECK_INT(rmdir(place), 0);
}

TEST(what_somebody_put_in_its_place_stays)
{
    struct layer_workdir w;
    char other[80], file[96];
    make_place();
    make(&w);
    snprintf(other, sizeof other, "%s/moved", place);
    CHECK_INT(rename(path, other), 0);
    CHECK_INT(mkdir(path, 0700), 0);
    snprintf(file, sizeof file, "%s/f", path);
    touch(file);
    layer_workdir_remove(&w);
    CHECK_INT(access(file, F_OK), 0);
    CHECK_INT(unlink(file), 0);
    CHECK_INT(rmdir(path), 0);
    CHECK_INT(rmdir(other), 0);
    snprintf(other, sizeof other, "%s/user", place);
    CHECK_INT(rmdir(other), 0);
    CHECK_INT(rmdir(place), 0);
}

TEST(a_link_is_not_followed)
{
    struct layer_workdir w;
    char keep[80], file[96], link[96];
    make_place();
    make(&w);
    snprintf(keep, sizeof keep, "%s/keep", place);
    CHECK_INT(mkdir(keep, 0700), 0);
    snprintf(file, sizeof file, "%s/f", keep);
    touch(file);
    snprintf(link, sizeof link, "%s/l", path);
    CHECK_INT(symlink(keep, link), 0);
    layer_workdir_remove(&w);
    CHECK_INT(access(file, F_OK), 0);
    CHECK_INT(unlink(file), 0);
    CHECK_INT(rmdir(keep), 0);
    CHECK_INT(rmdir(place), 0);
}

TEST(only_what_nobody_holds_is_swept)
{
    struct layer_workdir held, next = LAYER_WORKDIR_INIT;
    char left[96], second[64];
    make_place();
    make(&held);
    snprintf(left, sizeof left, "%s/user/" WORKDIR_PREFIX "left", place);
    snprintf(second, sizeof second, "%s/user/" WORKDIR_PREFIX "2", place);
    CHECK_INT(mkdir(left, 0700), 0);
    CHECK_INT(layer_workdir_make(&next, second, geteuid(), getegid(), NULL), 0);
    CHECK_ERRNO(access(left, F_OK), ENOENT);
    CHECK_INT(access(path, F_OK), 0);
    layer_workdir_remove(&next);
    layer_workdir_remove(&held);
    CHECK_INT(rmdir(place), 0);
}

TEST(root_sweeps_what_belonged_to_the_user_of_a_run_whoever_that_was)
{
    struct layer_workdir w;
    char left[96];
    if (geteuid() != 0)
        test_skip("only root gives its work directories away");
    make_place();
    make(&w);
    snprintf(left, sizeof left, "%s/user/" WORKDIR_PREFIX "left", place);
    CHECK_INT(mkdir(left, 0700), 0);
    CHECK_INT(chown(left, 40000, 40000), 0); /* where only 65536 ids are mapped */
    layer_workdir_remove(&w);
    make(&w);
    CHECK_ERRNO(access(left, F_OK), ENOENT);
    layer_workdir_remove(&w);
    CHECK_INT(rmdir(place), 0);
}

TEST(one_that_is_just_being_made_is_not_swept)
{
    struct layer_workdir w;
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    char begun[96];
    make_place();
    make(&w);
    snprintf(begun, sizeof begun, "%s/user/new-work-2", place);
    CHECK_INT(mkdir(begun, 0700), 0);
    layer_workdir_remove(&w);
    make(&w);
    CHECK_INT(access(begun, F_OK), 0);
    layer_workdir_remove(&w);
    CHECK_INT(utimensat(AT_FDCWD, begun, long_ago, 0), 0); /* its supervisor was killed */
    make(&w);
    CHECK_ERRNO(access(begun, F_OK), ENOENT);
    layer_workdir_remove(&w);
    CHECK_INT(rmdir(place), 0);
}

TEST(many_at_once_leave_one_another_alone)
{
    make_place();
    pid_t others[4];
    for (int k = 0; k < 4; k++) {
        others[k] = fork();
        if (others[k] != 0)
            continue;
        for (int i = 0; i < 300; i++) {
            struct layer_workdir w;
            snprintf(path, sizeof path, "%s/user/" WORKDIR_PREFIX "%d-%d", place, k, i);
            make(&w);
            CHECK_INT(access(path, F_OK), 0);
            layer_workdir_remove(&w);
        }
        _exit(0);
    }
    for (int k = 0; k < 4; k++) {
        int status;
        CHECK_INT(waitpid(others[k], &status, 0), others[k]);
        CHECK_INT(status, 0);
    }
    CHECK_INT(rmdir(place), 0);
}

TEST(a_directory_that_others_could_change_is_not_trusted)
{
    struct layer_workdir w = LAYER_WORKDIR_INIT;
    struct cordon_error err;
    char user[80];
    make_place();
    snprintf(user, sizeof user, "%s/user", place);
    CHECK_INT(mkdir(user, 0700), 0);
    CHECK_INT(chmod(user, 0777), 0);
    CHECK_INT(layer_workdir_make(&w, path, geteuid(), getegid(), &err), -EPERM);
    CHECK_INT(rmdir(user), 0);
    CHECK_INT(symlink("/tmp", user), 0);
    CHECK(layer_workdir_make(&w, path, geteuid(), getegid(), &err) < 0);
    CHECK_INT(unlink(user), 0);
    CHECK_INT(rmdir(place), 0);
}
