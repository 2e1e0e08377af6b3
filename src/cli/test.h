/* `cordon test [options] [-- COMMAND [ARG...]]` */
#pragma once

/* argv[1] is "test". The exit status of cordon. */
int cli_test(int argc, char **argv);
