#include "layer/landlock.h"

#include <errno.h>
#include <sys/stat.h>

#include "layer/bind.h"
#include "sys/files.h"
#include "sys/landlock.h"

/* The only rights that the kernel takes for a rule on something that is not a directory. */
#define RIGHTS_ON_FILES (LL_EXECUTE | LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE | LL_IOCTL_DEV)

static int fail(struct cordon_error *err, long r, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_LANDLOCK, (int)-r, what, subject);
}

/* File rights are consecutive bits, and a newer ABI only ever adds some. */
static uint64_t rights_of(int abi)
{
    static const uint64_t end[] = {1, 1 << 13, 1 << 14, 1 << 15, 1 << 15, 1 << 16};
    const int newest = (int)(sizeof end / sizeof end[0]) - 1;
    return end[abi < newest ? abi : newest] - 1;
}

int layer_landlock_create(const struct plan *plan, struct cordon_error *err)
{
    const int abi = plan->landlock_abi;
    const struct sys_landlock_ruleset attr = {
        .handled_fs = rights_of(abi),
        .scoped = abi >= 6 ? LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL : 0,
    };
    /* ABI 1 to 3 know the first word, 4 and 5 the second one too. */
    const unsigned long size = abi >= 6 ? sizeof attr : abi >= 4 ? 16 : 8;
    int ruleset = sys_landlock_create(&attr, size);
    return ruleset < 0 ? fail(err, ruleset, "create ruleset", "landlock_create_ruleset") : ruleset;
}

/* What the policy lists is opened once, as the source of a bind would be. */
static int open_listed(const struct plan_rule *rule, bool *skip, struct cordon_error *err)
{
    const struct plan_step step = {.kind = STEP_BIND, .flags = rule->flags, .source = rule->path};
    struct stat st;
    return bind_open(&step, skip, &st, err);
}

static int add_rule(int ruleset, const struct plan_rule *from, uint64_t access, struct cordon_error *err)
{
    const char *path = from->path;
    const bool listed = (from->flags & STEP_LISTED) != 0;
    bool skip = false;
    int fd = listed ? open_listed(from, &skip, err) : sys_open(AT_FDCWD, path, O_PATH, 0);
    if (skip || (fd == -ENOENT && !listed))
        return 0;
    if (fd < 0)
        return listed ? fd : fail(err, fd, "open rule path", path);
    struct sys_landlock_path rule = {.allowed = access, .parent_fd = fd};
    long r = sys_landlock_allow(ruleset, &rule);
    if (r == -EINVAL && (access & RIGHTS_ON_FILES) != 0) {
        rule.allowed = access & RIGHTS_ON_FILES;
        r = sys_landlock_allow(ruleset, &rule);
    }
    sys_close(fd);
    return r < 0 ? fail(err, r, "add rule (landlock_add_rule)", path) : 0;
}

int layer_landlock_rules(const struct plan *plan, int ruleset, struct cordon_error *err)
{
    const uint64_t known = rights_of(plan->landlock_abi);
    for (size_t i = 0; i < plan->rule_count; i++) {
        uint64_t access = plan->rules[i].access & known;
        int r = access == 0 ? 0 : add_rule(ruleset, &plan->rules[i], access, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int layer_landlock_enter(int ruleset, struct cordon_error *err)
{
    long r = sys_landlock_restrict(ruleset);
    return r < 0 ? fail(err, r, "enter the domain", "landlock_restrict_self") : 0;
}

bool layer_landlock_proven(void)
{
    int fd = sys_open(AT_FDCWD, "/dev/urandom", O_WRONLY, 0);
    sys_close(fd);
    return fd == -EACCES;
}
