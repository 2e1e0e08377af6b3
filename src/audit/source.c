#include "audit/source.h"

#include <string.h>

bool source_assigns(const struct source *s, uint32_t i)
{
    return source_op(s, i, '=') &&
           !(source_op(s, i + 1, '=') && source_token(s, i + 1)->at == source_token(s, i)->at + 1);
}

bool source_is_walrus(const struct source *s, uint32_t i)
{
    return source_op(s, i, ':') && source_op(s, i + 1, '=') &&
           source_token(s, i + 1)->at == source_token(s, i)->at + 1;
}

/* ---- statements ---- */

/* `=` of an assignment, also the end of `+=`; not that of a comparison. */
static bool binds(const struct source *s, uint32_t i)
{
    if (!source_assigns(s, i))
        return false;
    const struct token *before = source_token(s, i - 1);
    return i == 0 || before->kind != TOKEN_OP || before->at + 1 != source_token(s, i)->at ||
           memchr("=!<>:", before->op, 5) == NULL;
}

const struct statement *source_statement(struct source *s, uint32_t i)
{
    struct statement *st = &s->statement;
    while (i >= st->next) {
        uint32_t k = st->next;
        *st = (struct statement){.begin = k};
        while (source_token(s, k)->kind != TOKEN_NEWLINE && source_token(s, k)->kind != TOKEN_END &&
               !source_op(s, k, ';')) {
            if (binds(s, k))
                st->assign = k;
            const uint32_t match = source_token(s, k)->match;
            k = match > k ? match + 1 : k + 1;
        }
        st->end = k;
        st->next = k + 1;
    }
    return st;
}

/* ---- what names mean ---- */

enum module {
    MODULE_NONE = 0,
    MODULE_PATHLIB = 1,
    MODULE_IO = 2, /* and all others with an open like that */
    MODULE_TEMPFILE = 4,
    MODULE_OS = 8,
    MODULE_OS_PATH = 16,
    MODULE_SHUTIL = 32,
};

static const struct {
    const char *name;
    uint8_t len;
    uint8_t modules;
    enum word word;
} known[] = {
    {"Path", 4, MODULE_PATHLIB, WORD_PATH},
    {"PosixPath", 9, MODULE_PATHLIB, WORD_PATH},
    {"WindowsPath", 11, MODULE_PATHLIB, WORD_PATH},
    {"open", 4, MODULE_IO, WORD_OPEN},
    {"mkdtemp", 7, MODULE_TEMPFILE, WORD_TEMPFILE_CALL},
    {"mkstemp", 7, MODULE_TEMPFILE, WORD_TEMPFILE_CALL},
    {"path", 4, MODULE_OS, WORD_MODULE_PATH},
    {"join", 4, MODULE_OS_PATH, WORD_JOIN},
    {"dirname", 7, MODULE_OS_PATH, WORD_DIRNAME},
    {"abspath", 7, MODULE_OS_PATH, WORD_SAME_PATH},
    {"realpath", 8, MODULE_OS_PATH, WORD_SAME_PATH},
    {"normpath", 8, MODULE_OS_PATH, WORD_SAME_PATH},
    {"fspath", 6, MODULE_OS, WORD_SAME_PATH},
    {"getcwd", 6, MODULE_OS, WORD_CWD},
    {"pardir", 6, MODULE_OS | MODULE_OS_PATH, WORD_UP},
    {"remove", 6, MODULE_OS, WORD_CHANGES_FIRST},
    {"unlink", 6, MODULE_OS, WORD_CHANGES_FIRST},
    {"truncate", 8, MODULE_OS, WORD_CHANGES_FIRST},
    {"chmod", 5, MODULE_OS, WORD_CHANGES_FIRST},
    {"rename", 6, MODULE_OS, WORD_CHANGES_BOTH},
    {"replace", 7, MODULE_OS, WORD_CHANGES_BOTH},
    {"symlink", 7, MODULE_OS, WORD_CHANGES_SECOND},
    {"link", 4, MODULE_OS, WORD_CHANGES_SECOND},
    {"copy", 4, MODULE_SHUTIL, WORD_CHANGES_SECOND},
    {"copy2", 5, MODULE_SHUTIL, WORD_CHANGES_SECOND},
    {"copyfile", 8, MODULE_SHUTIL, WORD_CHANGES_SECOND},
    {"move", 4, MODULE_SHUTIL, WORD_CHANGES_BOTH},
    {"rmtree", 6, MODULE_SHUTIL, WORD_CHANGES_FIRST},
};

/* A member of one of these modules. */
static enum word member(const struct source *s, uint32_t i, unsigned modules)
{
    const struct token *t = source_token(s, i);
    const char *name = s->lexer->text + t->at;
    if (modules == MODULE_PATHLIB && name[0] != 'P' && name[0] != 'W')
        return WORD_NONE;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if ((known[k].modules & modules) != 0 && known[k].len == t->len &&
            memcmp(known[k].name, name, t->len) == 0)
            return known[k].word;
    }
    return WORD_NONE;
}

static unsigned spelled_module(const struct source *s, uint32_t i)
{
    static const struct {
        const char *name;
        enum module module;
    } modules[] = {{"os", MODULE_OS},           {"shutil", MODULE_SHUTIL},
                   {"io", MODULE_IO},           {"tempfile", MODULE_TEMPFILE},
                   {"codecs", MODULE_IO},       {"builtins", MODULE_IO},
                   {"pathlib", MODULE_PATHLIB}, {"posixpath", MODULE_OS_PATH}};
    for (size_t k = 0; k < sizeof modules / sizeof modules[0]; k++) {
        if (source_is(s, i, modules[k].name))
            return modules[k].module;
    }
    return MODULE_NONE;
}

/* The module that the name at `i` stands for, dotted or not. */
static unsigned module_at(const struct source *s, uint32_t i)
{
    if (!source_is_name(s, i))
        return MODULE_NONE;
    if (source_is_attribute(s, i))
        return source_is(s, i, "path") && !source_is_attribute(s, i - 2) &&
                       module_at(s, i - 2) == MODULE_OS
                   ? MODULE_OS_PATH
                   : MODULE_NONE;
    const struct binding *b = names_find(s->names, source_span(s, i), i);
    if (b != NULL)
        return b->meaning == MEANS_MODULE ? b->what : MODULE_NONE;
    return spelled_module(s, i);
}

/* Most names are none of these: by their first letter, the lengths of those that are. */
static const uint16_t lengths[128] = {
    ['P'] = 1 << 4 | 1 << 9, ['W'] = 1 << 11,         ['a'] = 1 << 7,
    ['c'] = 1 << 4 | 1 << 5 | 1 << 8,                 ['d'] = 1 << 7,
    ['f'] = 1 << 6,          ['g'] = 1 << 6,          ['i'] = 1 << 6,
    ['j'] = 1 << 4,          ['l'] = 1 << 4,          ['m'] = 1 << 4 | 1 << 7,
    ['n'] = 1 << 8,          ['o'] = 1 << 4,          ['p'] = 1 << 4 | 1 << 6,
    ['r'] = 1 << 6 | 1 << 7 | 1 << 8,                 ['s'] = 1 << 3 | 1 << 7,
    ['t'] = 1 << 8,          ['u'] = 1 << 6,
};

static bool may_be_known(const struct source *s, uint32_t i)
{
    const struct token *t = source_token(s, i);
    const unsigned char c = (unsigned char)s->lexer->text[t->at];
    return c < 128 && t->len < 16 && (lengths[c] >> t->len & 1) != 0;
}

/* Without an import: what Python has built in, and Path, which a star may have brought. */
static enum word bare_word(const struct source *s, uint32_t i)
{
    switch (s->lexer->text[source_token(s, i)->at]) {
    case 'i':
        return source_is(s, i, "import") ? WORD_IMPORT : WORD_NONE;
    case 's':
        return source_is(s, i, "str") ? WORD_SAME_PATH : WORD_NONE;
    case 'o':
    case 'P':
    case 'W':
        return member(s, i, MODULE_PATHLIB | MODULE_IO);
    default:
        return WORD_NONE;
    }
}

enum word source_word(const struct source *s, uint32_t i)
{
    if (!source_is_attribute(s, i)) {
        const struct binding *b = names_find(s->names, source_span(s, i), i);
        if (b != NULL)
            return b->meaning == MEANS_WORD ? (enum word)b->what : WORD_NONE;
        return may_be_known(s, i) ? bare_word(s, i) : WORD_NONE;
    }
    if (!may_be_known(s, i))
        return WORD_NONE;
    const unsigned module = module_at(s, i - 2);
    /* Path is what it is, whatever re-exports it. */
    return member(s, i, module == MODULE_NONE ? MODULE_PATHLIB : module);
}

uint32_t source_start(const struct source *s, uint32_t i)
{
    while (i > 1 && source_op(s, i - 1, '.') && source_token(s, i - 2)->kind == TOKEN_NAME)
        i -= 2;
    return i;
}

/* ---- imports ---- */

static void import_name(struct source *s, uint32_t i, enum meaning meaning, unsigned what)
{
    struct binding *b = NULL;
    if (!source_is_name(s, i))
        return;
    if (what != 0)
        b = names_bind(s->names, source_span(s, i), false, i);
    if (b == NULL) {
        names_forget(s->names, source_span(s, i), false, i);
        return;
    }
    b->meaning = meaning;
    b->what = what;
}

/* The names behind `from MODULE import`, in brackets or not. */
static void import_from(struct source *s, uint32_t i, unsigned module)
{
    for (i += source_op(s, i, '(') ? 1 : 0; source_is_name(s, i); i++) {
        const enum word word = member(s, i, module);
        if (source_is(s, i + 1, "as"))
            i += 2;
        if (word == WORD_MODULE_PATH)
            import_name(s, i, MEANS_MODULE, MODULE_OS_PATH);
        else
            import_name(s, i, MEANS_WORD, word);
        if (!source_op(s, ++i, ','))
            return;
    }
}

void source_import(struct source *s, uint32_t i)
{
    const bool from = i > 1 && (source_is(s, i - 2, "from") || source_op(s, i - 2, '.'));
    if (from) {
        import_from(s, i + 1, module_at(s, i - 1));
        return;
    }
    for (i++; source_is_name(s, i); i++) {
        const uint32_t first = i;
        while (source_op(s, i + 1, '.') && source_is_name(s, i + 2))
            i += 2;
        const unsigned module = module_at(s, i);
        const bool renamed = source_is(s, i + 1, "as");
        i = renamed ? i + 2 : i;
        if (renamed)
            import_name(s, i, MEANS_MODULE, module);
        else if (module_at(s, first) == MODULE_NONE)
            import_name(s, first, MEANS_UNKNOWN, 0);
        if (!source_op(s, ++i, ','))
            return;
    }
}

/* ---- calls ---- */

uint32_t source_close(const struct source *s, uint32_t paren)
{
    return source_token(s, paren)->match;
}

uint32_t source_argument_end(const struct source *s, uint32_t i, uint32_t close)
{
    while (i < close && !source_op(s, i, ',')) {
        const uint32_t match = source_token(s, i)->match;
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
        const uint32_t end = source_argument_end(s, i, close);
        if (source_token(s, i)->kind == TOKEN_NAME && source_assigns(s, i + 1)) {
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
    for (uint32_t i = paren + 1; i < close; i = source_argument_end(s, i, close) + 1) {
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
    if (a.begin >= a.end || source_token(s, a.begin)->kind != TOKEN_STRING ||
        lexer_string(s->lexer, a.begin, mode, sizeof mode, &whole) != a.end)
        return false;
    return strpbrk(mode, "wax+") != NULL;
}
