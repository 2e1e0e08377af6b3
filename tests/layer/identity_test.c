#include "layer/identity.h"

#include "ground.h"

#include <grp.h>

static void check_file(const char *path, const char *want)
{
    char text[128] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    unsigned got[3] = {0}, wanted[3] = {0};
    CHECK_INT(sscanf(text, "%u %u %u", &got[0], &got[1], &got[2]), 3);
    CHECK_INT(sscanf(want, "%u %u %u", &wanted[0], &wanted[1], &wanted[2]), 3);
    CHECK(memcmp(got, wanted, sizeof got) == 0);
}

TEST(the_maps_name_one_user_and_one_group)
{
    const struct plan plan = {.uid_inside = 65534, .uid_host = 1000, .gid_inside = 65534, .gid_host = 1001};
    struct layer_identity self;
    layer_identity_prepare(&self, &plan);
    CHECK_STR(self.uid_map, "65534 1000 1\n");
    CHECK_STR(self.gid_map, "65534 1001 1\n");
    const struct plan widest = {.uid_inside = UINT32_MAX - 1, .uid_host = UINT32_MAX - 1,
                                .gid_inside = UINT32_MAX - 1, .gid_host = UINT32_MAX - 1};
    layer_identity_prepare(&self, &widest);
    CHECK_STR(self.uid_map, "4294967294 4294967294 1\n");
}

TEST(an_ordinary_user_maps_itself_and_is_who_the_plan_says)
{
    const struct plan plan = {.uid_inside = 65534, .uid_host = getuid(), .gid_inside = 65534, .gid_host = getgid()};
    struct layer_identity self;
    struct cordon_error err = {0};
    if (geteuid() == 0)
        test_skip("root switches instead");
    layer_identity_prepare(&self, &plan);
    CHECK(!layer_identity_proven(&plan));
    if (unshare(CLONE_NEWUSER) < 0)
        test_skip("this host gives no user namespaces");
    CHECK_INT(layer_identity_map_self(&self, &err), 0);
    CHECK(layer_identity_proven(&plan));
    check_file("/proc/self/uid_map", self.uid_map);
    CHECK_ERRNO(setgroups(0, NULL), EPERM);
    CHECK_INT(layer_identity_map_self(&self, &err), -EPERM); /* once and for all */
    CHECK_STR(err.what, "write the id map");
    CHECK(err.remedy[0] != '\0');
}

TEST(root_maps_a_child_which_becomes_that_user)
{
    const struct plan plan = {.uid_inside = 65534, .uid_host = 0x70001234, .gid_inside = 65534, .gid_host = 0x70001234,
                              .switch_user = true};
    struct layer_identity self;
    int gate[2], back[2];
    char byte;
    if (geteuid() != 0)
        test_skip("only root may map another user");
    CHECK_INT(pipe(gate), 0);
    CHECK_INT(pipe(back), 0);
    layer_identity_prepare(&self, &plan);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWUSER) < 0)
            test_skip("this host gives no user namespaces");
        CHECK_INT(write(back[1], "x", 1), 1);
        CHECK_INT(read(gate[0], &byte, 1), 1);
        CHECK_INT(layer_identity_switch(&plan, NULL), 0);
        CHECK(layer_identity_proven(&plan));
        CHECK_INT(getgroups(0, NULL), 0);
        CHECK_INT(write(back[1], "x", 1), 1);
        CHECK_INT(read(gate[0], &byte, 1), 1);
        _exit(0);
    }
    CHECK_INT(read(back[0], &byte, 1), 1);
    CHECK_INT(layer_identity_map_child(&self, pid, NULL), 0);
    CHECK_INT(write(gate[1], "x", 1), 1);
    CHECK_INT(read(back[0], &byte, 1), 1);
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_uid, 0x70001234); /* on the host, nobody's number */
    CHECK_INT(write(gate[1], "x", 1), 1);
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

TEST(root_on_the_host_is_never_proven)
{
    const struct plan plan = {.uid_inside = getuid(), .gid_inside = getgid(), .uid_host = 0};
    CHECK(!layer_identity_proven(&plan));
    const struct plan fine = {.uid_inside = getuid(), .gid_inside = getgid(), .uid_host = 1000};
    CHECK(layer_identity_proven(&fine));
}
