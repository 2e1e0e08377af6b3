/* A policy of one's own: as it is, byte for byte, which its document could not always be. */
#include <errno.h>

#include "policy/policy.h"

static int copy_binds(struct policy_binds *list, struct arena *arena, struct cordon_error *err)
{
    const struct policy_binds from = *list;
    int r = 0;
    *list = (struct policy_binds){0};
    for (size_t i = 0; r == 0 && i < from.count; i++) {
        const struct policy_bind *bind = &from.items[i];
        r = policy_add_bind(list, arena, bind->host, bind->sandbox, bind->optional, err);
    }
    return r;
}

static int copy_names(struct policy_names *list, struct arena *arena, struct cordon_error *err)
{
    const struct policy_names from = *list;
    int r = 0;
    *list = (struct policy_names){0};
    for (size_t i = 0; r == 0 && i < from.count; i++)
        r = policy_add_name(list, arena, from.items[i], err);
    return r;
}

static int copy_vars(struct policy_vars *list, struct arena *arena, struct cordon_error *err)
{
    const struct policy_vars from = *list;
    int r = 0;
    *list = (struct policy_vars){0};
    for (size_t i = 0; r == 0 && i < from.count; i++)
        r = policy_add_var(list, arena, from.items[i].name, from.items[i].value, err);
    return r;
}

static int copy_path(const char **path, struct arena *arena, struct cordon_error *err)
{
    const char *from = *path;
    if (from == NULL)
        return 0;
    *path = arena_strdup(arena, from);
    return *path != NULL ? 0
                         : err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, ENOMEM, "hold policy", from);
}

int policy_copy(struct policy *out, const struct policy *from, struct arena *arena, struct cordon_error *err)
{
    *out = *from;
    struct policy_binds *const binds[] = {&out->rw, &out->ro};
    struct policy_names *const names[] = {&out->protect, &out->hide, &out->env.allow, &out->env.deny, &out->require};
    struct policy_vars *const vars[] = {&out->env.fallback, &out->env.set};
    const char **const paths[] = {&out->work_host, &out->cwd};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof binds / sizeof binds[0]; i++)
        r = copy_binds(binds[i], arena, err);
    for (size_t i = 0; r == 0 && i < sizeof names / sizeof names[0]; i++)
        r = copy_names(names[i], arena, err);
    for (size_t i = 0; r == 0 && i < sizeof vars / sizeof vars[0]; i++)
        r = copy_vars(vars[i], arena, err);
    for (size_t i = 0; r == 0 && i < sizeof paths / sizeof paths[0]; i++)
        r = copy_path(paths[i], arena, err);
    return r;
}
