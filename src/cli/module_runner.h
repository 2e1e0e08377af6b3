/* `cordon --internal-sandbox-runner ID`: what other programs start to have a module run. */
#pragma once

#include "base/arena.h"
#include "module/request.h"

/* JSON on standard input, JSON on standard output without a newline; 0, or 1 and words. */
int cli_module_runner(int argc, char **argv);

/* Where the program that loads library modules was installed with this one; NULL: no memory. */
const char *module_runner_place(struct arena *arena);
