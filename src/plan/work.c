/* /work without mounts: a directory of the host's stands for it, and what leads to it leads there. */
#include "plan/build.h"

#include <string.h>

/* What the payload finds where others have /work; NULL: nothing. */
static const char *work_of(const struct plan_build *b)
{
    return b->policy.work == WORK_HOST      ? b->policy.work_host
           : b->policy.work == WORK_PRIVATE ? b->plan->work_dir
                                            : NULL;
}

/* What is listed has its own path here, also beneath a /work of the host's. */
static bool is_listed(const struct plan_build *b, const char *path)
{
    const struct policy_binds *lists[2] = {&b->policy.rw, &b->policy.ro};
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            if (policy_path_beneath(path, lists[k]->items[i].sandbox))
                return true;
        }
    }
    return false;
}

/* `path` with its /work exchanged; itself if it has none; NULL if out of memory. */
static const char *translate(struct plan_build *b, const char *path)
{
    const char *work = work_of(b);
    if (work == NULL || !policy_path_beneath(path, "/work") || is_listed(b, path))
        return path;
    return arena_printf(b->arena, "%s%s", work, path + 5);
}

const char *plan_work_directory(struct plan_build *b)
{
    if (b->policy.cwd != NULL)
        return translate(b, b->policy.cwd);
    if (b->policy.fs_mode == FS_GUARD || b->policy.rw_cwd || work_of(b) == NULL)
        return b->request->host->cwd;
    return work_of(b);
}

static bool policy_sets(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->env.set.count; i++) {
        if (strcmp(policy->env.set.items[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Values that lead to /work lead to what stands for it, and so does TMPDIR: there is no other place. */
char **plan_work_environment(struct plan_build *b, char **envp)
{
    const bool own_tmp = b->plan->work_dir != NULL && !policy_sets(&b->policy, "TMPDIR");
    size_t count = 0;
    while (envp[count] != NULL)
        count++;
    char **out = arena_array(b->arena, count + 2, sizeof *out);
    if (out == NULL)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(envp[i], '=');
        if (own_tmp && strncmp(envp[i], "TMPDIR=", 7) == 0)
            continue;
        const char *value = translate(b, equals + 1);
        out[n] = value == equals + 1 ? envp[i]
                 : value == NULL     ? NULL
                                     : arena_printf(b->arena, "%.*s=%s", (int)(equals - envp[i]), envp[i], value);
        if (out[n++] == NULL)
            return NULL;
    }
    if (own_tmp && (out[n++] = arena_printf(b->arena, "TMPDIR=%s", b->plan->work_dir)) == NULL)
        return NULL;
    return out;
}
