#pragma once

#include "side.h"

/* (command, policy, input, environment, traceId, listener) -> handle. The listener gets ("stdout"
 * or "stderr", bytes), then once ("result", JSON) or ("error", error). */
napi_value node_run(napi_env env, napi_callback_info info);

/* A profile's name, or a document as JSON (it begins with a brace); no text: the default. */
struct cordon_policy *run_policy(const struct text *text, struct cordon_error *err);

/* Waits until a sandbox has something to do; ends it if the side shall stop. */
void run_pause(const struct side *side, struct cordon_sandbox *sandbox, int timeout_ms);
