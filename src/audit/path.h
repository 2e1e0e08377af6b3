/*
 * The value of a path in a program, as far as its text says it: Path("a") / "b", Path.cwd(),
 * Path(__file__).parent.parent / "c", os.path.join(os.path.dirname(__file__), "..", "c").
 */
#pragma once

#include "audit/source.h"

#define PATH_TEXT_MAX 512

struct path {
    enum path_kind kind;
    unsigned up;  /* parents of __file__ */
    bool whole;   /* the text is all of it; else what follows is not known */
    bool writes;  /* it ends in a method that changes the file */
    uint32_t last; /* index of its last token */
    char text[PATH_TEXT_MAX];
};

/* The expression that begins with the word at `i` (Path or join); false if it is not understood. */
bool path_parse(struct source *s, uint32_t i, struct path *out);

/* A variable that holds a path, followed by `/`. */
bool path_parse_variable(struct source *s, uint32_t i, struct path *out);

/* The tokens from `begin` to `end` are strings, and nothing else. */
bool path_of_strings(const struct source *s, uint32_t begin, uint32_t end, struct path *out);

/*
 * The part behind the project's root, without "./" and "../" in front; `up` parents lead there from
 * the file. NULL if the path does not begin at the root.
 */
const char *path_from_root(const struct path *p, unsigned up);
