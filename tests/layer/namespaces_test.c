#include "layer/namespaces.h"

#include "ground.h"

TEST(the_flags_follow_the_plan)
{
    struct plan plan = {.pidns = true, .ipcns = true, .cgroupns = true, .netns = true};
    const uint64_t always = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS;
    CHECK_INT(layer_namespaces_flags(&plan), always | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWCGROUP);
    plan.use_cgroup = true; /* then init makes it, inside its group */
    CHECK_INT(layer_namespaces_flags(&plan), always | CLONE_NEWPID | CLONE_NEWIPC);
    const struct plan least = {0};
    CHECK_INT(layer_namespaces_flags(&least), always);
}

TEST(the_inode_tells_a_fresh_namespace_from_the_old_one)
{
    const uint64_t ipc = layer_namespace_inode(NS_IPC);
    const uint64_t net = layer_namespace_inode(NS_NET);
    CHECK(ipc != 0 && net != 0);
    CHECK(layer_namespace_inode(NS_IPC) == ipc);
    enter_namespaces(CLONE_NEWIPC | CLONE_NEWNS);
    CHECK(layer_namespace_inode(NS_IPC) != ipc);
    CHECK(layer_namespace_inode(NS_NET) == net);
}
