#include "module/manifest.h"

#include <errno.h>
#include <string.h>

#include "wire/doc.h"
#include "wire/effects_json.h"
#include "wire/policy_json.h"

#define ID_MAX 128

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

const char *module_id_wrong(const char *id)
{
    bool begins = true; /* of an identifier */
    if (strlen(id) > ID_MAX)
        return "an id has at most 128 characters";
    for (const char *p = id; *p != '\0'; p++) {
        const bool inside = is_lower(*p) || (*p >= '0' && *p <= '9') || *p == '_';
        if (begins ? !is_lower(*p) : !inside && *p != '.')
            return "an id is lower-case identifiers with dots between them, as in text.wordcount";
        begins = *p == '.';
    }
    return begins ? "an id ends with a letter, a digit or _" : NULL;
}

/* A name in the module's own directory: nothing of the manifest's leads elsewhere. */
static int read_library(struct doc *d, const struct json *value, void *target, const void *detail)
{
    int r = doc_read_text(d, value, target, detail);
    if (r == 0 && (strchr(value->text, '/') != NULL || strcmp(value->text, "..") == 0))
        r = doc_fail(d, value, "not the name of a file in the module's directory", NULL);
    return r;
}

static int read_command(struct doc *d, const struct json *value, void *target, const void *detail)
{
    struct manifest *manifest = target;
    (void)detail;
    int r = doc_expect(d, value, JSON_ARRAY);
    if (r < 0)
        return r;
    if (value->count == 0 || value->count > MANIFEST_MAX_WORDS)
        return doc_fail(d, value, "a command has 1 to 256 words", NULL);
    manifest->command = arena_array(d->arena, value->count + 1, sizeof *manifest->command);
    if (manifest->command == NULL)
        return doc_fail(d, value, "out of memory", NULL);
    for (const struct json *word = value->first; r == 0 && word != NULL; word = word->next) {
        const size_t i = manifest->command_count++;
        size_t mark = doc_enter_index(d, i);
        r = doc_expect(d, word, JSON_STRING);
        if (r == 0 && i == 0 && word->len == 0)
            r = doc_fail(d, word, "the name of the program is empty", NULL);
        if (r == 0) {
            manifest->command[i] = word->text;
            doc_leave(d, mark);
        }
    }
    return r;
}

static int keep_value(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)d;
    (void)detail;
    *(const struct json **)target = value;
    return 0;
}

static const struct doc_field manifest_fields[] = {
    {"id", doc_read_text, offsetof(struct manifest, id), NULL},
    {"command", read_command, 0, NULL},
    {"library", read_library, offsetof(struct manifest, library), NULL},
    {"effects", keep_value, offsetof(struct manifest, effects), NULL},
    {"limits", keep_value, offsetof(struct manifest, limits), NULL},
    {"description", doc_read_text, offsetof(struct manifest, description), NULL},
};

/* Everything in a manifest that is wrong is the module's fault, not that of the caller's policy. */
static int blame_module(struct doc *d, int r)
{
    if (r < 0) {
        d->err->kind = CORDON_ERROR_MODULE;
        d->err->layer = CORDON_LAYER_MODULE;
    }
    return r;
}

static int check(struct doc *d, const struct json *root, const struct manifest *m, const char *id)
{
    if (m->id == NULL)
        return doc_fail(d, root, "the key \"id\" is missing", "it is the name of the directory");
    if (strcmp(m->id, id) != 0) {
        doc_enter_key(d, "id");
        return doc_fail(d, json_get(root, "id"), "not the name of the module's directory", id);
    }
    if ((m->command == NULL) == (m->library == NULL))
        return doc_fail(d, root, "exactly one of \"command\" and \"library\" must be there", NULL);
    return 0;
}

int manifest_ask(const struct manifest *manifest, struct policy *policy, struct arena *arena,
                 struct cordon_error *err)
{
    struct cordon_error ignored;
    struct doc d = {.arena = arena, .err = err != NULL ? err : &ignored, .what = "read manifest"};
    int r = 0;
    if (manifest->effects != NULL) {
        size_t mark = doc_enter_key(&d, "effects");
        r = effects_apply(&d, manifest->effects, policy);
        if (r == 0)
            doc_leave(&d, mark);
    }
    if (r == 0 && manifest->limits != NULL) {
        doc_enter_key(&d, "limits");
        r = policy_read_limits(&d, manifest->limits, policy);
    }
    return blame_module(&d, r);
}

int manifest_read(struct manifest *out, struct arena *arena, const char *id, const char *text,
                  size_t len, struct cordon_error *err)
{
    struct cordon_error ignored;
    struct doc d = {.arena = arena, .err = err != NULL ? err : &ignored, .what = "read manifest"};
    struct manifest manifest = {0};
    struct policy scratch;
    const struct json *root = doc_parse(&d, arena, text, len, MANIFEST_MAX_BYTES);
    int r = root == NULL ? -EINVAL : doc_object(&d, root, DOC_FIELDS(manifest_fields), &manifest);
    if (r == 0)
        r = check(&d, root, &manifest, id);
    if (r < 0)
        return blame_module(&d, r);
    /* A request that is no request is found when the module is read, not when it is granted. */
    policy_init(&scratch, PROFILE_MODULE);
    r = manifest_ask(&manifest, &scratch, arena, d.err);
    if (r == 0)
        *out = manifest;
    return r;
}
