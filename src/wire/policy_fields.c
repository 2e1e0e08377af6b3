#include "wire/policy_fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/capability.h"

/* An error of policy_add_*() again, at the place of the document that caused it. */
static int rewrap(struct doc *d, const struct json *at)
{
    char why[160];
    snprintf(why, sizeof why, "%.150s", d->err != NULL ? d->err->why : "");
    return doc_fail(d, at, why, NULL);
}

int field_bool(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    int r = doc_expect(d, value, JSON_BOOL);
    if (r == 0)
        *(bool *)target = value->boolean;
    return r;
}

int field_word(struct doc *d, const struct json *value, void *target, const void *detail)
{
    const struct policy_words *words = detail;
    char list[128];
    char remedy[224];
    policy_words_list(words, list, sizeof list);
    snprintf(remedy, sizeof remedy, "allowed words: %s", list);

    int r = doc_expect(d, value, JSON_STRING);
    if (r < 0) {
        err_remedy(d->err, remedy);
        return r;
    }
    int found = policy_words_parse(words, value->text);
    if (found < 0)
        return doc_fail(d, value, "unknown word", remedy);
    *(unsigned *)target = (unsigned)found; /* all enums here are unsigned int */
    return 0;
}

int field_uint(struct doc *d, const struct json *value, uint64_t *out)
{
    int r = doc_expect(d, value, JSON_INT);
    if (r == 0 && value->integer < 0)
        r = doc_fail(d, value, "a negative number", "write a number from 1 on");
    if (r == 0)
        *out = (uint64_t)value->integer;
    return r;
}

int field_limit(struct doc *d, const struct json *value, void *target, const void *detail)
{
    const struct policy_limit *limit = policy_limit_find(detail);
    struct policy *policy = target;
    struct policy base;
    char room[96];
    uint64_t number = POLICY_UNLIMITED;

    if (value->type != JSON_NULL) {
        int r = field_uint(d, value, &number);
        if (r < 0)
            return r;
    }
    const char *why = policy_limit_wrong(limit, number, room, sizeof room);
    if (number == 0 && limit->zero == ZERO_DEFAULT) {
        policy_init(&base, policy->profile);
        number = policy_limit_get(&base, limit);
        why = NULL;
    }
    if (why != NULL)
        return doc_fail(d, value, why, NULL);
    policy_limit_set(policy, limit, number);
    return 0;
}

/* Each string of a list through `add`, into a list that begins empty. */
static int each_string(struct doc *d, const struct json *value, struct policy_names *list,
                       int (*add)(struct doc *, const struct json *, struct policy_names *))
{
    int r = doc_expect(d, value, JSON_ARRAY);
    *list = (struct policy_names){0};
    size_t i = 0;
    for (const struct json *c = value->first; r == 0 && c != NULL; c = c->next) {
        size_t mark = doc_enter_index(d, i++);
        r = doc_expect(d, c, JSON_STRING);
        if (r == 0)
            r = add(d, c, list);
        if (r == 0)
            doc_leave(d, mark);
    }
    return r;
}

static int add_plain(struct doc *d, const struct json *value, struct policy_names *list)
{
    return policy_add_name(list, d->arena, value->text, d->err) < 0 ? rewrap(d, value) : 0;
}

int field_names(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    return each_string(d, value, target, add_plain);
}

static int variable(struct doc *d, const struct json *at, const char *name, bool star)
{
    char why[160];
    const char *wrong = policy_variable_wrong(name, star);
    if (wrong == NULL)
        return 0;
    snprintf(why, sizeof why, "'%.80s' %s", name, wrong);
    return doc_fail(d, at, why, star ? "write NAME or PREFIX_*; values belong into env.set"
                                     : "write \"NAME\": \"value\"");
}

static int add_variable(struct doc *d, const struct json *value, struct policy_names *list)
{
    int r = variable(d, value, value->text, true);
    return r < 0 ? r : add_plain(d, value, list);
}

int field_variables(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    return each_string(d, value, target, add_variable);
}

static int add_hidden(struct doc *d, const struct json *value, struct policy_names *list)
{
    const char *path = value->text;
    if (strncmp(path, "**/", 3) != 0) {
        if (path[0] != '/')
            return doc_fail(d, value, "neither an absolute path nor a glob that begins with **/",
                            "write /srv/in/.env or **/.env");
        path = policy_normalize_path(d->arena, path);
    }
    if (path == NULL || policy_add_name(list, d->arena, path, d->err) < 0)
        return rewrap(d, value);
    return 0;
}

int field_hide(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    return each_string(d, value, target, add_hidden);
}

static int add_requirement(struct doc *d, const struct json *value, struct policy_names *list)
{
    char remedy[256];
    if (!capability_requirement(value->text)) {
        capability_remedy(value->text, remedy, sizeof remedy);
        return doc_fail(d, value, "unknown capability or mechanism", remedy);
    }
    return add_plain(d, value, list);
}

int field_require(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    return each_string(d, value, target, add_requirement);
}

int field_vars(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    int r = doc_expect(d, value, JSON_OBJECT);
    for (const struct json *m = value->first; r == 0 && m != NULL; m = m->next) {
        size_t mark = doc_enter_key(d, m->key);
        r = doc_expect(d, m, JSON_STRING);
        if (r == 0)
            r = variable(d, m, m->key, false);
        if (r == 0 && policy_add_var(target, d->arena, m->key, m->text, d->err) < 0)
            r = rewrap(d, m);
        if (r == 0)
            doc_leave(d, mark);
    }
    return r;
}

int field_path(struct doc *d, const struct json *value, const char **out)
{
    int r = doc_expect(d, value, JSON_STRING);
    if (r < 0)
        return r;
    if (value->text[0] != '/')
        return doc_fail(d, value, "the path is not absolute",
                        "write it from / on; ~ and variables are not expanded");
    if (value->len > POLICY_MAX_PATH)
        return doc_fail(d, value, "the path is longer than 4095 bytes", NULL);
    *out = policy_normalize_path(d->arena, value->text);
    return *out == NULL ? doc_fail(d, value, "document too large", NULL) : 0;
}

static int read_bind_path(struct doc *d, const struct json *value, void *target,
                          const void *detail)
{
    (void)detail;
    return field_path(d, value, target);
}

int field_bind(struct doc *d, const struct json *value, struct policy_binds *list, bool short_form)
{
    static const struct doc_field fields[] = {
        {"host", read_bind_path, offsetof(struct policy_bind, host), NULL},
        {"sandbox", read_bind_path, offsetof(struct policy_bind, sandbox), NULL},
        {"optional", field_bool, offsetof(struct policy_bind, optional), NULL},
    };
    static const char shape[] = "write {\"host\": \"/srv/a\", \"sandbox\": \"/data\"}";
    struct policy_bind bind = {0};
    int r;

    if (value->type == JSON_ARRAY)
        return doc_fail(d, value, "a bind is an object, not a pair", shape);
    if (short_form && value->type == JSON_STRING) {
        r = field_path(d, value, &bind.host);
    } else if (value->type == JSON_OBJECT) {
        /* `optional` is not part of the older form, which has no short one either. */
        r = doc_object(d, value, fields, short_form ? 3 : 2, &bind);
    } else {
        r = doc_expect(d, value, JSON_OBJECT);
        err_remedy(d->err, shape);
    }
    if (r < 0)
        return r;
    if (bind.host == NULL || (bind.sandbox == NULL && !short_form))
        return doc_fail(
            d, value,
            bind.host == NULL ? "the bind has no \"host\"" : "the bind has no \"sandbox\"", shape);
    if (bind.sandbox == NULL)
        bind.sandbox = bind.host;
    if (policy_add_bind(list, d->arena, bind.host, bind.sandbox, bind.optional, d->err) < 0)
        return rewrap(d, value);
    return 0;
}

int field_binds(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    struct policy_binds *list = target;
    int r = doc_expect(d, value, JSON_ARRAY);
    *list = (struct policy_binds){0};
    size_t i = 0;
    for (const struct json *c = value->first; r == 0 && c != NULL; c = c->next) {
        size_t mark = doc_enter_index(d, i++);
        r = field_bind(d, c, list, true);
        if (r == 0)
            doc_leave(d, mark);
    }
    return r;
}
