#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

static void copy(char *out, size_t size, const char *text)
{
    size_t n = 0;
    while (text != NULL && text[n] != '\0' && n + 1 < size) {
        out[n] = text[n];
        n++;
    }
    out[n] = '\0';
}

int err_set(struct cordon_error *err, enum cordon_error_kind kind, enum cordon_layer layer,
            int errnum, const char *what, const char *subject)
{
    if (err != NULL) {
        err->kind = (int32_t)kind;
        err->layer = (int32_t)layer;
        err->errnum = errnum;
        copy(err->what, sizeof err->what, what);
        copy(err->subject, sizeof err->subject, subject);
        err->why[0] = '\0';
        err->remedy[0] = '\0';
    }
    return errnum != 0 ? -errnum : -EINVAL;
}

void err_why(struct cordon_error *err, const char *why)
{
    if (err != NULL)
        copy(err->why, sizeof err->why, why);
}

void err_remedy(struct cordon_error *err, const char *remedy)
{
    if (err != NULL)
        copy(err->remedy, sizeof err->remedy, remedy);
}

const char *cordon_layer_name(int layer)
{
    static const char *const names[] = {
        [CORDON_LAYER_NONE] = "none",
        [CORDON_LAYER_POLICY] = "policy",
        [CORDON_LAYER_PLAN] = "plan",
        [CORDON_LAYER_NAMESPACES] = "namespaces",
        [CORDON_LAYER_IDENTITY] = "identity",
        [CORDON_LAYER_MOUNTS] = "mounts",
        [CORDON_LAYER_NETWORK] = "network",
        [CORDON_LAYER_CGROUP] = "cgroup",
        [CORDON_LAYER_LANDLOCK] = "landlock",
        [CORDON_LAYER_SECCOMP] = "seccomp",
        [CORDON_LAYER_RLIMITS] = "rlimits",
        [CORDON_LAYER_PRIVILEGES] = "privileges",
        [CORDON_LAYER_PROCESS] = "process",
        [CORDON_LAYER_OUTPUT] = "output",
        [CORDON_LAYER_ROOTED] = "rooted",
        [CORDON_LAYER_MODULE] = "module",
    };
    const int count = (int)(sizeof names / sizeof names[0]);
    return layer >= 0 && layer < count ? names[layer] : names[0];
}

/* Appends escaped text; counts what a large enough buffer would have held. */
static void put(char *out, size_t size, size_t *used, const char *text)
{
    size_t room = *used < size ? size - *used : 0;
    *used += text_escape(room > 0 ? out + *used : NULL, room, text, strlen(text));
}

static void put_raw(char *out, size_t size, size_t *used, const char *text)
{
    for (; *text != '\0'; text++, (*used)++) {
        if (*used + 1 < size)
            out[*used] = *text;
    }
    if (size > 0)
        out[*used < size ? *used : size - 1] = '\0';
}

size_t cordon_error_format(const struct cordon_error *err, char *out, size_t size)
{
    size_t used = 0;
    if (size > 0)
        out[0] = '\0';
    if (err == NULL)
        return 0;
    put(out, size, &used, err->what);
    if (err->subject[0] != '\0') {
        put_raw(out, size, &used, " '");
        put(out, size, &used, err->subject);
        put_raw(out, size, &used, "'");
    }
    const char *why = err->why[0] != '\0' ? err->why : NULL;
    if (why == NULL && err->errnum != 0)
        why = text_errno(err->errnum);
    if (why != NULL) {
        put_raw(out, size, &used, ": ");
        put(out, size, &used, why);
    }
    if (err->remedy[0] != '\0') {
        put_raw(out, size, &used, "\n  ");
        put(out, size, &used, err->remedy);
    }
    return used;
}
