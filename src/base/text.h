/* Text from strangers: escaping, UTF-8, and the names of errors and signals. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Copies `len` bytes with control characters, direction marks and invalid UTF-8 as \xNN (a newline
 * as \n), so that a hostile name cannot move the cursor of a terminal or read as another one. Like
 * snprintf: always terminated if size is not 0, returns the length that it needs. An escape is never
 * cut in half.
 */
size_t text_escape(char *out, size_t size, const char *in, size_t len);
/* The same appended, all of it. */
void text_put(struct buf *out, const char *text);

/* Length of the valid UTF-8 sequence at the front of `s` (1 to 4), or 0 if there is none. */
size_t text_utf8(const char *s, size_t len);

/* Thread-safe, never NULL, independent of the locale. */
const char *text_errno(int errnum);        /* "no such file or directory" */
const char *text_errno_name(int errnum);   /* "ENOENT" */
const char *text_signal_name(int signum);  /* "SIGKILL"; "signal" for one without a name */

bool text_starts_with(const char *s, const char *prefix);
