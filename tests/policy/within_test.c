#include "policy/policy.h"

#include "../harness.h"

static struct arena arena = {.max = 1 << 22};
static struct policy policy;
static struct policy ceiling;
static struct cordon_error err;

static void begin(void)
{
    policy_init(&policy, PROFILE_STAGE);
    policy_init(&ceiling, PROFILE_STAGE);
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
}

static void exceeds(const char *pointer)
{
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), -EPERM);
    CHECK_STR(err.subject, pointer);
    CHECK(err.remedy[0] != '\0');
}

TEST(every_profile_is_within_itself)
{
    for (int i = 0; i < PROFILE_COUNT; i++) {
        policy_init(&policy, (enum policy_profile)i);
        policy_init(&ceiling, (enum policy_profile)i);
        CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    }
}

TEST(paths_need_a_grant_and_writing_needs_its_own)
{
    begin();
    CHECK_INT(policy_add_bind(&policy.ro, &arena, "/srv/in/a", "/x", false, &err), 0);
    exceeds("/fs/ro/0");
    CHECK_INT(policy_add_bind(&ceiling.ro, &arena, "/srv/in", "/srv/in", false, &err), 0);
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    CHECK_INT(policy_add_bind(&policy.rw, &arena, "/srv/in/a", "/y", false, &err), 0);
    exceeds("/fs/rw/0");
    CHECK_INT(policy_add_bind(&ceiling.rw, &arena, "/srv/in/a", "/y", false, &err), 0);
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    CHECK_INT(policy_add_bind(&policy.rw, &arena, "/srv/in/ab", "/z", false, &err), 0);
    exceeds("/fs/rw/1");
}

static void bind(struct policy_binds *list, const char *host, const char *sandbox)
{
    CHECK_INT(policy_add_bind(list, &arena, host, sandbox, false, &err), 0);
}

TEST(a_narrower_read_only_part_stays_read_only)
{
    begin();
    bind(&ceiling.rw, "/srv", "/srv");
    bind(&ceiling.ro, "/srv/keys", "/srv/keys");
    bind(&policy.rw, "/srv/keys/a", "/a");
    exceeds("/fs/rw/0");
    begin();
    bind(&ceiling.rw, "/srv", "/srv");
    bind(&ceiling.ro, "/srv/keys", "/srv/keys");
    bind(&policy.rw, "/srv", "/data"); /* the part is left out */
    exceeds("/fs/rw/0");
    bind(&policy.ro, "/srv/keys", "/elsewhere"); /* in the wrong place */
    exceeds("/fs/rw/0");
    policy.ro.count = 0;
    bind(&policy.ro, "/srv/keys", "/data/keys");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
}

TEST(a_read_only_part_that_may_be_missing_is_no_substitute_for_one_that_must_not)
{
    begin();
    bind(&ceiling.rw, "/srv", "/srv");
    bind(&ceiling.ro, "/srv/.git/hooks", "/srv/.git/hooks");
    bind(&policy.rw, "/srv", "/srv");
    CHECK_INT(policy_add_bind(&policy.ro, &arena, "/srv/.git/hooks", "/srv/.git/hooks", true, &err), 0);
    exceeds("/fs/rw/0"); /* else it runs where the ceiling would not, and makes them */
    ceiling.ro.items[0].optional = true;
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);

    begin();
    bind(&ceiling.ro, "/srv", "/srv");
    bind(&ceiling.ro, "/empty", "/srv/keys");
    bind(&policy.ro, "/srv", "/srv");
    CHECK_INT(policy_add_bind(&policy.ro, &arena, "/empty", "/srv/keys", true, &err), 0);
    exceeds("/fs/ro/0");
}

TEST(a_hidden_place_cannot_be_seen_elsewhere)
{
    begin();
    bind(&ceiling.ro, "/srv", "/srv");
    CHECK_INT(policy_add_name(&ceiling.hide, &arena, "/srv/.env", &err), 0);
    CHECK_INT(policy_add_name(&policy.hide, &arena, "/srv/.env", &err), 0);
    bind(&policy.ro, "/srv", "/srv");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    bind(&policy.ro, "/srv", "/x");
    exceeds("/fs/ro/1");
    begin();
    bind(&policy.ro, "/", "/host");
    CHECK_INT(policy_add_name(&policy.hide, &arena, "/host/etc/shadow", &err), 0);
    CHECK_INT(policy_within(&policy, &policy, "/home/u/proj", &err), 0);
    ceiling = policy;
    bind(&policy.ro, "/etc", "/host/etc");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    bind(&policy.ro, "/etc", "/x");
    exceeds("/fs/ro/2");
}

TEST(a_protected_name_cannot_be_bound_around)
{
    begin();
    bind(&ceiling.rw, "/srv/repo", "/srv/repo");
    CHECK_INT(policy_add_name(&ceiling.protect, &arena, ".git/hooks", &err), 0);
    bind(&policy.rw, "/srv/repo", "/r");
    exceeds("/fs/protect");
    CHECK_INT(policy_add_name(&policy.protect, &arena, ".git/hooks", &err), 0);
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    bind(&policy.rw, "/srv/repo/.git", "/g");
    exceeds("/fs/rw/1");
}

TEST(a_writable_tree_within_another_keeps_its_protected_names)
{
    policy_init(&policy, PROFILE_AGENT);
    policy_init(&ceiling, PROFILE_AGENT);
    policy.rw_cwd = ceiling.rw_cwd = false;
    bind(&ceiling.rw, "/srv", "/srv");
    bind(&ceiling.rw, "/srv/project", "/srv/project");
    bind(&policy.rw, "/srv", "/srv"); /* whose names alone would be protected */
    exceeds("/fs/rw/0");
    bind(&policy.rw, "/srv/project", "/elsewhere");
    exceeds("/fs/rw/0");
    policy.rw.count = 1;
    bind(&policy.rw, "/srv/project", "/srv/project");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
}

TEST(the_current_directory_within_a_writable_tree_keeps_its_protected_names)
{
    policy_init(&policy, PROFILE_AGENT);
    policy_init(&ceiling, PROFILE_AGENT);
    bind(&ceiling.rw, "/home/u", "/home/u");
    bind(&policy.rw, "/home/u", "/home/u");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    policy.rw_cwd = false;
    exceeds("/fs/rw/0");
    policy.rw_cwd = true;
    policy.rw.count = 0;
    bind(&policy.rw, "/home/u", "/alias");
    exceeds("/fs/rw/0");
}

TEST(what_the_ceiling_hides_stays_hidden)
{
    begin();
    CHECK_INT(policy_add_name(&ceiling.hide, &arena, "**/.env", &err), 0);
    exceeds("/fs/hide");
}

static void hide_in_both(const char *name)
{
    CHECK_INT(policy_add_name(&ceiling.hide, &arena, name, &err), 0);
    CHECK_INT(policy_add_name(&policy.hide, &arena, name, &err), 0);
}

static void fits(void)
{
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
}

TEST(with_a_glob_a_part_of_a_bind_is_not_granted)
{
    begin();
    bind(&ceiling.ro, "/srv/in", "/srv/in");
    hide_in_both("**/secrets/key");
    bind(&policy.ro, "/srv/in", "/elsewhere");
    fits();
    bind(&policy.ro, "/srv/in/secrets", "/srv/in/secrets"); /* where the glob would not match */
    exceeds("/fs/ro/1");
    policy.ro.count = 0;
    bind(&policy.ro, "/srv/in/secrets/key", "/k");
    exceeds("/fs/ro/0");
}

TEST(a_mount_of_the_ceiling_over_a_part_takes_that_part_back)
{
    begin();
    bind(&ceiling.ro, "/srv", "/srv");
    bind(&ceiling.ro, "/empty", "/srv/secret");
    bind(&policy.ro, "/srv/open", "/o");
    fits();
    bind(&policy.ro, "/srv", "/srv");
    exceeds("/fs/ro/1");
    bind(&policy.ro, "/empty", "/srv/secret");
    fits();
    bind(&policy.ro, "/srv/secret/a", "/a");
    exceeds("/fs/ro/3");
    policy.ro.count--;
    bind(&policy.ro, "/srv", "/x"); /* there nothing is mounted over it */
    exceeds("/fs/ro/3");
}

TEST(a_mount_of_the_ceiling_over_the_system_or_the_host_is_kept)
{
    begin();
    bind(&ceiling.ro, "/srv/empty", "/usr/local");
    exceeds("/fs/system_ro");
    policy.system_ro = false; /* shows nothing of it */
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    policy.system_ro = true;
    bind(&policy.ro, "/srv/empty", "/usr/local");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);

    policy_init(&policy, PROFILE_TEST);
    policy_init(&ceiling, PROFILE_TEST);
    bind(&ceiling.ro, "/srv/empty", "/srv/secrets");
    exceeds("/fs/mode");
    bind(&policy.ro, "/srv/empty", "/srv/secrets");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
}

TEST(a_guard_shows_the_host_as_it_shows_it)
{
    static const char *const masked[] = {"/", "/run", "/run/user/1000", "/var", "/var/run", "/proc", "/dev/shm", "/tmp/x"};
    begin();
    policy_init(&ceiling, PROFILE_LIMITS);
    bind(&policy.ro, "/srv/in", "/in");
    fits();
    for (size_t i = 0; i < sizeof masked / sizeof masked[0]; i++) {
        policy.ro.count = 0;
        bind(&policy.ro, masked[i], "/in");
        exceeds("/fs/ro/0");
    }
    bind(&ceiling.ro, "/tmp/x", "/tmp/x"); /* named it is granted */
    fits();
    begin();
    policy_init(&ceiling, PROFILE_LIMITS);
    bind(&policy.ro, "/other", "/srv");
    bind(&policy.ro, "/srv", "/x");
    fits();
    hide_in_both("/srv/key");
    exceeds("/fs/ro/0");
    policy.ro.count = 0;
    bind(&policy.ro, "/srv", "/srv");
    fits();
    policy_init(&policy, PROFILE_LIMITS);
    CHECK_INT(policy_add_name(&policy.hide, &arena, "/srv/key", &err), 0);
    policy.private_tmp = false;
    exceeds("/fs/private_tmp");
}

TEST(the_current_directory_comes_with_what_is_mounted_in_it)
{
    policy_init(&policy, PROFILE_AGENT);
    policy_init(&ceiling, PROFILE_AGENT);
    bind(&ceiling.ro, "/srv", "/srv");
    fits();
    bind(&ceiling.ro, "/home/u/proj/keep", "/home/u/proj/keep");
    exceeds("/fs/rw_cwd");
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/other", &err), 0);
    CHECK_INT(policy_within(&policy, &ceiling, NULL, &err), -EPERM);
    bind(&policy.ro, "/home/u/proj/keep", "/home/u/proj/keep");
    fits();
    bind(&ceiling.rw, "/scratch", "/home/u/proj/out");
    exceeds("/fs/rw_cwd");
}

TEST(a_work_directory_keeps_protected_names)
{
    begin();
    bind(&ceiling.rw, "/srv/repo", "/srv/repo");
    CHECK_INT(policy_add_name(&ceiling.protect, &arena, ".git/hooks", &err), 0);
    policy.work = WORK_HOST;
    policy.work_host = "/srv/repo";
    exceeds("/fs/protect");
    CHECK_INT(policy_add_name(&policy.protect, &arena, ".git/hooks", &err), 0);
    fits();
}

TEST(every_loosening_is_refused)
{
    begin();
    policy.net = NET_HOST;
    exceeds("/net");
    begin();
    policy.uid = UID_CALLER;
    exceeds("/proc/uid");
    begin();
    policy.seccomp = SECCOMP_OFF;
    exceeds("/proc/seccomp");
    begin();
    policy.seccomp = SECCOMP_STRICT; /* tighter */
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    begin();
    policy.backend = BACKEND_NONE;
    exceeds("/backend");
    begin();
    policy.allow_partial = true;
    exceeds("/allow_partial");
    begin();
    policy.fs_mode = FS_GUARD;
    exceeds("/fs/mode");
    begin();
    policy.rw_cwd = true;
    exceeds("/fs/rw_cwd");
    begin();
    policy.env.inherit = true;
    exceeds("/env/inherit");
    begin();
    policy.work = WORK_HOST;
    policy.work_host = "/srv/job";
    exceeds("/fs/work");
    begin();
    ceiling.on_forbidden = FORBIDDEN_KILL;
    exceeds("/proc/on_forbidden");
    policy.on_forbidden = FORBIDDEN_KILL_SOCKETS;
    exceeds("/proc/on_forbidden");
    policy.on_forbidden = FORBIDDEN_KILL;
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    begin();
    ceiling.limits.on_overflow = OVERFLOW_KILL;
    policy.limits.on_overflow = OVERFLOW_TRUNCATE;
    exceeds("/limits/on_overflow");
    begin();
    policy.backend = BACKEND_BWRAP;
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    ceiling.backend = BACKEND_NATIVE;
    exceeds("/backend");
}

TEST(limits_may_be_lower_only)
{
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        uint64_t value;
        begin();
        memcpy(&value, (char *)&policy + limit->offset, sizeof value);
        value++;
        memcpy((char *)&policy + limit->offset, &value, sizeof value);
        exceeds(limit->pointer);
        value -= 2;
        memcpy((char *)&policy + limit->offset, &value, sizeof value);
        CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    }
    begin();
    ceiling.limits.cpus = 1;
    exceeds("/limits/cpus"); /* no limit at all */
}

TEST(variables_need_a_grant)
{
    begin();
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "APP_TOKEN", &err), 0);
    exceeds("/env/allow/11");
    CHECK_INT(policy_add_name(&ceiling.env.allow, &arena, "APP_*", &err), 0);
    CHECK_INT(policy_within(&policy, &ceiling, "/home/u/proj", &err), 0);
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "AP*", &err), 0);
    exceeds("/env/allow/12");
}
