/*
 * What went wrong, as one flat value: it can cross a process border in a single copy, be
 * compared, and be kept without owning anything.
 */
#ifndef CORDON_ERROR_H
#define CORDON_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What a caller can do about it. The CLI's exit status follows from this alone. */
enum cordon_error_kind {
    CORDON_ERROR_NONE = 0,
    CORDON_ERROR_USAGE,          /* an argument is wrong: call again, corrected */
    CORDON_ERROR_POLICY,         /* the policy is malformed, contradictory or impossible */
    CORDON_ERROR_SETUP,          /* the sandbox could not be built and nothing ran; or it was lost meanwhile */
    CORDON_ERROR_PARTIAL,        /* something asked for cannot be enforced; nothing ran */
    CORDON_ERROR_NOT_FOUND,      /* the command does not exist inside */
    CORDON_ERROR_NOT_EXECUTABLE, /* the command exists and cannot be executed */
    CORDON_ERROR_IO,             /* reading or writing a file of the caller's failed */
    /* of cordon_call(), see there */
    CORDON_ERROR_MODULE,         /* there is no such module, or it cannot be loaded */
    CORDON_ERROR_TIMEOUT,        /* the module was ended at its time limit */
    CORDON_ERROR_EXIT,           /* the module failed */
    CORDON_ERROR_ANSWER,         /* its output is not exactly one JSON value */
    CORDON_ERROR_SPAWN           /* it could not be started */
};

/* Where it went wrong. */
enum cordon_layer {
    CORDON_LAYER_NONE = 0,
    CORDON_LAYER_POLICY,
    CORDON_LAYER_PLAN,
    CORDON_LAYER_NAMESPACES,
    CORDON_LAYER_IDENTITY,
    CORDON_LAYER_MOUNTS,
    CORDON_LAYER_NETWORK,
    CORDON_LAYER_CGROUP,
    CORDON_LAYER_LANDLOCK,
    CORDON_LAYER_SECCOMP,
    CORDON_LAYER_RLIMITS,
    CORDON_LAYER_PRIVILEGES,
    CORDON_LAYER_PROCESS,
    CORDON_LAYER_OUTPUT,
    CORDON_LAYER_ROOTED,
    CORDON_LAYER_MODULE
};

struct cordon_error {
    int32_t kind;      /* enum cordon_error_kind */
    int32_t layer;     /* enum cordon_layer */
    int32_t errnum;    /* positive errno; 0 when no system call is to blame */
    char what[88];     /* the step that failed, as a noun phrase or verb phrase: "open bind source" */
    char subject[416]; /* its object: a path, a syscall, a JSON pointer */
    char why[192];     /* the reason in words; empty: errnum says it */
    char remedy[256];  /* what to do about it; empty: nothing is known */
};

/* Never NULL; "none" for an unknown number. */
const char *cordon_layer_name(int layer);

/*
 * "<what> '<subject>': <why>", and the remedy on a second line if there is one, with every
 * control character escaped. Like snprintf: the length it needs, always terminated. NULL is no
 * error: an empty text.
 */
size_t cordon_error_format(const struct cordon_error *err, char *out, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
