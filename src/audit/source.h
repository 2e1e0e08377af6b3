/* One file under audit: its tokens, and what its imports and variables stand for. */
#pragma once

#include <string.h>

#include "audit/names.h"
#include "audit/rules.h"

enum word {
    WORD_NONE,
    WORD_IMPORT,
    WORD_PATH,          /* the class Path, under any name that this file gave it */
    WORD_OPEN,          /* the built-in, io.open, codecs.open */
    WORD_TEMPFILE_CALL, /* mkdtemp or mkstemp of tempfile */
    WORD_JOIN,          /* os.path.join */
    WORD_DIRNAME,
    WORD_SAME_PATH,     /* abspath, str and the like: another form of their argument */
    WORD_CWD,           /* os.getcwd */
    WORD_UP,            /* os.pardir */
    WORD_CHANGES_FIRST, /* os.remove and the like: by which argument names what changes */
    WORD_CHANGES_SECOND,
    WORD_CHANGES_BOTH,
    WORD_MODULE_PATH,   /* os.path */
};

/* A simple statement: what stands in a logical line between semicolons. */
struct statement {
    uint32_t begin, end;
    uint32_t assign; /* its last `=` outside of brackets; 0: none */
    uint32_t next;   /* where the one behind it begins */
};

struct source {
    const struct lexer *lexer;
    const struct rule_context *context;
    rule_found_fn *found;
    void *user;
    unsigned findings;
    struct names *names;
    struct statement statement; /* the last that was looked at */
    uint32_t line;              /* the first token of the logical line */
    uint32_t column;            /* of that token */
    bool fixture, for_all;      /* by the decorators above it */
    uint32_t told_until;        /* within an expression that was reported, by this rule */
    enum audit_rule told;
};

/* ---- single tokens; any index is fine. In place: they are asked for every word of a file ---- */

static inline const struct token *source_token(const struct source *s, uint32_t i)
{
    return &s->lexer->tokens[i < s->lexer->count ? i : s->lexer->count - 1];
}

static inline bool source_is(const struct source *s, uint32_t i, const char *name)
{
    const struct token *t = source_token(s, i);
    return t->len == strlen(name) && t->kind == TOKEN_NAME &&
           memcmp(s->lexer->text + t->at, name, t->len) == 0;
}

static inline bool source_op(const struct source *s, uint32_t i, char op)
{
    return source_token(s, i)->op == op; /* of TOKEN_OP alone */
}

static inline bool source_is_name(const struct source *s, uint32_t i)
{
    return source_token(s, i)->kind == TOKEN_NAME;
}

/* Names a member: `.` is before it. */
static inline bool source_is_attribute(const struct source *s, uint32_t i)
{
    return i > 1 && source_op(s, i - 1, '.');
}

static inline struct span source_span(const struct source *s, uint32_t i)
{
    return (struct span){source_token(s, i)->at, source_token(s, i)->len};
}

/* `=`, and not the first half of `==`. */
bool source_assigns(const struct source *s, uint32_t i);
/* `:=` */
bool source_is_walrus(const struct source *s, uint32_t i);
/* The statement of token `i`; tokens are asked for in their order. */
const struct statement *source_statement(struct source *s, uint32_t i);

/* What a name stands for here; reads what is before it ("tempfile."). */
enum word source_word(const struct source *s, uint32_t i);
/* Where the dotted name begins that ends at `i`. */
uint32_t source_start(const struct source *s, uint32_t i);
/* Notes what `import` or `from ... import` at `i` brings in. */
void source_import(struct source *s, uint32_t i);

/* ---- calls; `paren` is a `(` with a partner ---- */

struct argument {
    uint32_t begin, end; /* tokens of its value; empty: there is none */
};

uint32_t source_close(const struct source *s, uint32_t paren);
/* The end of the argument that begins at `i`: its comma, or the closing bracket. */
uint32_t source_argument_end(const struct source *s, uint32_t i, uint32_t close);
/* By its place (from 0) or by its keyword, which may be NULL. */
struct argument source_argument(const struct source *s, uint32_t paren, unsigned index,
                                const char *keyword);
bool source_has_star(const struct source *s, uint32_t paren);
/* The argument at `index`, or mode=, is a text that opens for writing. */
bool source_mode_writes(const struct source *s, uint32_t paren, unsigned index);
