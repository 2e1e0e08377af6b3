#include "wire/doc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define DEPTH_MAX 64

static int fail_at(struct doc *d, uint32_t line, uint32_t col, const char *why, const char *remedy)
{
    char text[192];
    int r = err_set(d->err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, EINVAL, d->what, d->pointer);
    snprintf(text, sizeof text, "%u:%u: %s", line, col, why);
    err_why(d->err, text);
    err_remedy(d->err, remedy);
    return r;
}

int doc_fail(struct doc *d, const struct json *at, const char *why, const char *remedy)
{
    return fail_at(d, at->line, at->col, why, remedy);
}

int doc_fail_key(struct doc *d, const struct json *member, const char *why, const char *remedy)
{
    return fail_at(d, member->key_line, member->key_col, why, remedy);
}

void doc_name(struct cordon_error *err, const char *file)
{
    char subject[sizeof err->subject];
    if (err == NULL)
        return;
    int n = snprintf(subject, sizeof subject, "%s%s%s", file, err->subject[0] != '\0' ? "#" : "", err->subject);
    if (n > 0 && (size_t)n < sizeof subject)
        memcpy(err->subject, subject, sizeof subject);
}

static void put(struct doc *d, char c)
{
    if (d->pointer_len + 1 < sizeof d->pointer)
        d->pointer[d->pointer_len++] = c;
    d->pointer[d->pointer_len] = '\0';
}

size_t doc_enter_key(struct doc *d, const char *key)
{
    size_t mark = d->pointer_len;
    put(d, '/');
    for (; *key != '\0'; key++) {
        if (*key == '~' || *key == '/') {
            put(d, '~');
            put(d, *key == '~' ? '0' : '1');
        } else {
            put(d, *key);
        }
    }
    return mark;
}

size_t doc_enter_index(struct doc *d, size_t index)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", index);
    return doc_enter_key(d, text);
}

void doc_leave(struct doc *d, size_t mark)
{
    d->pointer_len = mark;
    d->pointer[mark] = '\0';
}

int doc_expect(struct doc *d, const struct json *value, enum json_type type)
{
    char why[96];
    if (value->type == type)
        return 0;
    snprintf(why, sizeof why, "expected %s, found %s", json_type_name(type),
             json_type_name(value->type));
    return doc_fail(d, value, why, NULL);
}

int doc_read_text(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    int r = doc_expect(d, value, JSON_STRING);
    if (r == 0 && value->len == 0)
        r = doc_fail(d, value, "the text is empty", NULL);
    if (r == 0)
        *(const char **)target = value->text;
    return r;
}

static int unknown_key(struct doc *d, const struct json *member, const struct doc_field *fields,
                       size_t count)
{
    char remedy[256];
    if (d->unknown != NULL) {
        d->unknown(d, member);
        return 0;
    }
    const char *near = nearest_word(member->key, &fields->key, count, sizeof *fields);
    if (near != NULL) {
        snprintf(remedy, sizeof remedy, "did you mean \"%s\"?", near);
    } else {
        size_t used = (size_t)snprintf(remedy, sizeof remedy, "known keys: ");
        for (size_t i = 0; i < count && used < sizeof remedy; i++)
            used += (size_t)snprintf(remedy + used, sizeof remedy - used, "%s%s",
                                     i > 0 ? ", " : "", fields[i].key);
    }
    return doc_fail_key(d, member, "unknown key", remedy);
}

int doc_object(struct doc *d, const struct json *object, const struct doc_field *fields,
               size_t count, void *target)
{
    int r = doc_expect(d, object, JSON_OBJECT);
    for (const struct json *m = object->first; r == 0 && m != NULL; m = m->next) {
        size_t i = 0;
        while (i < count && strcmp(fields[i].key, m->key) != 0)
            i++;
        size_t mark = doc_enter_key(d, m->key);
        if (i == count)
            r = unknown_key(d, m, fields, count);
        else if (fields[i].read != NULL)
            r = fields[i].read(d, m, (char *)target + fields[i].offset, fields[i].detail);
        if (r == 0)
            doc_leave(d, mark);
    }
    return r;
}

const struct json *doc_parse(struct doc *d, struct arena *tree, const char *text, size_t len, size_t max_bytes)
{
    const struct json_limits limits = {.max_bytes = max_bytes, .max_depth = DEPTH_MAX};
    struct json_error error = {0};
    d->pointer_len = 0;
    d->pointer[0] = '\0';
    const struct json *root = json_parse(tree, text, len, &limits, &error);
    if (root == NULL) {
        snprintf(d->pointer, sizeof d->pointer, "%s", error.pointer);
        d->pointer_len = strlen(d->pointer);
        fail_at(d, error.line, error.col, error.why, NULL);
    }
    return root;
}
