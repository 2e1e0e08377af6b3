#include "policy/policy.h"

#include "../harness.h"

static struct arena arena = {.max = 1 << 24};
static struct policy policy;
static struct cordon_error err;

static void begin(enum policy_profile profile)
{
    policy_init(&policy, profile);
    CHECK_INT(policy_validate(&policy, &err), 0);
}

static void refused(const char *pointer)
{
    err = (struct cordon_error){0};
    CHECK_INT(policy_validate(&policy, &err), -EINVAL);
    CHECK_STR(err.subject, pointer);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK(err.why[0] != '\0');
}

static void bind(struct policy_binds *list, const char *host, const char *sandbox)
{
    CHECK_INT(policy_add_bind(list, &arena, host, sandbox, false, &err), 0);
}

TEST(a_bind_that_work_would_hide_is_refused)
{
    begin(PROFILE_STAGE);
    bind(&policy.ro, "/srv", "/workshop"); /* a name that only begins like it */
    bind(&policy.rw, "/srv", "/work/in");  /* beneath a private one there is room */
    CHECK_INT(policy_validate(&policy, &err), 0);
    policy.work = WORK_HOST;
    policy.work_host = "/srv/job";
    refused("/fs/rw/0");
    policy.work = WORK_NONE;
    CHECK_INT(policy_validate(&policy, &err), 0);
    begin(PROFILE_STAGE);
    bind(&policy.ro, "/srv", "/work");
    refused("/fs/ro/0");
}

TEST(a_bind_over_proc_dev_or_the_root_is_refused)
{
    static const char *const targets[] = {"/proc", "/proc/sys", "/dev", "/dev/shm", "/"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        begin(PROFILE_STAGE);
        bind(&policy.ro, "/srv", targets[i]);
        refused("/fs/ro/0");
        CHECK(strstr(err.why, targets[i]) != NULL);
    }
    begin(PROFILE_STAGE);
    bind(&policy.ro, "/srv", "/processes");
    bind(&policy.ro, "/srv", "/devices");
    CHECK_INT(policy_validate(&policy, &err), 0);
}

TEST(the_same_target_twice_in_a_list_is_refused_and_across_lists_it_is_not)
{
    begin(PROFILE_STAGE);
    bind(&policy.rw, "/srv/a", "/x");
    bind(&policy.ro, "/srv/b", "/x"); /* ro beats rw there */
    CHECK_INT(policy_validate(&policy, &err), 0);
    bind(&policy.rw, "/srv/c", "/y");
    bind(&policy.rw, "/srv/d", "/x");
    refused("/fs/rw/2"); /* the later one */
    CHECK(strstr(err.why, "/x") != NULL);
}

TEST(paths_that_were_not_normalised_are_refused)
{
    static const char *const paths[] = {"", "relative", "/a/", "/a//b", "/a/./b", "/a/../b", "/.."};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct policy_bind item = {.host = paths[i], .sandbox = "/x"};
        begin(PROFILE_STAGE);
        policy.ro = (struct policy_binds){.items = &item, .count = 1};
        refused("/fs/ro/0");
    }
}

TEST(work_and_cwd_are_absolute)
{
    begin(PROFILE_STAGE);
    policy.work = WORK_HOST;
    refused("/fs/work");
    policy.work_host = "job";
    refused("/fs/work");
    policy.work_host = "/";
    refused("/fs/work");
    policy.work_host = "/srv/job";
    policy.cwd = "work";
    refused("/proc/cwd");
    policy.cwd = "/work";
    CHECK_INT(policy_validate(&policy, &err), 0);
}

TEST(guard_mode_has_no_work)
{
    begin(PROFILE_LIMITS);
    policy.work = WORK_PRIVATE;
    refused("/fs/work");
}

TEST(hide_lies_inside_a_bind)
{
    begin(PROFILE_STAGE);
    CHECK_INT(policy_add_name(&policy.hide, &arena, "/srv/in/.env", &err), 0);
    refused("/fs/hide/0");
    bind(&policy.ro, "/srv/in", "/srv/in");
    CHECK_INT(policy_validate(&policy, &err), 0);
    CHECK_INT(policy_add_name(&policy.hide, &arena, "**/.env", &err), 0);
    CHECK_INT(policy_validate(&policy, &err), 0);
    CHECK_INT(policy_add_name(&policy.hide, &arena, "*.env", &err), 0);
    refused("/fs/hide/2");
    begin(PROFILE_LIMITS); /* the whole host is there */
    CHECK_INT(policy_add_name(&policy.hide, &arena, "/etc/shadow", &err), 0);
    CHECK_INT(policy_validate(&policy, &err), 0);
}

TEST(protected_names_are_relative_and_short)
{
    static const char *const wrong[] = {"/etc", "", "../x", "a/../b", "a/b/c/d/e"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        begin(PROFILE_STAGE);
        CHECK_INT(policy_add_name(&policy.protect, &arena, wrong[i], &err), 0);
        refused("/fs/protect/0");
    }
}

TEST(names_of_variables)
{
    static const char *const wrong[] = {"", "A=B", "A\nB", "A\x7f", "*", "A*B", "A_**"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        begin(PROFILE_STAGE);
        policy.env.allow.count = 0;
        CHECK_INT(policy_add_name(&policy.env.allow, &arena, wrong[i], &err), 0);
        refused("/env/allow/0");
    }
    begin(PROFILE_STAGE);
    CHECK_INT(policy_add_name(&policy.env.deny, &arena, "PRE_*", &err), 0);
    CHECK_INT(policy_validate(&policy, &err), 0);
    CHECK_INT(policy_add_var(&policy.env.set, &arena, "PRE_*", "x", &err), 0);
    refused("/env/set/PRE_*");
}

TEST(limits_have_ranges)
{
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        const uint64_t wrong[] = {limit->max + 1, limit->min - 1, 0};
        const uint64_t right[] = {limit->min, limit->max};
        for (size_t k = 0; k < 3; k++) {
            begin(PROFILE_STAGE);
            memcpy((char *)&policy + limit->offset, &wrong[k], sizeof wrong[k]);
            if (wrong[k] == 0 && limit->zero == ZERO_TAKEN)
                CHECK_INT(policy_validate(&policy, &err), 0);
            else
                refused(limit->pointer);
        }
        for (size_t k = 0; k < 2; k++) {
            begin(PROFILE_STAGE);
            memcpy((char *)&policy + limit->offset, &right[k], sizeof right[k]);
            CHECK_INT(policy_validate(&policy, &err), 0);
        }
    }
    begin(PROFILE_STAGE);
    policy.limits.cpus = 0.001;
    refused("/limits/cpus");
    policy.limits.grace_ms = POLICY_UNLIMITED;
    refused("/limits/grace_ms");
}

static char said[1024];

static void note(void *context, const char *pointer, const char *text)
{
    (void)context;
    CHECK(text[0] != '\0');
    if (strcmp(pointer, "/env/allow/11") == 0)
        CHECK(strstr(text, "'LD_PRELOAD'") != NULL);
    strcat(said, pointer);
    strcat(said, ";");
}

TEST(warnings_name_what_is_risky)
{
    begin(PROFILE_STAGE);
    policy_warnings(&policy, note, NULL);
    CHECK_STR(said, "");
    bind(&policy.rw, "/", "/host");
    bind(&policy.rw, "/home/someone", "/h");
    bind(&policy.rw, "/home/someone/project", "/p");
    bind(&policy.ro, "/srv", "/p");
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "LD_PRELOAD", &err), 0);
    CHECK_INT(policy_add_name(&policy.env.allow, &arena, "LD_*", &err), 0);
    policy.allow_partial = true;
    CHECK_INT(policy_validate(&policy, &err), 0); /* risky, not wrong */
    policy_warnings(&policy, note, NULL);
    CHECK_STR(said, "/fs/rw/0;/fs/rw/1;/fs/rw/2;/env/allow/11;/env/allow/12;/allow_partial;");
}
