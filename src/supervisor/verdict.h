/* How it ended: evidence decides, one status, one reason. */
#pragma once

#include "supervisor/supervisor.h"

void verdict(const struct supervisor *s, struct result *result);
