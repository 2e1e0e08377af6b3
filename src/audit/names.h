/*
 * What the names of one file stand for, and where: Python's scopes, as far as the text shows them.
 * A function sees what is bound above it in its module and in the functions around it, and its own
 * names hide them; what it binds ends with it. A class shows its names to its methods by `self` and
 * `cls` only. Names are kept only if they mean something to a rule, or hide one that does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_MAX 64
#define NAMES_SCOPES_MAX 32
#define NAMES_TEXT_MAX 128

enum meaning {
    MEANS_UNKNOWN, /* the program knows */
    MEANS_WORD,    /* a function or class, by its import */
    MEANS_MODULE,
    MEANS_PATH,  /* a variable that holds a path, or text */
    MEANS_MOVER, /* a fixture that leaves the directory that the tests start in */
};

/* Where a path begins. */
enum path_kind {
    PATH_TEXT, /* text alone: relative to the directory that the tests start in, or absolute */
    PATH_FILE, /* __file__, and so many parents up */
};

struct value {
    enum path_kind kind;
    unsigned up;
    bool whole;
    bool is_str; /* no Path: its methods are those of a string */
    int told;    /* the rule that its own expression met; RULE_COUNT: none */
    char text[NAMES_TEXT_MAX];
};

struct binding {
    uint32_t at, len; /* its name in the text */
    uint32_t from;    /* the first token that sees it */
    uint8_t scope;
    bool attribute; /* of self or cls */
    enum meaning meaning;
    unsigned what; /* enum word, or enum module */
    struct value value;
};

enum scope_kind { SCOPE_MODULE, SCOPE_FUNCTION, SCOPE_CLASS, SCOPE_BLOCK };
enum stay { STAY_UNSAID, STAY_AT_ROOT, STAY_ELSEWHERE };

struct scope {
    enum scope_kind kind;
    uint32_t column;           /* of its first line; it ends with the next line that is no deeper */
    uint32_t name_at, name_len; /* of a function */
    bool fixture;
    bool for_all; /* runs before every test around it */
    enum stay stay; /* where relative paths begin */
};

struct names {
    const char *text;
    uint64_t letters; /* a bit for each first letter that is bound: most names are not */
    unsigned count, depth;
    struct scope scopes[NAMES_SCOPES_MAX];
    struct binding bindings[NAMES_MAX];
};

/* A span of the text. */
struct span {
    uint32_t at, len;
};

void names_init(struct names *names, const char *text);

/* A line begins at this column: the scopes that it is not in have ended. */
void names_line(struct names *names, uint32_t column);
/* NULL: too deep, and what follows belongs to the scope around it. */
struct scope *names_enter(struct names *names, enum scope_kind kind, uint32_t column);

static inline uint64_t names_letter(const struct names *names, struct span name)
{
    return (uint64_t)1 << ((unsigned char)names->text[name.at] & 63);
}

const struct binding *names_search(const struct names *names, struct span name, uint32_t i);

/* What token `i` sees under a name; NULL: it is not bound, or as good as not. */
static inline const struct binding *names_find(const struct names *names, struct span name,
                                               uint32_t i)
{
    return (names->letters & names_letter(names, name)) == 0 ? NULL : names_search(names, name, i);
}

/* self.NAME; from the class around it. */
const struct binding *names_find_attribute(const struct names *names, struct span name, uint32_t i);

/* A new meaning from token `from` on, to be filled in; NULL: there is no room. */
struct binding *names_bind(struct names *names, struct span name, bool attribute, uint32_t from);
/* The name gets a value that the text does not say. */
void names_forget(struct names *names, struct span name, bool attribute, uint32_t from);
/* It may change at any time. */
void names_forget_everywhere(struct names *names, struct span name);

/* The directory changes in the scope at hand; a fixture or set-up changes it for others. */
void names_move(struct names *names, enum stay stay);
bool names_moved(const struct names *names);
