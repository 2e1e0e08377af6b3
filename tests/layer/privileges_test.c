#include "layer/privileges.h"

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "ground.h"
#include "sys/process.h"

TEST(rlimits_are_set_and_read_back)
{
    struct plan plan = {.nofile = 64, .nproc = 20, .rlimit_count = 4,
                        .rlimits = {{RLIMIT_CORE, 0, 0}, {RLIMIT_NOFILE, 64, 64}, {RLIMIT_NPROC, 20, 20},
                                    {RLIMIT_CPU, 3, 4}}};
    uint32_t proof = 0;
    int high = fcntl(0, F_DUPFD, 64);
    CHECK(high >= 64); /* before: there is room */
    CHECK_INT(layer_rlimits_apply(&plan, 0, &proof, NULL), 0);
    CHECK_INT(proof, PROOF_NOFILE | PROOF_NPROC);
    for (int k = 0; k < 4; k++) {
        struct rlimit seen;
        CHECK_INT(getrlimit((__rlimit_resource_t)plan.rlimits[k].resource, &seen), 0);
        CHECK_INT(seen.rlim_cur, plan.rlimits[k].soft);
        CHECK_INT(seen.rlim_max, plan.rlimits[k].hard);
    }
    CHECK_ERRNO(fcntl(0, F_DUPFD, 64), EINVAL);
}

TEST(a_stricter_limit_of_the_callers_own_stays)
{
    const struct rlimit strict = {.rlim_cur = 32, .rlim_max = 32};
    const struct plan plan = {.nofile = 64, .rlimit_count = 1, .rlimits = {{RLIMIT_NOFILE, 64, 64}}};
    struct rlimit seen;
    uint32_t proof = 0;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &strict), 0);
    CHECK_INT(layer_rlimits_apply(&plan, 0, &proof, NULL), 0);
    CHECK_INT(proof, PROOF_NOFILE);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &seen), 0);
    CHECK_INT(seen.rlim_max, 32);
}

TEST(the_session_keyring_is_a_new_and_empty_one)
{
    const long before = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
    if (before < 0)
        test_skip("this kernel, or this container, has no keyrings");
    const long key = syscall(SYS_add_key, "user", "cordon-test", "secret", 6, KEY_SPEC_SESSION_KEYRING);
    CHECK(key > 0);
    CHECK_INT(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "cordon-test", 0), key);
    uint32_t proof = 0;
    CHECK_INT(layer_keyring_apply(&proof, NULL), 0);
    CHECK_INT(proof, PROOF_KEYRING);
    CHECK_ERRNO(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "cordon-test", 0), ENOKEY);
    CHECK(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) != before);
}

TEST(no_new_privs_is_on_afterwards)
{
    uint32_t proof = 0;
    CHECK_INT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
    CHECK_INT(layer_no_new_privs(&proof, NULL), 0);
    CHECK_INT(proof, PROOF_NO_NEW_PRIVS);
    CHECK_INT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

TEST(all_five_sets_of_capabilities_are_empty_afterwards)
{
    uint32_t proof = 0;
    enter_namespaces(CLONE_NEWUTS); /* with all of them */
    CHECK_INT(sethostname("before", 6), 0);
    CHECK_INT(layer_bounding_set_drop(&proof, NULL), 0);
    CHECK_INT(proof, PROOF_BOUNDING);
    CHECK_INT(sethostname("then", 4), 0); /* it holds for those who exec */
    CHECK_INT(layer_capabilities_clear(&proof, NULL), 0);
    CHECK_INT(proof, PROOF_BOUNDING | PROOF_NO_CAPS);
    CHECK_ERRNO(sethostname("after", 5), EPERM);
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    char line[256];
    int sets = 0;
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "Cap", 3) == 0) {
            CHECK_STR(strchr(line, ':') + 2, "0000000000000000\n");
            sets++;
        }
    }
    fclose(status);
    CHECK_INT(sets, 5);
}

TEST(a_process_without_capabilities_cannot_prove_an_empty_bounding_set)
{
    uint32_t proof = 0;
    struct cordon_error err = {0};
    if (geteuid() == 0)
        test_skip("root can");
    CHECK_INT(layer_bounding_set_drop(&proof, &err), -EPERM);
    CHECK_INT(proof, 0);
    CHECK_STR(err.what, "drop the bounding set");
}
