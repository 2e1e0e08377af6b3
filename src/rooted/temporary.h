/*
 * The files that new content is written to before it takes its place, and the trees and links that
 * are made beside theirs. Their names never appear in listings, events and copies. A process that is
 * killed leaves what it made behind; whoever meets something that nobody can be at work on any more
 * removes it.
 */
#pragma once

#include <stdbool.h>

#include "rooted/root.h"

#define TEMPORARY_PREFIX ".cordon-tmp-"
#define TEMPORARY_NAME_MAX 64

bool temporary_is(const char *name);

/* Creates one in `dir`; a descriptor for writing or -errno. */
int temporary_create(const struct cordon_root *root, int dir, unsigned mode,
                     char name[TEMPORARY_NAME_MAX]);

/* A name of that kind that nobody has, for what is no file. 0 or -errno. */
int temporary_pick(const struct cordon_root *root, int dir, char name[TEMPORARY_NAME_MAX]);

/* Removes `name`, which is one, if it was left behind. True if it is gone. */
bool temporary_sweep(const struct cordon_root *root, int dir, const char *name);

/* The same for all in the directory `name` of `dir`. True if some are gone. */
bool temporary_sweep_all(const struct cordon_root *root, int dir, const char *name);

#ifdef CORDON_ROOTED_TEST
extern long temporary_left_behind_seconds; /* no test can make a file look that old */
#endif
