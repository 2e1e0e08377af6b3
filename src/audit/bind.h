/*
 * Follows what the statements of a file bind: assignments, imports, functions and classes with
 * their parameters, loops, `as`; and where they change the directory.
 */
#pragma once

#include "audit/source.h"

/* A logical line begins at token `i`. */
void bind_line(struct source *s, uint32_t i);
/* The name at `i`, which is no attribute, as far as it binds something. */
void bind_name(struct source *s, uint32_t i);
/* chdir() and its like at `i`: relative paths begin elsewhere from here on. */
void bind_directory(struct source *s, uint32_t i);
