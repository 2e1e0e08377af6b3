/*
 * JSON that is only passed on: the input and the answer of a module. Checked without building a
 * tree, so that it costs no memory whatever its shape, and without a limit on numbers.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"

/* 0 if the text is exactly one JSON value, at most JSON_DEPTH_MAX deep; else -EINVAL, with line,
 * column and reason in `err` (and no pointer). */
int json_check(const char *text, size_t len, struct json_error *err);

/* Appends text that json_check() took, without the blanks between its words: it is one line. */
void json_compact(const char *text, size_t len, struct buf *out);
