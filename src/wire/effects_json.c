#include "wire/effects_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "wire/policy_fields.h"

enum effect { EFFECT_NETWORK, EFFECT_FS_READ, EFFECT_FS_WRITE, EFFECT_WITHOUT_RIGHTS };

static const struct {
    const char *name;
    enum effect effect;
} effects[] = {
    {"Network", EFFECT_NETWORK},
    {"FsRead", EFFECT_FS_READ},
    {"FsWrite", EFFECT_FS_WRITE},
    {"Pure", EFFECT_WITHOUT_RIGHTS},
    {"Fallible", EFFECT_WITHOUT_RIGHTS},
    {"Llm", EFFECT_WITHOUT_RIGHTS},
    {"NonDeterministic", EFFECT_WITHOUT_RIGHTS},
    {"Process", EFFECT_WITHOUT_RIGHTS},
    {"Cost", EFFECT_WITHOUT_RIGHTS},
    {"Unknown", EFFECT_WITHOUT_RIGHTS},
};
#define EFFECT_COUNT (sizeof effects / sizeof effects[0])

/* FsRead as itself and as fs_read. */
static bool is_named(const char *name, const char *camel)
{
    if (strcmp(name, camel) == 0)
        return true;
    for (size_t i = 0; *camel != '\0'; camel++, i++) {
        const bool upper = *camel >= 'A' && *camel <= 'Z';
        if (upper && i > 0 && *name++ != '_')
            return false;
        if (*name++ != (upper ? (char)(*camel - 'A' + 'a') : *camel))
            return false;
    }
    return *name == '\0';
}

static int find_effect(struct doc *d, const struct json *tag, enum effect *out)
{
    char remedy[256] = "known effects: Network, FsRead, FsWrite, Pure, Fallible, Llm, "
                       "NonDeterministic, Process, Cost, Unknown";
    for (size_t i = 0; i < EFFECT_COUNT; i++) {
        if (is_named(tag->text, effects[i].name)) {
            *out = effects[i].effect;
            return 0;
        }
    }
    const char *near = nearest_word(tag->text, &effects[0].name, EFFECT_COUNT, sizeof effects[0]);
    if (near != NULL)
        snprintf(remedy, sizeof remedy, "did you mean \"%s\"?", near);
    return doc_fail(d, tag, "unknown effect", remedy);
}

static bool shows(const struct policy_binds *list, const char *path)
{
    size_t i = 0;
    while (i < list->count && strcmp(list->items[i].sandbox, path) != 0)
        i++;
    return i < list->count;
}

/* Effects are a set: saying one twice is saying it once. */
static int add_once(struct doc *d, const struct json *at, struct policy_binds *list, const char *path)
{
    if (shows(list, path) || policy_add_bind(list, d->arena, path, path, false, d->err) == 0)
        return 0;
    return doc_fail(d, at, "too many binds", NULL);
}

static int add_path(struct doc *d, const struct json *item, struct policy_binds *list)
{
    const struct json *value = json_get(item, "path");
    const char *path = NULL;
    if (value == NULL)
        return doc_fail(d, item, "the effect has no \"path\"",
                        "write {\"effect\": \"FsRead\", \"path\": \"/srv/in\"}");
    size_t mark = doc_enter_key(d, "path");
    int r = field_path(d, value, &path);
    if (r == 0)
        r = add_once(d, value, list, path);
    if (r == 0)
        doc_leave(d, mark);
    return r;
}

/* What a list asks for. */
struct wanted {
    bool network;
    struct policy_binds read, written;
};

static int read_one(struct doc *d, const struct json *item, struct wanted *wanted)
{
    enum effect effect = EFFECT_WITHOUT_RIGHTS;
    int r = doc_expect(d, item, JSON_OBJECT);
    if (r < 0) {
        err_remedy(d->err, "write {\"effect\": \"Network\"}");
        return r;
    }
    const struct json *tag = json_get(item, "effect");
    if (tag == NULL)
        return doc_fail(d, item, "the key \"effect\" is missing",
                        "write {\"effect\": \"Network\"}");
    size_t mark = doc_enter_key(d, "effect");
    r = doc_expect(d, tag, JSON_STRING);
    if (r == 0)
        r = find_effect(d, tag, &effect);
    if (r < 0)
        return r;
    doc_leave(d, mark);

    switch (effect) {
    case EFFECT_NETWORK:
        wanted->network = true;
        return 0;
    case EFFECT_FS_READ:
        return add_path(d, item, &wanted->read);
    case EFFECT_FS_WRITE:
        return add_path(d, item, &wanted->written);
    case EFFECT_WITHOUT_RIGHTS:
        return 0; /* their own fields (a model, a price) are for others to read */
    }
    return 0;
}

/* What is written can be read: in both lists of a policy it would be read-only. */
static int ask(struct doc *d, const struct json *list, const struct wanted *wanted, struct policy *policy)
{
    int r = 0;
    if (wanted->network)
        policy->net = NET_HOST;
    for (size_t i = 0; r == 0 && i < wanted->written.count; i++)
        r = add_once(d, list, &policy->rw, wanted->written.items[i].host);
    for (size_t i = 0; r == 0 && i < wanted->read.count; i++) {
        const char *path = wanted->read.items[i].host;
        r = shows(&wanted->written, path) ? 0 : add_once(d, list, &policy->ro, path);
    }
    return r;
}

int effects_apply(struct doc *d, const struct json *list, struct policy *policy)
{
    struct wanted wanted = {0};
    int r = doc_expect(d, list, JSON_ARRAY);
    size_t i = 0;
    for (const struct json *c = list->first; r == 0 && c != NULL; c = c->next) {
        size_t mark = doc_enter_index(d, i++);
        r = read_one(d, c, &wanted);
        if (r == 0)
            doc_leave(d, mark);
    }
    return r < 0 ? r : ask(d, list, &wanted, policy);
}

int effects_read(struct policy *policy, struct arena *arena, const char *text, size_t len,
                 struct cordon_error *err)
{
    struct cordon_error ignored;
    struct doc d = {.arena = arena, .err = err != NULL ? err : &ignored, .what = "read effects"};
    const struct json *root = doc_parse(&d, arena, text, len, POLICY_MAX_BYTES);
    if (root == NULL)
        return -EINVAL;
    /* A set is written as its list, or as an object around it. */
    const struct json *list = root->type == JSON_OBJECT ? json_get(root, "effects") : NULL;
    if (list != NULL) {
        if (root->count > 1)
            return doc_fail(&d, root, "unknown keys beside \"effects\"", NULL);
        doc_enter_key(&d, "effects");
        return effects_apply(&d, list, policy);
    }
    return effects_apply(&d, root, policy);
}
