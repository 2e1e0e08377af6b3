/* `cordon call`: argv[0] is the program, argv[1] "call"; returns the exit status. */
#pragma once

int cli_call(int argc, char **argv);
