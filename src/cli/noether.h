/* The program under the name noether-sandbox: the command line of that tool, for its callers. */
#pragma once

int cli_noether(int argc, char **argv);
