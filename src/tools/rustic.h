/* The backups of rustic: which commands there are, and whose snapshots they may touch. */
#pragma once

#include "tools/job.h"

/* args is COMMAND [OPTION...] [ARG...]. Makes the repository first if there is none in it yet. */
int rustic_prepare(struct tool_job *job, const char *const *args, size_t count);
