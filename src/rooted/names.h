/* The names in a directory, read at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name {
    uint64_t ino;
    size_t at;    /* in text */
    uint8_t type; /* DT_*, as the directory says; DT_UNKNOWN is possible */
};

struct names {
    struct name *items; /* owned */
    size_t count, cap;
    char *text; /* owned; terminated names */
    size_t text_len, text_cap;
};

/* All but "." and "..". 0 or -errno; on failure `out` is empty. */
int names_read(int dir, struct names *out);
const char *names_at(const struct names *names, size_t i);

/* Directories are gone through much faster in the order of their inodes. */
void names_sort_by_inode(struct names *names);
void names_free(struct names *names);
