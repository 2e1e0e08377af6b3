#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments.h"
#include "api/handles.h"
#include "wire/policy_json.h"

static struct cordon_policy *make(struct cordon_error *err)
{
    struct cordon_policy *policy = calloc(1, sizeof *policy);
    if (policy == NULL) {
        err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_POLICY, ENOMEM, "make a policy", "");
        return NULL;
    }
    policy->arena = ARENA_INIT(POLICY_ARENA_BYTES);
    policy->source = POLICY_SOURCE_INIT;
    return policy;
}

struct cordon_policy *cordon_policy_new(const char *profile, struct cordon_error *err)
{
    int which = argument_need(profile, "no profile", err);
    if (which == 0)
        which = policy_words_find(&policy_profile_words, "find profile", profile, err);
    struct cordon_policy *policy = which < 0 ? NULL : make(err);
    if (policy != NULL)
        policy_init(&policy->policy, (enum policy_profile)which);
    return policy;
}

struct cordon_policy *cordon_policy_parse(const char *json, size_t len, struct cordon_error *err)
{
    struct cordon_policy *policy = argument_need(json, "no document", err) < 0 ? NULL : make(err);
    if (policy != NULL && policy_read(&policy->policy, &policy->arena, json, len, &policy->source, err) < 0) {
        cordon_policy_free(policy);
        return NULL;
    }
    return policy;
}

void cordon_policy_free(struct cordon_policy *policy)
{
    if (policy == NULL)
        return;
    arena_free(&policy->arena);
    free(policy);
}

/* What every change takes. */
static int need(const struct cordon_policy *policy, const char *word, struct cordon_error *err)
{
    int r = argument_need(policy, "no policy", err);
    return r < 0 ? r : argument_need(word, "no word for what is to be changed", err);
}

int cordon_policy_add_ro(struct cordon_policy *policy, const char *host, const char *sandbox,
                                struct cordon_error *err)
{
    if (need(policy, host, err) < 0)
        return -EINVAL;
    return policy_add_bind(&policy->policy.ro, &policy->arena, host, sandbox == NULL ? host : sandbox, false, err);
}

int cordon_policy_add_rw(struct cordon_policy *policy, const char *host, const char *sandbox,
                                struct cordon_error *err)
{
    if (need(policy, host, err) < 0)
        return -EINVAL;
    return policy_add_bind(&policy->policy.rw, &policy->arena, host, sandbox == NULL ? host : sandbox, false, err);
}

int cordon_policy_allow_env(struct cordon_policy *policy, const char *name, struct cordon_error *err)
{
    if (need(policy, name, err) < 0)
        return -EINVAL;
    return policy_add_name(&policy->policy.env.allow, &policy->arena, name, err);
}

int cordon_policy_set_env(struct cordon_policy *policy, const char *name, const char *value,
                                 struct cordon_error *err)
{
    if (need(policy, name, err) < 0 || argument_need(value, "no value", err) < 0)
        return -EINVAL;
    return policy_add_var(&policy->policy.env.set, &policy->arena, name, value, err);
}

static void offer_limits(struct cordon_error *err)
{
    char list[sizeof err->remedy];
    int len = snprintf(list, sizeof list, "allowed:");
    for (size_t i = 0; i < POLICY_LIMIT_COUNT && (size_t)len < sizeof list; i++)
        len += snprintf(list + len, sizeof list - (size_t)len, "%s %s", i == 0 ? "" : ",", policy_limit_table[i].key);
    err_remedy(err, list);
}

int cordon_policy_set_limit(struct cordon_policy *policy, const char *name, uint64_t value,
                                   struct cordon_error *err)
{
    if (need(policy, name, err) < 0)
        return -EINVAL;
    const struct policy_limit *limit = policy_limit_find(name);
    char room[160];
    if (limit == NULL) {
        err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_POLICY, EINVAL, "set limit", name);
        err_why(err, "there is no such name");
        offer_limits(err);
        return -EINVAL;
    }
    const char *wrong = policy_limit_wrong(limit, value, room, sizeof room);
    if (wrong != NULL) {
        err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, ERANGE, "set limit", name);
        err_why(err, wrong);
        return -ERANGE;
    }
    policy_limit_set(&policy->policy, limit, value);
    return 0;
}

int cordon_policy_set_net(struct cordon_policy *policy, const char *net, struct cordon_error *err)
{
    if (need(policy, net, err) < 0)
        return -EINVAL;
    int which = policy_words_find(&policy_net_words, "set net", net, err);
    if (which < 0)
        return which;
    policy->policy.net = (enum policy_net)which;
    return 0;
}

void cordon_policy_allow_partial(struct cordon_policy *policy, int allow)
{
    if (policy != NULL)
        policy->policy.allow_partial = allow != 0;
}

char *cordon_policy_json(const struct cordon_policy *policy)
{
    BUF_AUTO text = BUF_INIT(64 * POLICY_MAX_BYTES);
    if (policy == NULL)
        return NULL;
    policy_write_v1(&policy->policy, &text);
    return buf_string(&text) == NULL ? NULL : strdup(text.data);
}
