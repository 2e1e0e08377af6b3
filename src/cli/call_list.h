/* `cordon call --list`. */
#pragma once

#include <stdbool.h>

#include "module/registry.h"

/* A line each, or with `json` an object each in a list; the exit status. */
int call_list(const struct module_root *root, struct arena *arena, bool json, struct cordon_error *err);
