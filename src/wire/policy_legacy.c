#include "wire/policy_legacy.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "wire/policy_fields.h"

/* Both forms name the host's Nix store whether it exists or not. */
static int read_binds(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    struct policy_binds *list = target;
    int r = doc_expect(d, value, JSON_ARRAY);
    *list = (struct policy_binds){0};
    for (const struct json *c = value->first; r == 0 && c != NULL; c = c->next) {
        size_t mark = doc_enter_index(d, list->count);
        r = field_bind(d, c, list, false);
        if (r < 0)
            return r;
        struct policy_bind *bind = &list->items[list->count - 1];
        bind->optional = strcmp(bind->host, "/nix/store") == 0;
        doc_leave(d, mark);
    }
    return r;
}

static int read_work_host(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    struct policy *policy = target;
    if (value->type == JSON_NULL) /* writers of other languages send an unset field as null */
        return 0;
    int r = field_path(d, value, &policy->work_host);
    if (r == 0)
        policy->work = WORK_HOST;
    return r;
}

static int read_network(struct doc *d, const struct json *value, void *target, const void *detail)
{
    bool network = false;
    int r = field_bool(d, value, &network, detail);
    if (r == 0)
        ((struct policy *)target)->net = network ? NET_HOST : NET_NONE;
    return r;
}

/* Only socket() kills, so that the run ends as FORBIDDEN_SYSCALL. */
static int read_enforce(struct doc *d, const struct json *value, void *target, const void *detail)
{
    struct policy *policy = target;
    bool enforce = false;
    int r = field_bool(d, value, &enforce, detail);
    if (r == 0 && enforce) {
        policy->net = NET_NONE;
        policy->on_forbidden = FORBIDDEN_KILL_SOCKETS;
    }
    return r;
}

static int read_seconds(struct doc *d, const struct json *value, void *target, const void *detail)
{
    struct json ms = *value;
    uint64_t seconds = 0;
    int r = field_uint(d, value, &seconds);
    if (r < 0)
        return r;
    if (seconds > INT64_MAX / 1000)
        return doc_fail(d, value, "number out of range", NULL);
    ms.integer = (int64_t)seconds * 1000;
    return field_limit(d, &ms, target, detail);
}

static int read_limit(struct doc *d, const struct json *value, void *target, const void *detail)
{
    int r = doc_expect(d, value, JSON_INT); /* no null here: the form has no way to say unlimited */
    return r < 0 ? r : field_limit(d, value, target, detail);
}

#define NOETHER_KEYS 5
static const struct doc_field fields[] = {
    {"ro_binds", read_binds, offsetof(struct policy, ro), NULL},
    {"rw_binds", read_binds, offsetof(struct policy, rw), NULL},
    {"work_host", read_work_host, 0, NULL},
    {"network", read_network, 0, NULL},
    {"env_allowlist", field_variables, offsetof(struct policy, env.allow), NULL},
    {"wall_time_s", read_seconds, 0, "wall_ms"},
    {"cpu_time_s", read_seconds, 0, "cpu_ms"},
    {"mem_bytes", read_limit, 0, "mem_bytes"},
    {"pids_max", read_limit, 0, "pids"},
    {"nofile", read_limit, 0, "nofile"},
    {"output_bytes", read_limit, 0, "output_bytes"},
    {"enforce_network", read_enforce, 0, NULL},
    {"allow_partial", field_bool, offsetof(struct policy, allow_partial), NULL},
};

static bool any_key(const struct json *root, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (json_get(root, fields[i].key) != NULL)
            return true;
    }
    return false;
}

static const char *missing_key(const struct json *root)
{
    static const char *const required[] = {"ro_binds", "network", "env_allowlist"};
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        if (json_get(root, required[i]) == NULL)
            return required[i];
    }
    return NULL;
}

static void warn_unknown(struct doc *d, const struct json *member)
{
    struct policy_source *source = d->context;
    char name[128];
    if (source->warning_count >= POLICY_SOURCE_WARNINGS)
        return;
    text_escape(name, sizeof name, d->pointer, strlen(d->pointer));
    snprintf(source->warnings[source->warning_count++], sizeof source->warnings[0],
             "%u:%u: unknown key '%s' has no effect", member->key_line, member->key_col, name);
}

/* Keys of version 1 without its `version`: a slip that deserves its own words. */
static int refuse_unversioned(struct doc *d, const struct json *root)
{
    static const char *const keys[] = {"extends", "fs", "net", "env", "limits", "proc", "backend",
                                       "require"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct json *member = json_get(root, keys[i]);
        if (member != NULL) {
            doc_enter_key(d, keys[i]);
            return doc_fail_key(d, member, "a key of version 1 in a document without \"version\"",
                                "add \"version\": 1");
        }
    }
    return 0;
}

static int refuse_contradiction(struct doc *d, const struct json *root)
{
    const struct json *network = json_get(root, "network");
    const struct json *enforce = json_get(root, "enforce_network");
    if (network == NULL || enforce == NULL || !network->boolean || !enforce->boolean)
        return 0;
    doc_enter_key(d, "enforce_network");
    return doc_fail(d, enforce, "network grants what enforce_network forbids",
                    "set one of the two to false");
}

int policy_legacy_read(struct doc *d, const struct json *root, struct policy *out,
                       struct policy_source *source)
{
    const size_t count = sizeof fields / sizeof fields[0];
    const bool noether = any_key(root, 0, NOETHER_KEYS);
    const bool limits = any_key(root, NOETHER_KEYS, count);
    const char *missing = missing_key(root);
    char why[96];

    source->form = noether && limits ? FORM_MIXED : noether ? FORM_NOETHER : FORM_SANDBOX_POLICY;
    if (source->profile < 0) /* these forms cannot name a base, so the caller may */
        source->profile = noether ? PROFILE_STAGE : PROFILE_LIMITS;
    policy_source_base(source, out);
    if (noether && missing == NULL) {
        d->unknown = warn_unknown;
        d->context = source;
    } else {
        int r = refuse_unversioned(d, root);
        if (r < 0)
            return r;
    }
    int r = doc_object(d, root, fields, count, out);
    d->unknown = NULL;
    if (r == 0 && source->form == FORM_NOETHER && missing != NULL) {
        snprintf(why, sizeof why, "the key \"%s\" is missing", missing);
        r = doc_fail(d, root, why, "this form needs ro_binds, network and env_allowlist; in "
                                   "version 1 every key is optional");
    }
    return r == 0 ? refuse_contradiction(d, root) : r;
}
