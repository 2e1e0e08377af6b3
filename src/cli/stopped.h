/* A run that cordon stopped says so on stderr: the limit that it reached, and what would allow more. */
#pragma once

#include "plan/plan.h"
#include "result/result.h"

/* Nothing, if the command ended by itself or the caller asked for its end. */
void stopped_say(const struct result *result, const struct plan *plan);
