/* `cordon policy show | check | normalize | from-effects` */
#pragma once

/* argv[1] is "policy". The exit status: 0, or 2 with one message on stderr. */
int cli_policy(int argc, char **argv);
