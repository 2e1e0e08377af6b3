/* A library module in the caller's own process: no sandbox, no copy, no protection. */
#pragma once

#include "result/result.h"

/* `path`: the library on the host. What it returned is in the result, as if it was printed. */
void module_in_process(const char *path, const char *id, const char *input, size_t input_len,
                       struct result *result);
