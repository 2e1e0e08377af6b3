#include "supervisor/writable.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "sys/files.h"

size_t writable_count(const struct plan *plan)
{
    return plan->policy->rw.count + 2;
}

const char *writable_at(const struct plan *plan, size_t i)
{
    const struct policy *policy = plan->policy;
    const char *cwd = policy->rw_cwd ? plan->host->cwd : NULL;
    if (i < policy->rw.count)
        return policy->rw.items[i].host;
    if (i > policy->rw.count)
        return policy->work == WORK_HOST ? policy->work_host : NULL;
    for (size_t k = 0; cwd != NULL && k < policy->rw.count; k++) {
        const char *host = policy->rw.items[k].host;
        if (host != NULL && strcmp(host, cwd) == 0)
            return NULL;
    }
    return cwd;
}

/* Mounts of our own show files of root as the command's; the other ways to run show them as they are. */
static bool maps_owners(const struct plan *plan)
{
    return plan->own_tree && !plan_hosted(plan);
}

/* By a mount with a map nobody writes what belongs to a user or group that it does not have, whatever the mode. */
static bool may_write(const struct plan *plan, const struct stat *st)
{
    if (maps_owners(plan))
        return st->st_uid == plan->work.uid && st->st_gid == plan->work.gid && (st->st_mode & S_IWUSR) != 0;
    return (st->st_mode & S_IWOTH) != 0;
}

/* What the command owns, and what to do about it. */
static const char *belongings(const struct plan *plan)
{
    if (maps_owners(plan))
        return "what is root's and no more. Start cordon as the owner, or chown it to root";
    if (plan->bare)
        return "nothing without namespaces. Start cordon as an ordinary user who owns it";
    return "nothing by this backend. Start cordon as the owner, or take the native one";
}

void writable_warn(const struct plan *plan, const char *unmapped, struct result *result)
{
    for (size_t i = 0; plan->switch_user && i < writable_count(plan); i++) {
        const char *path = writable_at(plan, i);
        struct stat st;
        FD_AUTO place = path == NULL ? -1 : sys_open_without_links(path, O_PATH);
        if (place < 0 || strcmp(path, unmapped) == 0 || fstat(place, &st) < 0 || may_write(plan, &st))
            continue;
        result_warn(result, "'%.80s' (owner %u:%u, mode %03o) cannot be written inside: root's command is a user of its own, "
                            "who owns %s",
                    path, st.st_uid, st.st_gid, st.st_mode & 0777, belongings(plan));
        return;
    }
}
