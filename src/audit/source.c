#include "audit/source.h"

#include <string.h>

static const struct token *token(const struct source *s, uint32_t i)
{
    return &s->lexer->tokens[i < s->lexer->count ? i : s->lexer->count - 1];
}

bool source_is(const struct source *s, uint32_t i, const char *name)
{
    const struct token *t = token(s, i);
    return t->kind == TOKEN_NAME && strlen(name) == t->len &&
           memcmp(s->lexer->text + t->at, name, t->len) == 0;
}

bool source_op(const struct source *s, uint32_t i, char op)
{
    const struct token *t = token(s, i);
    return t->kind == TOKEN_OP && t->op == op;
}

bool source_assigns(const struct source *s, uint32_t i)
{
    return source_op(s, i, '=') &&
           !(source_op(s, i + 1, '=') && token(s, i + 1)->at == token(s, i)->at + 1);
}

/* ---- what names mean ---- */

static const struct {
    const char *name;
    uint8_t len;
    enum word word;
} known[] = {
    {"import", 6, WORD_IMPORT},
    {"Path", 4, WORD_PATH},
    {"PosixPath", 9, WORD_PATH},
    {"WindowsPath", 11, WORD_PATH},
    {"open", 4, WORD_OPEN},
    {"mkdtemp", 7, WORD_TEMPFILE_CALL},
    {"mkstemp", 7, WORD_TEMPFILE_CALL},
    {"join", 4, WORD_JOIN},
};

static enum word spelled(const struct source *s, uint32_t i)
{
    /* Most names are none of these: lengths 4, 6, 7, 9 and 11, and their first letters. */
    const struct token *t = token(s, i);
    const char *name = s->lexer->text + t->at;
    if (t->len > 11 || (0xad0 >> t->len & 1) == 0 || memchr("iPWomj", name[0], 6) == NULL)
        return WORD_NONE;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (known[k].len == t->len && memcmp(known[k].name, name, t->len) == 0)
            return known[k].word;
    }
    return WORD_NONE;
}

static enum word aliased(const struct source *s, uint32_t i)
{
    const struct token *t = token(s, i);
    for (unsigned k = 0; k < s->alias_count; k++) {
        const struct source_alias *a = &s->aliases[k];
        if (a->len == t->len && memcmp(s->lexer->text + a->at, s->lexer->text + t->at, t->len) == 0)
            return a->word;
    }
    return WORD_NONE;
}

static bool is_attribute(const struct source *s, uint32_t i)
{
    return i > 1 && source_op(s, i - 1, '.');
}

enum word source_word(const struct source *s, uint32_t i)
{
    const enum word word = spelled(s, i);
    if (!is_attribute(s, i)) {
        const enum word alias = s->alias_count > 0 ? aliased(s, i) : WORD_NONE;
        if (alias != WORD_NONE)
            return alias;
        /* A bare mkdtemp is tempfile's only where it was imported; a bare join never os.path's. */
        return word == WORD_TEMPFILE_CALL || word == WORD_JOIN ? WORD_NONE : word;
    }
    switch (word) {
    case WORD_OPEN:
        return source_is(s, i - 2, "io") || source_is(s, i - 2, "codecs") ||
                       source_is(s, i - 2, "builtins")
                   ? word
                   : WORD_NONE;
    case WORD_TEMPFILE_CALL:
        return source_is(s, i - 2, "tempfile") || aliased(s, i - 2) == word ? word : WORD_NONE;
    case WORD_JOIN:
        return source_is(s, i - 2, "path") ? word : WORD_NONE;
    default:
        return word;
    }
}

uint32_t source_start(const struct source *s, uint32_t i)
{
    while (i > 1 && source_op(s, i - 1, '.') && token(s, i - 2)->kind == TOKEN_NAME)
        i -= 2;
    return i;
}

static void add_alias(struct source *s, uint32_t i, enum word word)
{
    const struct token *t = token(s, i);
    if (t->kind == TOKEN_NAME && word != WORD_NONE && s->alias_count < SOURCE_ALIASES_MAX)
        s->aliases[s->alias_count++] = (struct source_alias){t->at, t->len, word};
}

/* The names behind `from MODULE import`, in brackets or not. */
static void import_from(struct source *s, uint32_t i, bool tempfile, bool pathlib)
{
    for (i += source_op(s, i, '(') ? 1 : 0; token(s, i)->kind == TOKEN_NAME; i++) {
        const enum word word = spelled(s, i);
        const bool counts = (tempfile && word == WORD_TEMPFILE_CALL) || (pathlib && word == WORD_PATH);
        if (source_is(s, i + 1, "as"))
            i += 2;
        if (counts)
            add_alias(s, i, word);
        if (!source_op(s, ++i, ','))
            return;
    }
}

void source_import(struct source *s, uint32_t i)
{
    if (i > 1 && source_is(s, i - 2, "from")) {
        import_from(s, i + 1, source_is(s, i - 1, "tempfile"), source_is(s, i - 1, "pathlib"));
        return;
    }
    /* import tempfile as t: `t.mkdtemp` is looked up by the name before the dot */
    if (source_is(s, i + 1, "tempfile") && source_is(s, i + 2, "as"))
        add_alias(s, i + 3, WORD_TEMPFILE_CALL);
}

/* ---- calls ---- */

uint32_t source_close(const struct source *s, uint32_t paren)
{
    return token(s, paren)->match;
}

/* The end of the argument that begins at `i`: its comma, or the closing bracket. */
static uint32_t argument_end(const struct source *s, uint32_t i, uint32_t close)
{
    while (i < close && !source_op(s, i, ',')) {
        const uint32_t match = token(s, i)->match;
        i = match > i ? match + 1 : i + 1;
    }
    return i;
}

struct argument source_argument(const struct source *s, uint32_t paren, unsigned index,
                                const char *keyword)
{
    const uint32_t close = source_close(s, paren);
    unsigned place = 0;
    for (uint32_t i = paren + 1; i < close;) {
        const uint32_t end = argument_end(s, i, close);
        if (token(s, i)->kind == TOKEN_NAME && source_assigns(s, i + 1)) {
            if (keyword != NULL && source_is(s, i, keyword))
                return (struct argument){i + 2, end};
        } else if (place++ == index) {
            return (struct argument){i, end};
        }
        i = end + 1;
    }
    return (struct argument){close, close};
}

bool source_has_star(const struct source *s, uint32_t paren)
{
    const uint32_t close = source_close(s, paren);
    for (uint32_t i = paren + 1; i < close; i = argument_end(s, i, close) + 1) {
        if (source_op(s, i, '*'))
            return true;
    }
    return false;
}

bool source_mode_writes(const struct source *s, uint32_t paren, unsigned index)
{
    char mode[8];
    bool whole;
    const struct argument a = source_argument(s, paren, index, "mode");
    if (a.begin >= a.end || token(s, a.begin)->kind != TOKEN_STRING ||
        lexer_string(s->lexer, a.begin, mode, sizeof mode, &whole) != a.end)
        return false;
    return strpbrk(mode, "wax+") != NULL;
}
