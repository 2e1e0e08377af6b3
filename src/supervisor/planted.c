#include "supervisor/planted.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "supervisor/writable.h"
#include "sys/files.h"

#define NAMES_SHOWN 120 /* bytes; with the rest a warning has room for 255 */

static_assert(POLICY_MAX_PROTECT <= 64, "a bit for each name");

/*
 * A file or a link in the place of a directory above it counts: `.git` can be either and leads elsewhere. No link is
 * followed: the payload may have made it, and this is the host's view, with mounts that take for ever to answer.
 */
static bool is_there(int tree, const char *name)
{
    FD_AUTO found = sys_open_in_root(tree, name, O_PATH | O_NOFOLLOW);
    return found >= 0 || found == -ENOTDIR || found == -ELOOP;
}

/* A bit for each name that is not there; none where the tree itself is not. */
static uint64_t missing_in(const char *path, const struct policy_names *names)
{
    FD_AUTO tree = sys_open_without_links(path, O_PATH | O_DIRECTORY);
    uint64_t missing = 0;
    for (size_t i = 0; tree >= 0 && i < names->count; i++)
        missing |= is_there(tree, names->items[i]) ? 0 : UINT64_C(1) << i;
    return missing;
}

void planted_note(struct planted *self, const struct plan *plan)
{
    const size_t count = writable_count(plan);
    self->missing = plan->policy->protect.count == 0 ? NULL : arena_array(plan->arena, count, sizeof *self->missing);
    for (size_t i = 0; self->missing != NULL && i < count; i++) {
        const char *path = writable_at(plan, i);
        if (path != NULL)
            self->missing[i] = missing_in(path, &plan->policy->protect);
    }
}

static void warn_of(uint64_t appeared, const char *path, const struct policy_names *names, struct result *result)
{
    char list[NAMES_SHOWN] = "";
    size_t len = 0;
    bool all = true;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i];
        if ((appeared >> i & 1) == 0)
            continue;
        if (len + strlen(name) + sizeof ", ''" <= sizeof list)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s'%s'", len == 0 ? "" : ", ", name);
        else
            all = false;
    }
    result_warn(result, "%s%s appeared in '%.80s': look at it before a tool reads it", list, all ? "" : " and more", path);
}

void planted_warn(const struct planted *self, const struct plan *plan, struct result *result)
{
    if (self->missing == NULL)
        return;
    const struct policy_names *names = &plan->policy->protect;
    for (size_t i = 0; i < writable_count(plan); i++) {
        const uint64_t before = self->missing[i];
        const char *path = before == 0 ? NULL : writable_at(plan, i);
        const uint64_t appeared = path == NULL ? 0 : before & ~missing_in(path, names);
        if (appeared != 0)
            warn_of(appeared, path, names, result);
    }
}
