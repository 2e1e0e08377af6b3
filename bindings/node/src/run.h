#pragma once

#include "root.h"

/* (command, policy, input, environment, traceId, listener) -> handle. The listener gets ("stdout"
 * or "stderr", bytes), then once ("result", JSON) or ("error", error). */
napi_value node_run(napi_env env, napi_callback_info info);

/* A profile's name, or a document as JSON (it begins with a brace); no text: the default. */
struct cordon_policy *run_policy(const struct text *text, struct cordon_error *err);
