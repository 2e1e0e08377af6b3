/*
 * Patches of texts: a list of hunks [diffs, start1, start2, length1, length2], each diff [op,
 * text]. Positions and lengths count UTF-16 units; hunk k is placed in the text that the hunks before it
 * made. A hunk fits exactly where it says, or the patch fails: the hash has fixed the base.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PATCH_MALFORMED (-4300) /* not JSON */
#define PATCH_NOT_LIST (-4301)  /* JSON, but no list */
#define PATCH_FAILED (-4302)    /* a hunk is malformed or does not fit */

/* `out` gets the new text. 0, one of the above, or -ENOMEM. */
int patch_apply(const char *text, size_t len, const char *patch, size_t patch_len,
                struct buf *out);

/* The JSON of a patch from one text to the other: one hunk around what differs. */
int patch_make(const char *from, size_t from_len, const char *to, size_t to_len, struct buf *out);

/* Copies a text with U+FFFD for every byte that is not UTF-8. */
void patch_decode(const char *data, size_t len, struct buf *out);

size_t patch_units(const char *text, size_t len); /* UTF-16 units */

#ifdef CORDON_ROOTED_TEST
extern uint64_t patch_busy_ms; /* no test can wait that long for a file that somebody holds */
#endif
