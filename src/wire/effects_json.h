/*
 * Effects: what a stage or module declares that it does, as a request for a policy. The wire is a
 * list of objects with an `effect` tag: Network turns the network on, FsRead and FsWrite with a
 * `path` bind that path at its own place; Pure, Fallible, Llm, NonDeterministic, Process, Cost and
 * Unknown change nothing. Names may be written fs_read as well as FsRead.
 */
#pragma once

#include "policy/policy.h"
#include "wire/doc.h"

/* A whole document onto `policy`. */
int effects_read(struct policy *policy, struct arena *arena, const char *text, size_t len,
                 struct cordon_error *err);

/* The list inside another document (a module's manifest); `d` is where that is being read. */
int effects_apply(struct doc *d, const struct json *list, struct policy *policy);
