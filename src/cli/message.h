/* What cordon says: on stderr one line, escaped, and the remedy on a second one; answers on stdout. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

#define EXIT_USAGE 2   /* what was asked for is wrong */
#define EXIT_SETUP 125 /* cordon itself failed */

/* First of all: a run wipes the environment, which says whether colours are wanted. */
void message_start(void);

/* This is a terminal, and whoever sits there has nothing against colours. */
bool message_colour(int fd);

/* What was asked for, on standard output: 0, or -errno and a message if it cannot be delivered. */
int message_print(const struct buf *text);

void message_error(const struct cordon_error *err);
__attribute__((format(printf, 1, 2))) void message_warning(const char *fmt, ...);
