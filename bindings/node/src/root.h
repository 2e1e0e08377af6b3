/*
 * A root and who uses it: the JavaScript object, and each call, watch and thread that is under way.
 * The last one closes it.
 */
#pragma once

#include <stdatomic.h>

#include "value.h"

/* What belongs to one environment: the main thread or a worker. Nothing is shared between them. */
struct addon {
    atomic_int users;
    atomic_bool leaving; /* the environment ends: what has not begun need not */
};

struct root {
    atomic_int users;
    struct cordon_root *root; /* owned */
    struct addon *addon;      /* held */
};

struct addon *addon_of(napi_env env);
struct addon *addon_hold(struct addon *addon);
void addon_drop(struct addon *addon);

struct root *root_hold(struct root *root);
void root_drop(struct root *root); /* NULL is fine */

/* From the value that rootOpen() gave; NULL with an exception pending. */
struct root *root_of(napi_env env, napi_value value);

napi_value node_root_open(napi_env env, napi_callback_info info);      /* (options) -> root */
napi_value node_constants(napi_env env, napi_callback_info info); /* () -> {name: number} */
