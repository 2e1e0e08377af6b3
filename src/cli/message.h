/* What cordon says on stderr: one line, escaped, and the remedy on a second one. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* First of all: a run wipes the environment, which says whether colours are wanted. */
void message_start(void);

/* This is a terminal, and whoever sits there has nothing against colours. */
bool message_colour(int fd);

void message_error(const struct cordon_error *err);
__attribute__((format(printf, 1, 2))) void message_warning(const char *fmt, ...);
