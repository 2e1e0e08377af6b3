#include "layer/refusal.h"

#include "../harness.h"

static enum refusal of(enum cordon_error_kind kind, enum cordon_layer layer, int errnum, const char *what)
{
    struct cordon_error met;
    err_set(&met, kind, layer, errnum, what, "x");
    return layer_refusal_of(&met);
}

TEST(a_refused_namespace_map_or_mount_is_a_refusal)
{
    static const int refusals[] = {EPERM, EACCES, ENOSPC, ENOSYS, EUSERS};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, refusals[i], "make namespaces"), REFUSAL_USERNS);
        CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_IDENTITY, refusals[i], "write the id map"), REFUSAL_USERNS);
        CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, refusals[i], "mount tmpfs"), REFUSAL_USERNS);
        CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_NETWORK, refusals[i], "make"), REFUSAL_USERNS);
        CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, refusals[i], "mount proc"), REFUSAL_PROCFS);
    }
}

TEST(so_is_a_namespace_that_the_kernel_was_built_without)
{
    CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, EINVAL, "make namespaces"), REFUSAL_USERNS);
    CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_NETWORK, EINVAL, "make a network namespace"), REFUSAL_USERNS);
    CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_IDENTITY, EINVAL, "write the id map"), REFUSAL_NONE);
    CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, EINVAL, "mount tmpfs"), REFUSAL_NONE);
}

TEST(shortage_mistakes_and_other_layers_are_not)
{
    CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, EAGAIN, "make namespaces"), REFUSAL_NONE);
    CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, ENOMEM, "make namespaces"), REFUSAL_NONE);
    CHECK_INT(of(CORDON_ERROR_POLICY, CORDON_LAYER_MOUNTS, EACCES, "open bind source"), REFUSAL_NONE);
    CHECK_INT(of(CORDON_ERROR_SETUP, CORDON_LAYER_CGROUP, EPERM, "enter the cgroup"), REFUSAL_NONE);
    CHECK_INT(of(CORDON_ERROR_PARTIAL, CORDON_LAYER_PLAN, EPERM, "enforce"), REFUSAL_NONE);
}

TEST(a_note_says_what_to_do_and_names_a_directory)
{
    struct arena arena = ARENA_INIT(1 << 20);
    struct host host = {.uid = 1000};
    struct policy policy;
    struct cordon_error met;
    policy_init(&policy, PROFILE_LIMITS);
    err_set(&met, CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, ENOSPC, "make namespaces", "clone3");
    CHECK_INT(layer_refusal_note(&host, &arena, &policy, REFUSAL_USERNS, &met, NULL), 0);
    CHECK(host.refused.userns && !host.refused.procfs);
    CHECK(strstr(host.refused.error.remedy, "user.max_user_namespaces") != NULL);
    CHECK(strstr(host.work_dir, "/work-") != NULL);
    bool usr = false;
    for (const char **p = host.refused.top; *p != NULL; p++)
        usr = usr || strcmp(*p, "/usr") == 0;
    CHECK(usr);
    arena_free(&arena);
}
