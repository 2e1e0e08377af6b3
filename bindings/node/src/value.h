/*
 * Between JavaScript values and C. Functions that take values from JavaScript return false with an
 * exception pending; functions that make values return NULL where the engine refuses, which happens
 * while an environment is torn down.
 */
#pragma once

#define NAPI_VERSION 8
#include <cordon/cordon.h>
#include <node_api.h>

struct text {
    char *data; /* owned; a NUL follows. NULL: undefined or null was given */
    size_t len;
};

bool value_text(napi_env env, napi_value value, struct text *out);

/* A string as UTF-8, or the bytes of a Uint8Array. A copy: the caller may change or transfer its own. */
bool value_bytes(napi_env env, napi_value value, struct text *out);

#define NUMBER_MAX (UINT64_C(1) << 53) /* up to here a number of JavaScript is exact */
uint64_t number_whole(double number, uint64_t max); /* rounded down, from 0 to max; NaN is 0 */
double value_number(napi_env env, napi_value value); /* anything else: 0 */
bool value_flag(napi_env env, napi_value value);     /* anything else: false */

/* A list of strings, NULL-terminated; freed with value_list_free(). */
bool value_list(napi_env env, napi_value value, char ***out, size_t *count);
void value_list_free(char **list);

napi_value value_named(napi_env env, napi_value object, const char *name);

napi_value make_undefined(napi_env env);
napi_value make_string(napi_env env, const char *text);
napi_value make_text(napi_env env, const char *text, size_t len); /* NULL also if that is too long */
napi_value make_buffer(napi_env env, const char *data, size_t len);
void set_named(napi_env env, napi_value object, const char *name, napi_value value);

/* An error of the rooted filesystem, kept in as little memory as it needs. */
struct failure {
    int32_t errnum;
    bool has_path, has_dest;
    const char *code, *syscall, *path, *dest, *message; /* in `texts` */
    char texts[];
};

struct failure *failure_keep(const struct cordon_root_error *err); /* to be freed with free() */
napi_value failure_value(napi_env env, const struct failure *failure); /* NULL: no memory then */

napi_value error_value(napi_env env, const struct cordon_error *err);
