#include "layer/namespaces.h"

#include "ground.h"

TEST(clone_makes_only_what_all_else_needs)
{
    const struct plan most = {.pidns = true, .ipcns = true, .cgroupns = true, .netns = true};
    const struct plan least = {0};
    const struct plan bare = {.bare = true};
    CHECK_INT(layer_namespaces_of_clone(&most), CLONE_NEWUSER | CLONE_NEWPID);
    CHECK_INT(layer_namespaces_of_clone(&least), CLONE_NEWUSER);
    CHECK_INT(layer_namespaces_of_clone(&bare), 0);
}

TEST(init_makes_the_others_but_for_the_network)
{
    const struct plan most = {.pidns = true, .ipcns = true, .cgroupns = true, .netns = true};
    const struct plan least = {0};
    CHECK_INT(layer_namespaces_of_init(&most), CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP);
    CHECK_INT(layer_namespaces_of_init(&least), CLONE_NEWNS | CLONE_NEWUTS);
}

TEST(the_inode_tells_a_fresh_namespace_from_the_old_one)
{
    struct namespace_ids before;
    layer_namespaces_note(&before);
    CHECK(before.inode[NS_IPC] != 0 && before.inode[NS_NET] != 0);
    CHECK(!layer_namespace_changed(&before, NS_IPC));
    enter_namespaces(CLONE_NEWIPC | CLONE_NEWNS);
    CHECK(layer_namespace_changed(&before, NS_IPC));
    CHECK(!layer_namespace_changed(&before, NS_NET));
    before.inode[NS_IPC] = 0; /* not known: nothing is claimed */
    CHECK(!layer_namespace_changed(&before, NS_IPC));
    layer_namespaces_forget(&before);
}
