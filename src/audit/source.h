/* One file under audit: its tokens, and what its imports and variables stand for. */
#pragma once

#include "audit/rules.h"

enum word {
    WORD_NONE,
    WORD_IMPORT,
    WORD_PATH,          /* the class Path, under any name that this file gave it */
    WORD_OPEN,          /* the built-in, io.open, codecs.open */
    WORD_TEMPFILE_CALL, /* mkdtemp or mkstemp of tempfile */
    WORD_JOIN,          /* os.path.join */
};

/* Where a variable's path begins. */
enum path_kind {
    PATH_TEXT, /* text alone: relative to the directory that the tests start in, or absolute */
    PATH_FILE, /* __file__, and so many parents up */
};

#define SOURCE_ALIASES_MAX 32

struct source_alias {
    uint32_t at, len; /* its name in the text */
    enum word word;
};

struct source_variable {
    uint32_t at, len;
    enum path_kind kind;
    unsigned up;
};

struct source {
    const struct lexer *lexer;
    const struct rule_context *context;
    rule_found_fn *found;
    void *user;
    unsigned findings;
    struct source_alias aliases[SOURCE_ALIASES_MAX];
    unsigned alias_count;
    struct source_variable variables[SOURCE_ALIASES_MAX];
    unsigned variable_count;
};

/* ---- single tokens; any index is fine ---- */

bool source_is(const struct source *s, uint32_t i, const char *name);
bool source_op(const struct source *s, uint32_t i, char op);
/* `=`, and not the first half of `==`. */
bool source_assigns(const struct source *s, uint32_t i);

/* What a name stands for here; reads what is before it ("tempfile."). */
enum word source_word(const struct source *s, uint32_t i);
/* Where the dotted name begins that ends at `i`. */
uint32_t source_start(const struct source *s, uint32_t i);
/* Notes what `import` or `from ... import` at `i` brings in under another name. */
void source_import(struct source *s, uint32_t i);

/* ---- calls; `paren` is a `(` with a partner ---- */

struct argument {
    uint32_t begin, end; /* tokens of its value; empty: there is none */
};

uint32_t source_close(const struct source *s, uint32_t paren);
/* By its place (from 0) or by its keyword, which may be NULL. */
struct argument source_argument(const struct source *s, uint32_t paren, unsigned index,
                                const char *keyword);
bool source_has_star(const struct source *s, uint32_t paren);
/* The argument at `index`, or mode=, is a text that opens for writing. */
bool source_mode_writes(const struct source *s, uint32_t paren, unsigned index);
