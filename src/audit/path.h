/*
 * The value of a path in a program, as far as its text says it: Path("a") / "b", Path.cwd(),
 * Path(__file__).parent.parent / "c", os.path.join(os.path.dirname(__file__), "..", "c"), and what
 * follows from variables that hold such a value.
 */
#pragma once

#include "audit/source.h"

#define PATH_TEXT_MAX 512
#define PATH_DEPTH_MAX 16 /* of paths within paths */

struct path {
    enum path_kind kind;
    unsigned up;   /* parents of __file__ */
    bool whole;    /* the text is all of it; else what follows is not known */
    bool is_str;   /* a string, and no Path */
    bool built;    /* its expression is one that is judged where it stands */
    bool writes;   /* it ends in a method that changes the file */
    int told;      /* the rule that the variable in it met before; RULE_COUNT: none */
    uint32_t last; /* index of its last token */
    char text[PATH_TEXT_MAX]; /* without "." and, as far as it goes, without ".." */
};

/* The expression that begins at token `i`; false if it is not understood. */
bool path_parse(const struct source *s, uint32_t i, struct path *out);
/* All tokens of an argument are a path, and nothing else. */
bool path_of_argument(const struct source *s, struct argument a, struct path *out);

/* As the value of a variable, except for what it was told of. */
void path_store(const struct path *p, struct value *out);

/*
 * The part behind the project's root, without "../" in front; `up` parents lead there from the
 * file. NULL if the path does not begin at the root.
 */
const char *path_from_root(const struct path *p, unsigned up);
