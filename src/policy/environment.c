#include "policy/environment.h"

#include <string.h>

static bool listed(const struct policy_names *list, const char *name, bool by_prefix)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *pattern = list->items[i];
        if (by_prefix ? policy_name_matches(pattern, name) : strcmp(pattern, name) == 0)
            return true;
    }
    return false;
}

bool policy_variable_denied(const struct policy_env *env, const char *name)
{
    return listed(&env->deny, name, true);
}

static bool passes(const struct policy_env *env, const char *name)
{
    if (policy_variable_denied(env, name))
        return false;
    return env->inherit || listed(&env->allow, name, !policy_loader_variable(name));
}

static bool is_set(const struct policy_vars *vars, const char *name)
{
    for (size_t i = 0; i < vars->count; i++) {
        if (strcmp(vars->items[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Whether one of the entries is a value for this name. */
static bool present(char *const *entries, size_t count, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(entries[i], name, len) == 0 && entries[i][len] == '=')
            return true;
    }
    return false;
}

char **policy_environment(const struct policy *policy, char *const *caller, struct arena *arena)
{
    const struct policy_env *env = &policy->env;
    size_t most = env->fallback.count + env->set.count + 1;
    for (char *const *e = caller; *e != NULL; e++)
        most++;
    char **out = arena_array(arena, most, sizeof(char *));
    if (out == NULL)
        return NULL;

    size_t n = 0;
    for (char *const *e = caller; *e != NULL; e++) {
        const char *equals = strchr(*e, '=');
        if (equals == NULL || equals == *e)
            continue; /* not a variable; some programs pass such strings on, we do not */
        const char *name = arena_strndup(arena, *e, (size_t)(equals - *e));
        if (name == NULL)
            return NULL;
        /* Twice the same name: libraries disagree on which one counts, so only the first passes. */
        if (!passes(env, name) || is_set(&env->set, name) || present(out, n, name))
            continue;
        out[n] = arena_strdup(arena, *e);
        if (out[n++] == NULL)
            return NULL;
    }
    const size_t passed = n;
    for (size_t i = 0; i < env->fallback.count; i++) {
        const struct policy_var *var = &env->fallback.items[i];
        if (present(out, passed, var->name) || is_set(&env->set, var->name))
            continue;
        out[n] = arena_printf(arena, "%s=%s", var->name, var->value);
        if (out[n++] == NULL)
            return NULL;
    }
    for (size_t i = 0; i < env->set.count; i++) {
        out[n] = arena_printf(arena, "%s=%s", env->set.items[i].name, env->set.items[i].value);
        if (out[n++] == NULL)
            return NULL;
    }
    return out;
}
