/* Causes on hosts that we do not have: this is why the setting is an argument. */
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>

#include "../harness.h"
#include "doctor/attempt.h"
#include "doctor/doctor.h"

/* An ordinary user on a host that restricts nothing. */
static struct doctor_setting open_host(void)
{
    return (struct doctor_setting){.uid = 1000,
                                   .proc = true,
                                   .userns_clone = 1,
                                   .max_user_namespaces = 15000,
                                   .apparmor_restrict = SETTING_UNKNOWN,
                                   .mapped_uids = UINT32_MAX,
                                   .bounding = ~UINT64_C(0)};
}

static const struct doctor_question userns = {ABOUT_USERNS, "user", NULL};
static const struct doctor_question procfs = {ABOUT_MOUNT, "proc", NULL};
static const struct doctor_question landlock = {ABOUT_CALL, "landlock", "5.13"};
static struct doctor_cause cause;

static void explain(const struct doctor_setting *s, const struct doctor_question *q, int errnum)
{
    struct attempt a = {.errnum = errnum, .step = "the step"};
    doctor_explain(&cause, s, q, &a);
    CHECK(strncmp(cause.reason, "the step: ", 10) == 0);
}

static bool says(const char *reason, const char *remedy)
{
    if (strstr(cause.reason, reason) != NULL && strstr(cause.remedy, remedy) != NULL)
        return true;
    printf("# %s\n# %s\n", cause.reason, cause.remedy);
    return false;
}

TEST(names_the_sysctl_of_debian)
{
    struct doctor_setting s = open_host();
    s.userns_clone = 0;
    explain(&s, &userns, EPERM);
    CHECK(says("kernel.unprivileged_userns_clone is 0", "sysctl -w kernel.unprivileged_userns_clone=1"));
    s.uid = 0; /* it does not hold for root */
    explain(&s, &userns, EPERM);
    CHECK(!says("unprivileged_userns_clone", ""));
}

TEST(names_the_limit_and_its_value)
{
    struct doctor_setting s = open_host();
    s.max_user_namespaces = 0;
    explain(&s, &userns, ENOSPC);
    CHECK(says("user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces="));
    const struct doctor_question net = {ABOUT_NAMESPACE, "net", NULL};
    explain(&s, &net, ENOSPC);
    CHECK(says("user.max_net_namespaces", "sysctl -w user.max_net_namespaces="));
}

TEST(names_the_rule_of_apparmor)
{
    struct doctor_setting s = open_host();
    s.apparmor_restrict = 1;
    explain(&s, &userns, EACCES);
    CHECK(says("kernel.apparmor_restrict_unprivileged_userns is 1",
               "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"));
    explain(&s, &procfs, EPERM);
    CHECK(says("apparmor_restrict_unprivileged_userns", "sysctl"));
    s.apparmor_restrict = 0;
    snprintf(s.label, sizeof s.label, "docker-default (enforce)");
    explain(&s, &userns, EACCES);
    CHECK(says("docker-default", "unconfined"));
}

TEST(names_a_chroot)
{
    struct doctor_setting s = open_host();
    s.chroot = true;
    explain(&s, &userns, EPERM);
    CHECK(says("chroot", "systemd-nspawn"));
    s.chroot = s.proc = false;
    explain(&s, &userns, EPERM);
    CHECK(says("chroot is likely", "mount -t proc"));
}

TEST(names_a_filter_that_was_there_before)
{
    struct doctor_setting s = open_host();
    s.seccomp = 2;
    snprintf(s.container, sizeof s.container, "podman");
    explain(&s, &userns, EPERM);
    CHECK(says("seccomp filter is already in force", "--security-opt seccomp=unconfined"));
    CHECK(says("podman", ""));
    explain(&s, &landlock, ENOSYS);
    CHECK(says("seccomp filter is already in force", "--security-opt seccomp=unconfined"));
    const struct attempt killed = {.signal = SIGSYS};
    doctor_explain(&cause, &s, &landlock, &killed);
    CHECK(says("SIGSYS; a seccomp filter", ""));
    s.in_a_run = true;
    explain(&s, &userns, EPERM);
    CHECK(says("seccomp filter is already in force", "sandboxes do not nest"));
    s.max_user_namespaces = 0;
    explain(&s, &userns, ENOSPC);
    CHECK(says("user.max_user_namespaces is 0", "sysctl"));
}

TEST(names_what_covers_proc)
{
    struct doctor_setting s = open_host();
    doctor_setting_mounts(&s, "1 0 0:1 / / rw\n2 1 0:2 / /proc rw\n"
                              "3 2 0:3 / /proc/sys/fs/binfmt_misc rw\n4 2 0:4 /null /proc/kcore rw\n"
                              "5 2 0:5 / /proc/acpi ro\n");
    CHECK(strcmp(s.masked, "/proc/kcore /proc/acpi") == 0);
    CHECK(!s.chroot);
    explain(&s, &procfs, EPERM);
    CHECK(says("/proc/kcore", "systempaths=unconfined"));
    doctor_setting_mounts(&s, "2 1 0:2 / /proc rw\n");
    CHECK(s.chroot);
    CHECK(s.masked[0] == '\0');
    doctor_setting_mounts(&s, "");
    CHECK(!s.chroot);
}

TEST(names_a_missing_capability_of_root)
{
    struct doctor_setting s = open_host();
    s.uid = 0;
    s.bounding = ~(UINT64_C(1) << CAP_SETUID);
    explain(&s, &userns, EPERM);
    CHECK(says("bounding set", "--cap-add SETUID"));
}

TEST(names_a_namespace_with_few_users)
{
    struct doctor_setting s = open_host();
    s.uid = 0;
    s.mapped_uids = 65536;
    explain(&s, &userns, EPERM);
    CHECK(says("only 65536 users", "setpriv --reuid"));
}

TEST(tells_an_old_kernel_from_one_that_has_it_switched_off)
{
    struct doctor_setting s = open_host();
    explain(&s, &landlock, ENOSYS);
    CHECK(says("came with Linux 5.13", ""));
    snprintf(s.lsm, sizeof s.lsm, "capability,apparmor");
    explain(&s, &landlock, EOPNOTSUPP);
    CHECK(says("not switched on: the security modules are capability,apparmor",
               "lsm=landlock,capability,apparmor"));
}

TEST(says_the_errno_where_nothing_explains_it)
{
    struct doctor_setting s = open_host();
    explain(&s, &userns, EIO);
    CHECK(says("EIO", ""));
    CHECK(cause.remedy[0] == '\0');
    const struct attempt hung = {.signal = SIGALRM};
    doctor_explain(&cause, &s, &userns, &hung);
    CHECK(says("did not come to an end", ""));
}

TEST(knows_a_key_a_group_and_a_use_for_every_question)
{
    for (int i = 0; i < DOCTOR_COUNT; i++) {
        CHECK(doctor_key((enum doctor_id)i) != NULL);
        CHECK(doctor_group((enum doctor_id)i) != NULL);
        CHECK(doctor_use((enum doctor_id)i) != NULL);
    }
    CHECK(doctor_landlock_adds(0) == NULL);
    CHECK(doctor_landlock_adds(7) != NULL);
    CHECK(doctor_landlock_adds(1000) == NULL);
}
