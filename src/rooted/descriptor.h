/* Work on open descriptors: reading whole files, copying content and metadata. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The same file, whatever it is called. */
static inline bool descriptor_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* 0 if it is a regular file, -EISDIR, or -EINVAL for anything else; fills st. */
int descriptor_regular(int fd, struct stat *st);

/*
 * The content of a small regular file, malloc'd, with a NUL behind it, for less than a look at the
 * type costs: only such a file has its end exactly where reading stopped. A FIFO cannot be read at
 * an offset, and a device has its end nowhere, or at 0. 1, 0 if it is something else, or -ENOMEM.
 */
int descriptor_read_small(int fd, uint64_t max, char **data, size_t *len);

/* The whole content, malloc'd, with a NUL behind it. -EFBIG beyond max. */
int descriptor_read(int fd, const struct stat *st, uint64_t max, char **data, size_t *len);

/* What a copy has learnt about the file systems at hand, and its buffer. */
struct copier {
    bool no_clone;
    bool no_range;
    char *buf; /* owned; NULL until needed */
};
void copier_free(struct copier *c);

/* Content only, from offset 0 to an empty file; holes stay holes. The bytes, or -errno. */
int64_t copier_copy(struct copier *c, int from, const struct stat *st, int to);

/* The same to a file with content, which is kept if there is no room; holes are filled. */
int64_t copier_copy_over(struct copier *c, int from, const struct stat *st, int to);

/* Room for so many bytes from the start, as far as the file system can promise it; or -errno. */
int descriptor_reserve(int fd, off_t len);

/* Takes the ACL away that a directory may give to its new files. */
int descriptor_drop_acl(int fd);

/*
 * Gives `to`, which replaces `from`, its owner, mode, extended attributes and ACLs. Not the
 * set-id bits and file capabilities, which the kernel takes away on every write as well. `from` is
 * -1 if it has no attributes and no ACL.
 */
int descriptor_copy_metadata(int from, const struct stat *st, int to);
