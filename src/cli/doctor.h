/* `cordon doctor [--json] [--profile NAME]` */
#pragma once

/* argv[1] is "doctor". 0: the default profile can be enforced in full, 1: it cannot, 2: usage. */
int cli_doctor(int argc, char **argv);
