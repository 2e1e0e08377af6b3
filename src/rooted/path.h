/*
 * From the path a caller writes to a base and a name beneath it. Purely lexical: nothing here
 * looks at a disk, so nothing here can be raced.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum path_base { PATH_HOME, PATH_SCRATCH, PATH_ROOTFS };
#define PATH_BASES 3

struct path_rules {
    const char *const *home_aliases; /* normalised, absolute, without a trailing slash */
    size_t home_alias_count;
    const char *scratch_alias; /* likewise */
    bool has_rootfs;
};

struct path_mapped {
    enum path_base base;
    const char *prefix;  /* borrowed from the rules: the alias used; "" for a relative path */
    bool relative;       /* realpath answers in the style of the request */
    size_t len;          /* of name */
    char name[PATH_MAX]; /* "a/b", normalised; "" is the top of the base */
};

/* 0 or -ENAMETOOLONG. */
int path_map(const struct path_rules *rules, const char *request, struct path_mapped *out);

/* "/" + the request, normalised: what the messages about missing bases quote. Like snprintf. */
size_t path_absolute(char *out, size_t size, const char *request);

/* How the caller is shown a name: relative in the home, absolute elsewhere. Like snprintf. */
size_t path_display(char *out, size_t size, const struct path_rules *rules, enum path_base base,
                    const char *name);

/* realpath: `name` in the style of the request that `mapped` came from. Like snprintf. */
size_t path_in_style(char *out, size_t size, const struct path_rules *rules,
                     const struct path_mapped *mapped, const char *name);

/* What follows the alias and its slashes, or NULL if `path` is not at or under it. */
const char *path_under(const char *path, const char *alias);

/* The text of a link in directory `from` that leads to `to`, both in one base. Like snprintf. */
size_t path_relative(char *out, size_t size, const char *from, const char *to);

/* The last component; `*parent_len` gets the length of what is before its slash. */
const char *path_split(const char *name, size_t *parent_len);
