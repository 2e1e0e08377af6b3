/*
 * Python source as tokens: names, strings, operators and the ends of logical lines, as far as the
 * rules need them. Any bytes are taken; what Python itself would refuse ends in some tokens, never
 * in an error, and every token lies inside the text. Linear in the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING, /* with its prefix and quotes */
    TOKEN_OP,     /* one byte; `==`, `:=` and their like are two tokens that touch */
    TOKEN_NEWLINE, /* of a logical line */
    TOKEN_END,     /* the last one, at the end of the text */
};

struct token {
    uint8_t kind;   /* enum token_kind */
    char op;        /* of TOKEN_OP */
    uint8_t prefix; /* of a string: bytes before its first quote */
    uint8_t quotes; /* of a string: 1 or 3 */
    uint32_t at;    /* offset of its first byte */
    uint32_t len;
    uint32_t match; /* of a bracket: the index of its partner; 0: it has none */
};

#define LEXER_TEXT_MAX (16u * 1024 * 1024)
#define LEXER_NESTING_MAX 16 /* strings within replacement fields of f-strings */

struct comment {
    uint32_t at, len; /* from its # to the end of the line */
};

struct lexer {
    const char *text; /* borrowed */
    uint32_t len;
    struct token *tokens; /* owned */
    uint32_t count, room;
    struct comment *comments; /* owned; no tokens: they may stand anywhere */
    uint32_t comment_count, comment_room;
    uint32_t *open; /* owned; indices of brackets that wait for their partner */
    uint32_t depth, depth_room;
};

#define LEXER_INIT ((struct lexer){0})

/* The tokens of `text`, at most LEXER_TEXT_MAX bytes; those of the last text are gone. 0 or -errno. */
int lexer_run(struct lexer *lexer, const char *text, size_t len);
void lexer_free(struct lexer *lexer);

/* Where the line of an offset ends: at its newline, or with the text. */
uint32_t lexer_line_end(const struct lexer *lexer, uint32_t at);

/* A line of the text, and where it begins; a place to go on from. */
struct lexer_line {
    uint32_t number; /* from 1 */
    uint32_t start;
    uint32_t end; /* of the line, if it is not 0: a line may be as long as the text */
};
#define LEXER_LINE_INIT ((struct lexer_line){.number = 1})

/* Moves down to the line of an offset that is not above it. */
void lexer_line_to(const struct lexer *lexer, struct lexer_line *line, uint32_t at);
/* From 1, in characters. */
uint32_t lexer_column(const struct lexer *lexer, const struct lexer_line *line, uint32_t at);

/*
 * What adjacent strings, from token `i` on, amount to: decoded into `out`, of at most `size` bytes
 * with its NUL. Returns the index behind the last of them. `*whole`: no replacement field and no
 * lack of room cut it.
 */
uint32_t lexer_string(const struct lexer *lexer, uint32_t i, char *out, size_t size, bool *whole);
/* The same from `skip` bytes behind the first quotes on, which lie in the string. */
uint32_t lexer_string_from(const struct lexer *lexer, uint32_t i, uint32_t skip, char *out,
                           size_t size, bool *whole);
