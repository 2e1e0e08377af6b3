#pragma once

#include "root.h"

/* Each starts a thread that does one thing and reports it once: the listener gets (error) or
 * (undefined, value). */

/* (profile, listener): the document as JSON. */
napi_value node_doctor(napi_env env, napi_callback_info info);

/* (root, tool, args, options, timeoutMs, maxOutput, cwd, listener): [stdout, stderr, code,
 * truncated]. */
napi_value node_tool(napi_env env, napi_callback_info info);

/* (id, input, options, listener): the module's value as JSON; an error may have the result. */
napi_value node_call(napi_env env, napi_callback_info info);
