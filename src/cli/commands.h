/* The table of commands, for those that speak of others. */
#pragma once

#include <stdbool.h>

bool cli_has_command(const char *name);
