/*
 * Strict JSON (RFC 8259). Reading keeps line and column of every value, so that an error can
 * point at its cause; duplicate keys, bad UTF-8, NUL, numbers that do not fit, over-deep and
 * over-large documents are refused. Writing replaces bytes that are not UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,  /* written without fraction and exponent, and fits 64 bits */
    JSON_REAL, /* any other number */
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json {
    enum json_type type;
    uint32_t line, col; /* of its first character, from 1 */
    bool boolean;
    int64_t integer;
    double real;       /* of JSON_INT as well */
    const char *text;  /* decoded string, or a number as it was written; terminated, no NUL inside */
    size_t len;        /* of text */
    const char *key;   /* if this is a member of an object */
    uint32_t key_line, key_col;
    struct json *first; /* children in order */
    struct json *next;  /* sibling */
    size_t count;       /* of children */
};

struct json_limits {
    size_t max_bytes;
    unsigned max_depth; /* at most JSON_DEPTH_MAX */
};
#define JSON_DEPTH_MAX 512

struct json_error {
    uint32_t line, col;
    const char *why; /* a sentence part in static memory: "expected ',' or '}'" */
    char pointer[416]; /* RFC 6901, of the value that was being read; cut if it is longer */
};

/* The document lives in `arena`. NULL, and `err` filled, if it is not exactly one JSON value. */
const struct json *json_parse(struct arena *arena, const char *text, size_t len,
                              const struct json_limits *limits, struct json_error *err);

/* The member, or NULL. Linear: documents here have few keys an object. */
const struct json *json_get(const struct json *object, const char *key);

const char *json_type_name(enum json_type type); /* "a string" */

/* ---- writing ---- */

struct json_writer {
    struct buf *out;  /* borrowed */
    unsigned indent;  /* blanks a level; 0: one line */
    unsigned depth;
    bool first;       /* no comma is due */
    bool after_key;
};

#define JSON_WRITER(buffer, blanks) \
    ((struct json_writer){.out = (buffer), .indent = (blanks), .first = true})

void json_begin(struct json_writer *w, char bracket); /* '{' or '[' */
void json_end(struct json_writer *w, char bracket);   /* '}' or ']' */
void json_key(struct json_writer *w, const char *key);
void json_null(struct json_writer *w);
void json_bool(struct json_writer *w, bool value);
void json_int(struct json_writer *w, int64_t value);
void json_uint(struct json_writer *w, uint64_t value);
void json_string(struct json_writer *w, const char *text); /* NULL is written as null */
void json_bytes(struct json_writer *w, const char *data, size_t len);
void json_base64(struct json_writer *w, const char *data, size_t len);
void json_value(struct json_writer *w, const struct json *value); /* a parsed value again */
void json_raw(struct json_writer *w, const char *text, size_t len); /* a value that is JSON already */

/* Members of an object. */
void json_put_string(struct json_writer *w, const char *key, const char *text);
void json_put_int(struct json_writer *w, const char *key, int64_t value);
void json_put_uint(struct json_writer *w, const char *key, uint64_t value);
void json_put_bool(struct json_writer *w, const char *key, bool value);
