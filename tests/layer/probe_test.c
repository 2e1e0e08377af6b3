#include "layer/probe.h"

#include <sys/resource.h>

#include "ground.h"
#include "sys/landlock.h"

static struct arena arena = {.max = 1u << 20};

static struct host probed(enum policy_profile profile, char *const *env)
{
    struct host host = {0};
    struct policy policy;
    policy_init(&policy, profile);
    CHECK_INT(layer_probe(&host, &arena, &policy, env, NULL), 0);
    return host;
}

TEST(the_caller_is_described_as_it_is)
{
    char *const env[] = {(char[]){"HOME=/usr//./lib/.."}, NULL};
    char cwd[4096];
    struct host host = probed(PROFILE_AGENT, env);
    CHECK_INT(host.uid, geteuid());
    CHECK_INT(host.gid, getegid());
    CHECK_INT(host.groups, getgroups(0, NULL));
    CHECK_STR(host.home[1], "/usr"); /* $HOME; the other one is the user database's */
    CHECK(getcwd(cwd, sizeof cwd) != NULL);
    CHECK_STR(host.cwd, cwd);
    CHECK(host.cores >= 1);
    int abi = sys_landlock_abi();
    CHECK_INT(host.landlock_abi, abi > 0 ? abi : 0);
    CHECK_INT(host.off, 0);
    CHECK_INT(host.spare_uid >= 0x70000000 && host.spare_uid < 0x80000000, geteuid() == 0);
}

TEST(a_handler_of_crashes_is_known_where_it_cannot_be_stopped)
{
    char *const env[] = {NULL};
    char text[128] = "";
    const struct rlimit one = {.rlim_cur = 0, .rlim_max = 1};
    const struct rlimit none = {0};
    struct rlimit now;
    CHECK_INT(getrlimit(RLIMIT_CORE, &now), 0);
    if (now.rlim_max > 0) {
        CHECK_INT(setrlimit(RLIMIT_CORE, &one), 0);
        CHECK(!probed(PROFILE_STAGE, env).crash_handler);
    }
    CHECK_INT(setrlimit(RLIMIT_CORE, &none), 0);
    int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    CHECK_INT(probed(PROFILE_STAGE, env).crash_handler, text[0] == '|');
}

TEST(a_home_that_is_no_path_and_a_directory_that_is_gone_are_unknown)
{
    char *const env[] = {(char[]){"HOME=elsewhere"}, NULL};
    char dir[] = "/tmp/cordon-probe-XXXXXX";
    CHECK(test_directory(dir) != NULL && chdir(dir) == 0 && rmdir(dir) == 0);
    struct host host = probed(PROFILE_AGENT, env);
    CHECK(host.home[1] == NULL);
    CHECK(host.cwd == NULL);
}

TEST(the_tops_of_the_tree_are_looked_at_only_for_a_view)
{
    char *const env[] = {NULL};
    char text[64];
    struct host host = probed(PROFILE_STAGE, env);
    ssize_t n = readlink("/bin", text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    CHECK(host.top[0].present);
    CHECK_STR(host.top[0].path, "/bin");
    CHECK_STR(host.top[0].link, text);
    host = probed(PROFILE_TEST, env);
    CHECK(!host.top[0].present);
}

TEST(every_run_of_root_gets_another_number)
{
    char *const env[] = {NULL};
    if (geteuid() != 0)
        test_skip("only root changes its user");
    CHECK(probed(PROFILE_STAGE, env).spare_uid != probed(PROFILE_STAGE, env).spare_uid);
}

TEST(every_switch_has_a_name)
{
    for (int k = 0; k < HOST_SWITCH_COUNT; k++)
        CHECK(host_switch_name((enum host_switch)k)[0] != '\0');
}
