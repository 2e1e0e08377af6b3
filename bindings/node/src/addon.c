/*
 * The module that Node loads: once for each environment, with nothing shared between them but the
 * code.
 */
#include <stdlib.h>

#include "call.h"
#include "job.h"
#include "run.h"
#include "side.h"
#include "watch.h"

/* From now on calls that have not begun are dropped, and long ones stop. */
static void leave(void *addon)
{
    atomic_store(&((struct addon *)addon)->leaving, true);
}

static napi_value leave_now(napi_env env, napi_callback_info info)
{
    (void)info;
    leave(addon_of(env));
    return NULL;
}

static void finalize(napi_env env, void *addon, void *hint)
{
    (void)env, (void)hint;
    addon_drop(addon);
}

static napi_value version(napi_env env, napi_callback_info info)
{
    (void)info;
    return make_string(env, cordon_version());
}

static bool set_up(napi_env env)
{
    struct addon *addon = calloc(1, sizeof *addon);
    if (addon == NULL)
        return false;
    atomic_init(&addon->users, 1);
    return napi_set_instance_data(env, addon, finalize, NULL) == napi_ok &&
           napi_add_env_cleanup_hook(env, leave, addon) == napi_ok;
}

/* What Node looks for; by hand, because the headers' macro declares only one of them. */
NAPI_EXTERN int32_t node_api_module_get_api_version_v1(void);
NAPI_EXTERN napi_value napi_register_module_v1(napi_env env, napi_value exports);

int32_t node_api_module_get_api_version_v1(void)
{
    return NAPI_VERSION;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = {
        {"rootOpen", node_root_open}, {"constants", node_constants}, {"watch", node_watch},
        {"sync", node_sync}, {"run", node_run}, {"doctor", node_doctor},
        {"tool", node_tool}, {"call", node_call}, {"stop", node_stop}, {"leave", leave_now}, {"version", version},
    };
    if (!set_up(env) || !call_register(env, exports)) {
        napi_throw_error(env, NULL, "cordon could not be set up");
        return NULL;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value function = NULL;
        napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL,
                             &function);
        set_named(env, exports, functions[i].name, function);
    }
    return exports;
}
