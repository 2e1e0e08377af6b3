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

TEST(only_a_namespace_that_differs_is_proven)
{
    struct namespace_ids outside = {0}, same = {0}, inside = {0};
    layer_namespaces_read(&outside, 0, NAMESPACE_COUNT - 1);
    layer_namespaces_read(&same, 0, NAMESPACE_COUNT - 1);
    for (int k = 0; k < NAMESPACE_COUNT; k++)
        CHECK(outside.inode[k] != 0);
    CHECK_INT(layer_namespaces_compare(&outside, &same, 0, NAMESPACE_COUNT - 1), 0);
    enter_namespaces(CLONE_NEWIPC | CLONE_NEWNS);
    layer_namespaces_read(&inside, 0, NAMESPACE_COUNT - 1);
    CHECK_INT(layer_namespaces_compare(&outside, &inside, 0, NAMESPACE_COUNT - 1),
              PROOF_USERNS | PROOF_IPCNS | PROOF_MOUNTNS);
    CHECK_INT(layer_namespaces_compare(&outside, &inside, NS_IPC, NS_NET), PROOF_IPCNS);
}

TEST(what_could_not_be_read_proves_nothing)
{
    const struct namespace_ids unknown = {0};
    struct namespace_ids known = {0};
    for (int k = 0; k < NAMESPACE_COUNT; k++)
        known.inode[k] = 1;
    CHECK_INT(layer_namespaces_compare(&unknown, &known, 0, NAMESPACE_COUNT - 1), 0);
    CHECK_INT(layer_namespaces_compare(&known, &unknown, 0, NAMESPACE_COUNT - 1), 0);
}
