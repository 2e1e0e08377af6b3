/* `cordon audit [options] [PATH...]` */
#pragma once

/* argv[1] is "audit". 0; 1: --strict, and something was found; 2: usage, or a file was not judged. */
int cli_audit(int argc, char **argv);
