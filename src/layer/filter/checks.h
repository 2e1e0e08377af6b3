/* Which arguments a call may have: a block of a program for each kind of check. */
#pragma once

#include <fcntl.h>

#include "layer/filter/program.h"

/* The mode argument of open() counts only with one of these; the kernel's __O_TMPFILE is without
 * the O_DIRECTORY that the C library's O_TMPFILE adds. */
#define OPEN_MAKES_A_FILE (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* If something jumps there. Each block ends in a return. */
void checks_emit(struct program *p, enum verdict verdict, const struct seccomp_choice *choice);
