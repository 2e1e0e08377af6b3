#include "project/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/doc.h"

#define NAMES(...)                                                            \
    {.items = (const char *const[]){__VA_ARGS__},                             \
     .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)}

static const struct project_config defaults = {
    .test_root = ".",
    .writable = NAMES("tests"),
    .caches = NAMES(".pytest_cache", "__pycache__", ".coverage", ".coverage.*", ".slop_cache",
                    ".ruff_cache"),
    .protect = NAMES("manual_slop.toml", "manual_slop_history.toml", "config.toml",
                     "credentials.toml", "presets.toml", "personas.toml", "tool_presets.toml"),
    .config_env = NAMES("SLOP_CONFIG"),
};

void project_config_default(struct project_config *config)
{
    *config = defaults;
}

bool project_config_names_caches(const struct project_config *config)
{
    return config->caches.items != defaults.caches.items;
}

/* NULL, or why the path cannot be one beneath the root. */
static const char *path_wrong(const char *path)
{
    if (path[0] == '\0')
        return "the path is empty";
    if (path[0] == '/')
        return "the path must be relative to the project root";
    for (const char *p = path; *p != '\0';) {
        size_t len = strcspn(p, "/");
        if (len == 2 && p[0] == '.' && p[1] == '.')
            return "the path must not contain '..'";
        p += len + (p[len] == '/');
    }
    return NULL;
}

/* "./a//b/" becomes "a/b"; "" is the root itself. */
static char *normalise(struct arena *arena, const char *path)
{
    char *out = arena_alloc(arena, strlen(path) + 1);
    size_t used = 0;
    for (const char *p = path; out != NULL && *p != '\0';) {
        size_t len = strcspn(p, "/");
        if (len > 0 && !(len == 1 && p[0] == '.')) {
            if (used > 0)
                out[used++] = '/';
            memcpy(out + used, p, len);
            used += len;
        }
        p += len + (p[len] == '/');
    }
    return out;
}

static int no_memory(struct doc *d, const struct json *at)
{
    return doc_fail(d, at, "there is not enough memory", NULL);
}

/* A path beneath the root; `detail`: the root itself is one, too. */
static int read_path(struct doc *d, const struct json *value, void *target, const void *detail)
{
    int r = doc_expect(d, value, JSON_STRING);
    if (r < 0)
        return r;
    const char *wrong = path_wrong(value->text);
    if (wrong != NULL)
        return doc_fail(d, value, wrong, "name a place beneath the directory of cordon.json");
    char *path = normalise(d->arena, value->text);
    if (path == NULL)
        return no_memory(d, value);
    if (path[0] == '\0' && detail == NULL)
        return doc_fail(d, value, "this is the project root itself", "name a directory in it");
    *(const char **)target = path[0] == '\0' ? "." : path;
    return 0;
}

/* A word of the command line may be empty. */
static int read_word(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    int r = doc_expect(d, value, JSON_STRING);
    if (r == 0)
        *(const char **)target = value->text;
    return r;
}

/* One component of a path: "__pycache__", or with a star at the end ".coverage.*". */
static int read_component(struct doc *d, const struct json *value, void *target, const void *detail)
{
    int r = doc_read_text(d, value, target, detail);
    if (r < 0)
        return r;
    const char *star = strchr(value->text, '*');
    if (strchr(value->text, '/') != NULL || strcmp(value->text, ".") == 0 ||
        strcmp(value->text, "..") == 0)
        return doc_fail(d, value, "a cache is a single name, which counts wherever it stands",
                        "write __pycache__, not src/__pycache__");
    if (star != NULL && (star[1] != '\0' || star - value->text < 2))
        return doc_fail(d, value, "a star may stand at the end only, behind two characters", NULL);
    return 0;
}

static int read_list(struct doc *d, const struct json *list, void *target, const void *detail)
{
    doc_read_fn *const *read = detail;
    int r = doc_expect(d, list, JSON_ARRAY);
    if (r < 0)
        return r;
    if (list->count > PROJECT_LIST_MAX)
        return doc_fail(d, list, "the list is too long", NULL);
    const char **items = arena_array(d->arena, list->count + 1, sizeof *items);
    if (items == NULL)
        return no_memory(d, list);
    size_t i = 0;
    for (const struct json *m = list->first; r == 0 && m != NULL; m = m->next, i++) {
        size_t mark = doc_enter_index(d, i);
        r = (*read)(d, m, &items[i], NULL);
        if (r == 0)
            doc_leave(d, mark);
    }
    if (r == 0)
        *(struct project_names *)target = (struct project_names){items, list->count};
    return r;
}

static int read_writable(struct doc *d, const struct json *list, void *target, const void *detail)
{
    int r = read_list(d, list, target, detail);
    if (r == 0 && list->count == 0)
        r = doc_fail(d, list, "a test suite needs a place to write", "leave it out, or name one");
    return r;
}

static doc_read_fn *const each_path = read_path, *const each_text = doc_read_text,
                   *const each_word = read_word, *const each_component = read_component;

#define AT(field) offsetof(struct project_config, field)

struct section {
    const struct doc_field *fields;
    size_t count;
};

static int read_section(struct doc *d, const struct json *object, void *target, const void *detail)
{
    const struct section *section = detail;
    return doc_object(d, object, section->fields, section->count, target);
}

static const struct doc_field test_fields[] = {
    {"root", read_path, AT(test_root), &defaults},
    {"writable", read_writable, AT(writable), &each_path},
    {"caches", read_list, AT(caches), &each_component},
    {"config_template", read_path, AT(config_template), NULL},
    {"command", read_list, AT(command), &each_word},
};

static const struct doc_field rule_fields[] = {
    {"config_env", read_list, AT(config_env), &each_text},
    {"disable", read_list, AT(disabled), &each_text},
};
static const struct section rules = {DOC_FIELDS(rule_fields)};

static const struct doc_field audit_fields[] = {
    {"protected", read_list, AT(protect), &each_component},
    {"rules", read_section, 0, &rules},
};

static const struct section test = {DOC_FIELDS(test_fields)}, audit = {DOC_FIELDS(audit_fields)};
static const struct doc_field top_fields[] = {
    {"$schema", doc_read_text, AT(schema), NULL},
    {"test", read_section, 0, &test},
    {"audit", read_section, 0, &audit},
};

int project_config_parse(struct project_config *config, struct arena *arena, const char *text,
                         size_t len, struct cordon_error *err)
{
    struct doc d = {.arena = arena, .err = err, .what = "read " PROJECT_FILE};
    struct project_config read = defaults;
    const struct json *root = doc_parse(&d, arena, text, len, PROJECT_CONFIG_MAX);
    if (root == NULL)
        return -EINVAL;
    int r = doc_object(&d, root, DOC_FIELDS(top_fields), &read);
    if (r == 0)
        *config = read;
    return r;
}
