/* Where a tool is installed. */
#pragma once

#include <limits.h>

#include "tools/whitelist.h"

const char *tool_name(enum tool tool); /* "ripgrep" */
int tool_parse(const char *name);      /* enum tool, or -1 */

/* The path of its program without links, looked for along $PATH; 0 or -ENOENT. */
int tool_program(enum tool tool, char out[PATH_MAX]);
