#include "backend/posix.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../harness.h"

static char top[64];

static const char *in(const char *name)
{
    static char path[4][128];
    static unsigned next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", top, name);
    return out;
}

static void make_top(void)
{
    snprintf(top, sizeof top, "/tmp/posix-workdir-XXXXXX");
    CHECK(test_directory(top) != NULL);
}

TEST(what_stands_there_already_is_not_taken)
{
    struct posix_workdir dir = {.path = NULL};
    make_top();
    CHECK(posix_workdir_make(&dir, top) < 0);
    CHECK(posix_workdir_remove(&dir)); /* none was made */
    CHECK_INT(rmdir(top), 0);
}

TEST(all_of_it_goes_and_no_link_is_followed)
{
    struct posix_workdir dir = {.path = NULL};
    static char work[128];
    make_top();
    snprintf(work, sizeof work, "%s", in("work"));
    CHECK_INT(mkdir(in("outside"), 0700), 0);
    CHECK_INT(mkdir(in("outside/kept"), 0700), 0);
    CHECK_INT(posix_workdir_make(&dir, work), 0);
    CHECK_INT(mkdir(in("work/a"), 0700), 0);
    CHECK_INT(mkdir(in("work/a/b"), 0), 0); /* locked */
    CHECK_INT(symlink(in("outside"), in("work/link")), 0);
    CHECK(posix_workdir_remove(&dir));
    CHECK(access(in("work"), F_OK) < 0);
    CHECK_INT(access(in("outside/kept"), F_OK), 0);
    CHECK_INT(rmdir(in("outside/kept")) + rmdir(in("outside")) + rmdir(top), 0);
}

TEST(neither_modes_nor_depth_keep_it)
{
    struct posix_workdir dir = {.path = NULL};
    static char work[128];
    make_top();
    snprintf(work, sizeof work, "%s", in("work"));
    CHECK_INT(posix_workdir_make(&dir, work), 0);
    const int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(chdir(work), 0);
    CHECK(mkdir(".cordon-0", 0700) == 0 && mkdir(".cordon-0/taken", 0700) == 0); /* the name of what is moved up */
    for (int i = 0; i < 300; i++)
        CHECK(mkdir("d", 0700) == 0 && chdir("d") == 0);
    CHECK_INT(chmod(".", 0), 0);
    CHECK_INT(fchdir(home), 0);
    close(home);
    CHECK_INT(chmod(work, 0), 0);
    CHECK(posix_workdir_remove(&dir));
    CHECK(access(work, F_OK) < 0);
    CHECK_INT(rmdir(top), 0);
}

TEST(another_one_in_its_place_stays)
{
    struct posix_workdir dir = {.path = NULL};
    static char work[128];
    make_top();
    snprintf(work, sizeof work, "%s", in("work"));
    CHECK_INT(posix_workdir_make(&dir, work), 0);
    CHECK_INT(rename(work, in("moved")), 0);
    CHECK_INT(mkdir(work, 0700), 0);
    CHECK(!posix_workdir_remove(&dir));
    CHECK_INT(access(work, F_OK), 0);
    CHECK_INT(rmdir(work) + rmdir(in("moved")) + rmdir(top), 0);
}
