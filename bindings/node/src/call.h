/*
 * A call of the rooted filesystem on the worker pool: arguments are copied from JavaScript, the
 * work is done in a thread of the pool, and the result settles a promise.
 */
#pragma once

#include "root.h"

#define CALL_TEXTS 3
#define CALL_NUMBERS 3

struct call {
    const struct method *method;
    struct root *root; /* held */
    napi_async_work work;
    napi_deferred deferred;

    struct text text[CALL_TEXTS]; /* in the order of the arguments */
    size_t text_count;
    double number[CALL_NUMBERS];
    size_t number_count;
    char **list; /* owned */
    size_t list_count;
    uint64_t deadline_ms; /* of cp; 0: none */

    int rc;
    struct failure *failure; /* owned; NULL with rc < 0: there was no memory for it */
    union {
        struct cordon_root_data data;
        struct cordon_root_stat stat;
        struct cordon_root_entries entries;
        bool flag;
    } out;
};

struct method {
    const char *name;
    const char *arguments; /* a letter each: p text, b text or bytes, n number, l list of texts */
    int (*work)(struct call *call, struct cordon_root_error *err); /* in a thread of the pool */
    napi_value (*value)(napi_env env, struct call *call);          /* NULL: nothing is returned */
    void (*release)(struct call *call);                            /* NULL: nothing to free */
};

extern const struct method call_methods[];
extern const size_t call_method_count;

napi_value method_stat_value(napi_env env, const struct cordon_root_stat *stat);

/* A function for each method: (root, ...arguments) -> promise. */
bool call_register(napi_env env, napi_value exports);
