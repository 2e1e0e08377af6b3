#pragma once

#include "root.h"

/* (root, path, flags, maxQueue, stabilityMs, listener) -> handle; the listener gets "open",
 * ("event", event, filename, stats, patch, seq), ("error", error) or "end". */
napi_value node_watch(napi_env env, napi_callback_info info);

/* (root, listener) -> handle; the listener gets (path, type, content, patch, sha256). */
napi_value node_sync(napi_env env, napi_callback_info info);
