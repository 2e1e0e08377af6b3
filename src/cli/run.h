/* `cordon run [options] -- COMMAND [ARG...]` */
#pragma once

/* argv[0] is "run". The exit status of cordon. */
int cli_run(int argc, char **argv);
