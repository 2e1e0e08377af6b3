#include "value.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_TEXT 256

static bool refuse(napi_env env, const char *what)
{
    napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", what);
    return false;
}

static bool no_memory(napi_env env)
{
    napi_throw_error(env, "ENOMEM", "out of memory");
    return false;
}

/* As it is, also with bytes that are 0 in it. */
static bool any_text(napi_env env, napi_value value, struct text *out)
{
    napi_valuetype type = napi_undefined;
    napi_typeof(env, value, &type);
    *out = (struct text){0};
    if (type == napi_undefined || type == napi_null)
        return true;
    char stack[SHORT_TEXT];
    size_t len = 0;
    if (napi_get_value_string_utf8(env, value, stack, sizeof stack, &len) != napi_ok)
        return refuse(env, "a string is wanted here");
    /* One call is enough for a short text; it fills the buffer to the last four bytes only if there
     * may be more. */
    const bool is_short = len + 4 < sizeof stack;
    if (!is_short)
        napi_get_value_string_utf8(env, value, NULL, 0, &len);
    out->data = malloc(len + 1);
    if (out->data == NULL)
        return no_memory(env);
    if (is_short)
        memcpy(out->data, stack, len + 1);
    else
        napi_get_value_string_utf8(env, value, out->data, len + 1, &len);
    out->len = len;
    return true;
}

bool value_text(napi_env env, napi_value value, struct text *out)
{
    if (!any_text(env, value, out))
        return false;
    if (out->data == NULL || memchr(out->data, '\0', out->len) == NULL)
        return true;
    free(out->data);
    *out = (struct text){0};
    napi_throw_type_error(env, "ERR_INVALID_ARG_VALUE", "a string without null bytes is wanted here");
    return false;
}

bool value_bytes(napi_env env, napi_value value, struct text *out)
{
    void *data = NULL;
    size_t len = 0;
    bool is_buffer = false; /* asked first: Node 18 aborts where later ones refuse */
    if (napi_is_buffer(env, value, &is_buffer) != napi_ok || !is_buffer ||
        napi_get_buffer_info(env, value, &data, &len) != napi_ok)
        return any_text(env, value, out);
    out->data = malloc(len + 1);
    if (out->data == NULL)
        return no_memory(env);
    if (len > 0)
        memcpy(out->data, data, len);
    out->data[len] = '\0';
    out->len = len;
    return true;
}

uint64_t number_whole(double number, uint64_t max)
{
    return number >= (double)max ? max : number >= 1 ? (uint64_t)number : 0;
}

double value_number(napi_env env, napi_value value)
{
    double number = 0;
    return napi_get_value_double(env, value, &number) == napi_ok ? number : 0;
}

bool value_flag(napi_env env, napi_value value)
{
    bool flag = false;
    return napi_get_value_bool(env, value, &flag) == napi_ok && flag;
}

bool value_list(napi_env env, napi_value value, char ***out, size_t *count)
{
    uint32_t n = 0;
    if (napi_get_array_length(env, value, &n) != napi_ok)
        return refuse(env, "a list of strings is wanted here");
    char **list = calloc((size_t)n + 1, sizeof *list);
    if (list == NULL)
        return no_memory(env);
    for (uint32_t i = 0; i < n; i++) {
        napi_value item = NULL;
        struct text text;
        napi_get_element(env, value, i, &item);
        bool ok = value_text(env, item, &text);
        if (ok && text.data == NULL)
            ok = refuse(env, "a list of strings is wanted here");
        if (!ok) {
            value_list_free(list);
            return false;
        }
        list[i] = text.data;
    }
    *out = list;
    *count = n;
    return true;
}

void value_list_free(char **list)
{
    for (char **at = list; list != NULL && *at != NULL; at++)
        free(*at);
    free(list);
}

napi_value value_named(napi_env env, napi_value object, const char *name)
{
    napi_value value = NULL;
    return napi_get_named_property(env, object, name, &value) == napi_ok ? value : NULL;
}

napi_value make_undefined(napi_env env)
{
    napi_value value = NULL;
    napi_get_undefined(env, &value);
    return value;
}

napi_value make_string(napi_env env, const char *text)
{
    napi_value value = NULL;
    napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
    return value;
}

napi_value make_text(napi_env env, const char *text, size_t len)
{
    napi_value value = NULL;
    bool pending = false;
    if (napi_create_string_utf8(env, text, len, &value) == napi_ok)
        return value;
    if (napi_is_exception_pending(env, &pending) == napi_ok && pending)
        napi_get_and_clear_last_exception(env, &value);
    return NULL;
}

napi_value make_buffer(napi_env env, const char *data, size_t len)
{
    napi_value value = NULL;
    napi_create_buffer_copy(env, len, data, NULL, &value);
    return value;
}

void set_named(napi_env env, napi_value object, const char *name, napi_value value)
{
    if (object != NULL && value != NULL)
        napi_set_named_property(env, object, name, value);
}

static const char *keep(char **at, const char *text)
{
    const char *kept = *at;
    *at = stpcpy(*at, text) + 1;
    return kept;
}

struct failure *failure_keep(const struct cordon_root_error *err)
{
    size_t need = strlen(err->code) + strlen(err->syscall) + strlen(err->path) +
                  strlen(err->dest) + strlen(err->message) + 5;
    struct failure *f = malloc(sizeof *f + need);
    if (f == NULL)
        return NULL;
    char *at = f->texts;
    *f = (struct failure){.errnum = err->errnum,
                          .has_path = err->has_path,
                          .has_dest = err->has_dest,
                          .code = keep(&at, err->code),
                          .syscall = keep(&at, err->syscall),
                          .path = keep(&at, err->path),
                          .dest = keep(&at, err->dest),
                          .message = keep(&at, err->message)};
    return f;
}

/* In the order in which Node sets them, so that both print alike. */
napi_value failure_value(napi_env env, const struct failure *f)
{
    napi_value error = NULL;
    napi_value number = NULL;
    const char *message = f != NULL ? f->message : "ENOMEM: not enough memory";
    if (napi_create_error(env, NULL, make_string(env, message), &error) != napi_ok || f == NULL)
        return error;
    if (f->errnum != 0 && napi_create_int32(env, f->errnum, &number) == napi_ok)
        set_named(env, error, "errno", number);
    if (f->code[0] != '\0')
        set_named(env, error, "code", make_string(env, f->code));
    if (f->syscall[0] != '\0')
        set_named(env, error, "syscall", make_string(env, f->syscall));
    if (f->has_path)
        set_named(env, error, "path", make_string(env, f->path));
    if (f->has_dest)
        set_named(env, error, "dest", make_string(env, f->dest));
    return error;
}

static const char *kind_name(int kind)
{
    static const char *const names[] = {
        [CORDON_ERROR_NONE] = "NONE",           [CORDON_ERROR_USAGE] = "USAGE",
        [CORDON_ERROR_POLICY] = "POLICY",       [CORDON_ERROR_SETUP] = "SETUP",
        [CORDON_ERROR_PARTIAL] = "PARTIAL",     [CORDON_ERROR_NOT_FOUND] = "NOT_FOUND",
        [CORDON_ERROR_NOT_EXECUTABLE] = "NOT_EXECUTABLE",
        [CORDON_ERROR_IO] = "IO",               [CORDON_ERROR_MODULE] = "MODULE",
        [CORDON_ERROR_TIMEOUT] = "TIMEOUT",     [CORDON_ERROR_EXIT] = "EXIT",
        [CORDON_ERROR_ANSWER] = "ANSWER",       [CORDON_ERROR_SPAWN] = "SPAWN",
    };
    return kind >= 0 && (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "SETUP";
}

napi_value error_value(napi_env env, const struct cordon_error *err)
{
    char message[2048];
    napi_value error = NULL;
    cordon_error_format(err, message, sizeof message);
    if (napi_create_error(env, NULL, make_string(env, message), &error) != napi_ok)
        return NULL;
    set_named(env, error, "code", make_string(env, kind_name(err->kind)));
    set_named(env, error, "layer", make_string(env, cordon_layer_name(err->layer)));
    if (err->remedy[0] != '\0')
        set_named(env, error, "remedy", make_string(env, err->remedy));
    return error;
}
