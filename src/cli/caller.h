/* What ends a run from outside: signals to cordon, and the end of the process that --die-with names. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct caller {
    int events;              /* readable when there is one; in use until this process ends */
    int (*next)(int events); /* the signal to pass on; 0: none */
};

/* `tty`: with SIGQUIT, which would leave the terminal as it is. `die_with`: 0: no process. */
int caller_watch(struct caller *caller, bool tty, int die_with, struct cordon_error *err);
