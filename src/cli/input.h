/* Documents that a caller names: FILE, - for standard input, fd:N for an open descriptor. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* Reads all of it, at most `max` bytes; `what` names the step in errors: "read policy". */
int input_read(const char *spec, struct buf *out, size_t max, const char *what,
               struct cordon_error *err);

/* The number of "fd:N"; -1 if `spec` is not of that kind, -2 if it is and N is no number. */
int input_descriptor(const char *spec);

/* The caller's descriptor for cordon: no child inherits it. Standard streams are wired as the run says. */
void input_claim(int number);

/* Standard input as the input of a module: one JSON value. */
int input_read_module(struct buf *out, struct cordon_error *err);
