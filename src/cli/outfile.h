/*
 * A file that cordon writes for its caller, possibly in a directory that the payload may change:
 * the directory is opened before the start, the content goes to a file without a name, and takes
 * its place by rename after everything inside is dead. Until then, and after any failure, the old
 * file is what it was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct outfile {
    int dir;         /* owned */
    int fd;          /* owned; where to write */
    bool direct;     /* a descriptor or a device of the caller's: nothing to rename */
    bool elsewhere;  /* the file system there has no files without a name: copied at the end */
    const char *spec; /* borrowed; as the caller gave it */
    const char *name; /* borrowed; its last component */
    char temporary[32]; /* the random name; empty: the file has no name yet */
};

#define OUTFILE_INIT ((struct outfile){.dir = -1, .fd = -1})

/*
 * `spec`: a path, or fd:N; /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N are the same as
 * fd:N. Never waits for long: a fifo must have a reader within a second.
 */
int outfile_open(struct outfile *f, const char *spec, struct cordon_error *err);
/* Both would take the same name, and the later one would replace the other. */
bool outfile_same(const struct outfile *a, const struct outfile *b);
int outfile_write(struct outfile *f, const void *data, size_t len, struct cordon_error *err);
/* The new content takes its place. */
int outfile_commit(struct outfile *f, struct cordon_error *err);
/* Removes what is not committed; idempotent. */
void outfile_release(struct outfile *f);
