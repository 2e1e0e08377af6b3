/*
 * Reading a JSON document strictly into a struct by tables of fields. Keeps the JSON pointer of
 * where it is, so that every refusal says pointer, line:column, reason and, if there is one, cure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

struct doc {
    struct arena *arena;      /* borrowed; for what the fields keep */
    struct cordon_error *err; /* borrowed */
    const char *what;         /* the step, for errors: "read policy" */
    /* Not NULL: called for an unknown key instead of refusing it. */
    void (*unknown)(struct doc *d, const struct json *member);
    void *context;            /* of unknown() */
    char pointer[416];        /* RFC 6901; cut if it is longer */
    size_t pointer_len;
};

typedef int doc_read_fn(struct doc *d, const struct json *value, void *target, const void *detail);

struct doc_field {
    const char *key;
    doc_read_fn *read;  /* NULL: the key is known and somebody else reads it */
    size_t offset;      /* of what it fills, from the target of the object */
    const void *detail; /* what the reader needs to know */
};

/* "line:col: why" at this value; returns -EINVAL. `remedy` may be NULL. */
int doc_fail(struct doc *d, const struct json *at, const char *why, const char *remedy);
/* The same for the key of a member. */
int doc_fail_key(struct doc *d, const struct json *member, const char *why, const char *remedy);

/* "file#/pointer", of a refusal that has the pointer alone, if it fits: which document it was. */
void doc_name(struct cordon_error *err, const char *file);

/* Going down one level; give the value to doc_leave() on the way up. */
size_t doc_enter_key(struct doc *d, const char *key);
size_t doc_enter_index(struct doc *d, size_t index);
void doc_leave(struct doc *d, size_t mark);

/* 0, or the refusal "expected a string, found null". */
int doc_expect(struct doc *d, const struct json *value, enum json_type type);

/* A field that is a string, and not an empty one; it fills a const char *. */
doc_read_fn doc_read_text;

/* Every member by its field; unknown keys as `d` says. */
int doc_object(struct doc *d, const struct json *object, const struct doc_field *fields,
               size_t count, void *target);

/* The root of the parsed `text`; NULL if it is refused. */
const struct json *doc_parse(struct doc *d, struct arena *tree, const char *text, size_t len, size_t max_bytes);

#define DOC_FIELDS(array) (array), sizeof(array) / sizeof((array)[0])
