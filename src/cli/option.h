/*
 * Options by tables: one table is what is parsed, what a wrong word is compared with, and what
 * --help prints. Takes `--name value` and `--name=value`, stops at `--` and at the first word that
 * is no option.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "policy/policy.h"

struct option;

struct option_use {
    const struct option *option;
    void *target;             /* what the table fills */
    struct arena *arena;      /* what it fills lives here, and in argv */
    const char *cwd;          /* the caller's own, for relative host paths */
    struct cordon_error *err;
};

typedef int option_apply_fn(const struct option_use *use, const char *value);

struct option {
    const char *name;       /* without the dashes */
    const char *arg;        /* what its value is called; NULL: it takes none */
    const char *help;
    option_apply_fn *apply;
    size_t offset;          /* of what it fills, from the target */
    const void *detail;
    bool first;             /* applied before all others, wherever it stands */
};

struct option_table {
    const struct option *items;
    size_t count;
    void *target;
};
#define OPTION_TABLE(array, filled) \
    ((struct option_table){(array), sizeof(array) / sizeof((array)[0]), (filled)})

struct option_walk {
    const struct option_table *tables; /* an earlier table wins */
    size_t table_count;
    struct arena *arena;
    const char *cwd;
    bool first; /* this pass applies the options that come first, and only those */
};

/* The index in argv of what follows the options ("--" itself, a word, or argc), or -EINVAL. */
int option_walk(const struct option_walk *walk, int argc, char **argv, struct cordon_error *err);

/* "  --name ARG   help", a line each. */
void option_help(const struct option_table *table, struct buf *out);

/* What was asked for is wrong: an error of kind USAGE. `why` and `remedy` may be NULL. */
int option_misuse(struct cordon_error *err, const char *what, const char *subject, const char *why,
                  const char *remedy);

/* A refusal of the option's value. */
int option_refuse(const struct option_use *use, const char *why, const char *remedy);
/* The same, "'value' is not a duration" from "a duration". */
int option_not(const struct option_use *use, const char *value, const char *kind,
               const char *remedy);

option_apply_fn option_flag;   /* bool: true */
option_apply_fn option_string; /* const char *, borrowed from argv; not empty */
option_apply_fn option_once;   /* the same, where the last one must not quietly win */
option_apply_fn option_word;   /* an enum; detail: struct policy_words */
option_apply_fn option_only_word; /* bool: true; detail: the one word that there is */
