/* `cordon run [options] -- COMMAND [ARG...]` */
#pragma once

/* main()'s own words: argv[1] is "run". The exit status of cordon. */
int cli_run(int argc, char **argv);
