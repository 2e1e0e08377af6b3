/* What cordon says on stderr: one line, escaped, and the remedy on a second one. */
#pragma once

#include "base/error.h"

void message_error(const struct cordon_error *err);
__attribute__((format(printf, 1, 2))) void message_warning(const char *fmt, ...);
