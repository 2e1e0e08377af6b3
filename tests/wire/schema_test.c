/* The schemas say what the program does: the same keys, the same words, the same ranges. */
#include <stdio.h>

#include "../harness.h"
#include "policy/policy.h"
#include "wire/policy_json.h"
#include "wire/result_json.h"

static struct arena arena = {.max = 1 << 24};

static const struct json *parse(const char *text, size_t len)
{
    const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
    struct json_error error;
    const struct json *root = json_parse(&arena, text, len, &limits, &error);
    if (root == NULL)
        test_fail(__FILE__, __LINE__, "%u:%u: %s", error.line, error.col, error.why);
    return root;
}

static const struct json *schema(const char *name)
{
    char path[4096];
    static char text[1 << 16];
    snprintf(path, sizeof path, "%s/%s", SCHEMA, name);
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    return parse(text, len);
}

static const struct json *at(const struct json *value, const char *path)
{
    char key[64];
    while (*path != '\0') {
        size_t len = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)len, path);
        value = json_get(value, key);
        if (value == NULL)
            test_fail(__FILE__, __LINE__, "the schema has no %s", path);
        path += len + (path[len] == '/');
    }
    return value;
}

static bool holds(const struct json *list, const char *word)
{
    for (const struct json *c = list->first; c != NULL; c = c->next) {
        if (strcmp(list->type == JSON_OBJECT ? c->key : c->text, word) == 0)
            return true;
    }
    return false;
}

static void same_keys(const struct json *properties, const struct json *document)
{
    CHECK_INT(properties->count, document->count);
    for (const struct json *m = document->first; m != NULL; m = m->next) {
        if (!holds(properties, m->key))
            test_fail(__FILE__, __LINE__, "the schema lacks %s", m->key);
    }
}

static void same_words(const struct json *list, const struct policy_words *words)
{
    CHECK_INT(list->count, words->count);
    for (int i = 0; i < words->count; i++)
        CHECK(holds(list, words->names[i]));
}

TEST(the_policy_schema_has_the_keys_that_are_written)
{
    BUF_AUTO out = BUF_INIT(1 << 16);
    struct policy policy;
    policy_init(&policy, PROFILE_STAGE);
    policy_write_v1(&policy, &out);
    const struct json *document = parse(out.data, out.len);
    const struct json *top = at(schema("policy.schema.json"), "properties");
    same_keys(top, document);
    static const char *const objects[] = {"fs", "env", "limits", "proc"};
    for (size_t i = 0; i < 4; i++)
        same_keys(at(at(top, objects[i]), "properties"), json_get(document, objects[i]));
}

TEST(the_policy_schema_has_the_words_that_are_read)
{
    const struct json *top = at(schema("policy.schema.json"), "properties");
    same_words(at(top, "extends/enum"), &policy_profile_words);
    same_words(at(top, "net/enum"), &policy_net_words);
    same_words(at(top, "backend/enum"), &policy_backend_words);
    same_words(at(top, "fs/properties/mode/enum"), &policy_fs_mode_words);
    same_words(at(top, "limits/properties/on_overflow/enum"), &policy_overflow_words);
    same_words(at(top, "proc/properties/uid/enum"), &policy_uid_words);
    same_words(at(top, "proc/properties/seccomp/enum"), &policy_seccomp_words);
    same_words(at(top, "proc/properties/on_forbidden/enum"), &policy_forbidden_words);
    const char *pattern = at(top, "require/items/pattern")->text;
    for (int i = 0; i < CAPABILITY_COUNT; i++)
        CHECK(strstr(pattern, capability_name((enum capability)i)) != NULL);
}

TEST(the_policy_schema_has_the_ranges_that_are_checked)
{
    const struct json *root = schema("policy.schema.json");
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        const bool in_fs = strncmp(limit->pointer, "/fs/", 4) == 0;
        const struct json *field = at(at(root, in_fs ? "properties/fs/properties"
                                                     : "properties/limits/properties"),
                                      limit->key);
        CHECK_INT(at(field, "minimum")->integer, limit->zero == ZERO_REFUSED ? limit->min : 0);
        CHECK_INT(at(field, "maximum")->integer, limit->max);
        CHECK_INT(at(field, "type")->type == JSON_ARRAY, limit->unlimited);
    }
}

TEST(the_result_schema_has_the_keys_that_are_written)
{
    struct result_violation violation = {
        .op = "o", .path = "/", .pid = 1, .comm = "c", .rule = "r", .count = 1, .test = "t"};
    const struct result_context context = {
        .profile = "stage", .module_id = "m", .bwrap_path = "/usr/bin/bwrap"};
    struct result r;
    BUF_AUTO out = BUF_INIT(1 << 16);
    result_init(&r);
    r.violations = (struct result_violations){.items = &violation, .count = 1};
    r.out.captured = r.err.captured = BUF_INIT(16);
    buf_puts(&r.out.captured, "\xff");
    buf_puts(&r.err.captured, "\xff");
    result_write_json(&r, &context, &out);
    buf_free(&r.out.captured);
    buf_free(&r.err.captured);
    const struct json *document = parse(out.data, out.len);
    const struct json *root = schema("result.schema.json");
    const struct json *top = at(root, "properties");
    same_keys(top, document);
    same_keys(at(top, "backend/properties"), json_get(document, "backend"));
    same_keys(at(top, "usage/properties"), json_get(document, "usage"));
    same_keys(at(top, "cordon/properties"), json_get(document, "cordon"));
    same_keys(at(top, "violations/items/properties"), json_get(document, "violations")->first);
    same_keys(at(root, "$defs/entry/properties"), json_get(document, "enforced")->first);
    CHECK_INT(at(root, "required")->count, top->count - 4); /* two are for call, two for what is not text */
    const struct json *capabilities = at(top, "enforced/required");
    CHECK_INT(capabilities->count, CAPABILITY_ALWAYS);
    for (int i = 0; i < CAPABILITY_ALWAYS; i++)
        CHECK(holds(capabilities, capability_name((enum capability)i)));
    CHECK_INT(at(top, "status/enum")->count, STATUS_COUNT);
    for (int i = 0; i < STATUS_COUNT; i++)
        CHECK(holds(at(top, "status/enum"), status_name((enum status)i)));
}
