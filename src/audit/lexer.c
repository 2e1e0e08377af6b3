#include "audit/lexer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum class {
    OTHER, /* an operator, or a byte that means nothing */
    BLANK,
    LINE,
    WORD,  /* letters, _ and all bytes beyond ASCII */
    DIGIT,
    QUOTE,
    HASH,
    SLASH, /* the backslash */
    OPENS,
    CLOSES,
};

/* One digit a byte of ASCII, sixteen a line; all beyond are WORD. */
static const char ascii[129] =
    "0000000001201100"
    "0000000000000000"
    "1056000589000000"
    "4444444444000000"
    "0333333333333333"
    "3333333333387903"
    "0333333333333333"
    "3333333333380900";

static enum class class_of(char c)
{
    return (unsigned char)c < 0x80 ? (enum class)(ascii[(unsigned char)c] - '0') : WORD;
}

static bool in_word(char c)
{
    enum class k = class_of(c);
    return k == WORD || k == DIGIT;
}

static int grow(void **items, uint32_t *room, size_t size)
{
    uint32_t wanted = *room == 0 ? 1024 : *room * 2;
    void *moved = reallocarray(*items, wanted, size);
    if (moved == NULL)
        return -ENOMEM;
    *items = moved;
    *room = wanted;
    return 0;
}

static struct token *add(struct lexer *lexer, enum token_kind kind, uint32_t at, uint32_t len)
{
    if (lexer->count == lexer->room &&
        grow((void **)&lexer->tokens, &lexer->room, sizeof *lexer->tokens) < 0)
        return NULL;
    struct token *t = &lexer->tokens[lexer->count++];
    *t = (struct token){.kind = (uint8_t)kind, .at = at, .len = len};
    return t;
}

/* ---- strings ---- */

/* The length of a string's prefix at the front of a word: 0 to 2; -1 if it is no prefix. */
static int prefix_of(const char *word, uint32_t len)
{
    if (len > 2)
        return -1;
    for (uint32_t i = 0; i < len; i++) {
        if (strchr("rRbBuUfFtT", word[i]) == NULL)
            return -1;
    }
    return (int)len;
}

static bool has_fields(const char *word, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        if (strchr("fFtT", word[i]) != NULL)
            return true;
    }
    return false;
}

static uint32_t quotes_at(const struct lexer *lexer, uint32_t i)
{
    const char *p = lexer->text + i;
    return i + 2 < lexer->len && p[1] == p[0] && p[2] == p[0] ? 3 : 1;
}

static uint32_t skip_string(const struct lexer *lexer, uint32_t i, bool fields, unsigned depth);

/*
 * From behind the `{` of a replacement field to behind its `}`. Since Python 3.12 anything may
 * stand there, strings with the same quotes too; a field never leaves the line of a short string.
 * Behind its colon is a format, where a quote is a character: f"{x:'>8}".
 */
static uint32_t skip_field(const struct lexer *lexer, uint32_t i, bool one_line, unsigned depth)
{
    const char *text = lexer->text;
    unsigned braces = 1, brackets = 0;
    bool format = false;
    while (i < lexer->len && braces > 0) {
        const char c = text[i];
        if (class_of(c) == QUOTE && !(format && braces == 1)) {
            const uint32_t from = i;
            uint32_t word = i;
            while (word > 0 && i - word < 3 && in_word(text[word - 1]))
                word--;
            const bool prefixed = prefix_of(text + word, from - word) > 0;
            i = skip_string(lexer, i, prefixed && has_fields(text + word, from - word), depth + 1);
            continue;
        }
        if (c == '\n' && one_line)
            return i;
        braces += c == '{';
        braces -= c == '}';
        brackets += c == '(' || c == '[';
        brackets -= (c == ')' || c == ']') && brackets > 0;
        format = format || (c == ':' && braces == 1 && brackets == 0);
        i++;
    }
    return i;
}

/* From the first quote to behind the last; a short string ends with its line at the latest. */
static uint32_t skip_string(const struct lexer *lexer, uint32_t i, bool fields, unsigned depth)
{
    const char *text = lexer->text;
    const char quote = text[i];
    const uint32_t quotes = quotes_at(lexer, i);
    i += quotes;
    while (i < lexer->len) {
        const char c = text[i];
        if (c == quote && (quotes == 1 || (quotes_at(lexer, i) == 3)))
            return i + quotes;
        if (c == '\n' && quotes == 1)
            return i;
        if (c == '\\') {
            i += 2; /* also in a raw string: the byte behind it does not end it */
            i += i < lexer->len && text[i - 1] == '\r' && text[i] == '\n';
        } else if (fields && c == '{' && depth < LEXER_NESTING_MAX) {
            if (i + 1 < lexer->len && text[i + 1] == '{')
                i += 2;
            else
                i = skip_field(lexer, i + 1, quotes == 1, depth);
        } else {
            i++;
        }
    }
    return lexer->len;
}

static int64_t add_string(struct lexer *lexer, uint32_t at, uint32_t prefix)
{
    const uint32_t quote = at + prefix;
    const uint32_t end = skip_string(lexer, quote, has_fields(lexer->text + at, prefix), 0);
    struct token *t = add(lexer, TOKEN_STRING, at, end - at);
    if (t == NULL)
        return -ENOMEM;
    t->prefix = (uint8_t)prefix;
    t->quotes = (uint8_t)quotes_at(lexer, quote);
    return end;
}

/* ---- the rest ---- */

static char partner(char c)
{
    return c == ')' ? '(' : c == ']' ? '[' : '{';
}

static int add_bracket(struct lexer *lexer, uint32_t at, bool opens)
{
    const char c = lexer->text[at];
    const uint32_t index = lexer->count;
    struct token *t = add(lexer, TOKEN_OP, at, 1);
    if (t == NULL)
        return -ENOMEM;
    t->op = c;
    if (opens) {
        if (lexer->depth == lexer->depth_room &&
            grow((void **)&lexer->open, &lexer->depth_room, sizeof *lexer->open) < 0)
            return -ENOMEM;
        lexer->open[lexer->depth++] = index;
    } else if (lexer->depth > 0 &&
               lexer->tokens[lexer->open[lexer->depth - 1]].op == partner(c)) {
        t->match = lexer->open[--lexer->depth];
        lexer->tokens[t->match].match = index;
    }
    return 0;
}

static int add_op(struct lexer *lexer, uint32_t at)
{
    struct token *t = add(lexer, TOKEN_OP, at, 1);
    if (t != NULL)
        t->op = lexer->text[at];
    return t == NULL ? -ENOMEM : 0;
}

/* A word, or the string whose prefix it is. Where it ends, or -errno. */
static int64_t add_word(struct lexer *lexer, uint32_t at)
{
    uint32_t end = at + 1;
    while (end < lexer->len && in_word(lexer->text[end]))
        end++;
    if (end < lexer->len && class_of(lexer->text[end]) == QUOTE &&
        prefix_of(lexer->text + at, end - at) > 0)
        return add_string(lexer, at, end - at);
    return add(lexer, TOKEN_NAME, at, end - at) == NULL ? -ENOMEM : (int64_t)end;
}

uint32_t lexer_line_end(const struct lexer *lexer, uint32_t at)
{
    const char *nl = memchr(lexer->text + at, '\n', lexer->len - at);
    return nl == NULL ? lexer->len : (uint32_t)(nl - lexer->text);
}

static int add_comment(struct lexer *lexer, uint32_t at, uint32_t len)
{
    if (lexer->comment_count == lexer->comment_room &&
        grow((void **)&lexer->comments, &lexer->comment_room, sizeof *lexer->comments) < 0)
        return -ENOMEM;
    lexer->comments[lexer->comment_count++] = (struct comment){at, len};
    return 0;
}

/* A newline ends a logical line outside of brackets, and only if something stands in it. */
static int add_newline(struct lexer *lexer, uint32_t at)
{
    if (lexer->depth > 0 || lexer->count == 0 ||
        lexer->tokens[lexer->count - 1].kind == TOKEN_NEWLINE)
        return 0;
    return add(lexer, TOKEN_NEWLINE, at, 1) == NULL ? -ENOMEM : 0;
}

/* The token at `i`, or the blanks; where the next begins, or -errno. */
static int64_t step(struct lexer *lexer, uint32_t i)
{
    uint32_t end = i + 1;
    int r = 0;
    switch (class_of(lexer->text[i])) {
    case BLANK:
        while (end < lexer->len && class_of(lexer->text[end]) == BLANK)
            end++;
        return end;
    case LINE:
        r = add_newline(lexer, i);
        break;
    case SLASH: /* a continued line: the newline is a blank */
        if (end < lexer->len && lexer->text[end] == '\r')
            end++;
        if (end < lexer->len && lexer->text[end] == '\n')
            end++;
        break;
    case WORD:
        return add_word(lexer, i);
    case DIGIT:
        while (end < lexer->len && (in_word(lexer->text[end]) || lexer->text[end] == '.'))
            end++;
        r = add(lexer, TOKEN_NUMBER, i, end - i) == NULL ? -ENOMEM : 0;
        break;
    case QUOTE:
        return add_string(lexer, i, 0);
    case HASH:
        end = lexer_line_end(lexer, i);
        r = add_comment(lexer, i, end - i);
        break;
    case OPENS:
    case CLOSES:
        r = add_bracket(lexer, i, class_of(lexer->text[i]) == OPENS);
        break;
    case OTHER:
        r = add_op(lexer, i);
        break;
    }
    return r < 0 ? r : (int64_t)end;
}

/* The byte order mark that editors on Windows put in front belongs to no word. */
static uint32_t mark_of(const struct lexer *lexer)
{
    return lexer->len >= 3 && memcmp(lexer->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int lexer_run(struct lexer *lexer, const char *text, size_t len)
{
    if (len > LEXER_TEXT_MAX)
        return -EFBIG;
    lexer->text = text;
    lexer->len = (uint32_t)len;
    lexer->count = 0;
    lexer->comment_count = 0;
    lexer->depth = 0;
    for (uint32_t i = mark_of(lexer); i < lexer->len;) {
        int64_t next = step(lexer, i);
        if (next < 0)
            return (int)next;
        i = (uint32_t)next;
    }
    return add(lexer, TOKEN_END, lexer->len, 0) == NULL ? -ENOMEM : 0;
}

void lexer_free(struct lexer *lexer)
{
    free(lexer->tokens);
    free(lexer->comments);
    free(lexer->open);
    *lexer = LEXER_INIT;
}

void lexer_line_to(const struct lexer *lexer, struct lexer_line *line, uint32_t at)
{
    if (line->end == 0)
        line->end = lexer_line_end(lexer, line->start);
    while (line->end < at) {
        line->start = line->end + 1;
        line->end = lexer_line_end(lexer, line->start);
        line->number++;
    }
}

uint32_t lexer_column(const struct lexer *lexer, const struct lexer_line *line, uint32_t at)
{
    uint32_t col = 1;
    for (uint32_t i = line->start == 0 ? mark_of(lexer) : line->start; i < at; i++)
        col += ((unsigned char)lexer->text[i] & 0xc0) != 0x80;
    return col;
}
