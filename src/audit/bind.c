#include "audit/bind.h"

#include <string.h>

#include "audit/judge.h"
#include "audit/path.h"

#define AROUND_TOKENS_MAX 64 /* what stands within each other is looked at again and again */

/* The bracket that closes around token `i`; 0: there is none, or it is far away. */
static uint32_t close_around(const struct source *s, uint32_t i)
{
    for (unsigned n = 0; n < AROUND_TOKENS_MAX; n++) {
        const struct token *t = source_token(s, i);
        if (t->kind == TOKEN_NEWLINE || t->kind == TOKEN_END)
            return 0;
        if (t->match != 0 && t->match < i)
            return i;
        i = t->match > i ? t->match + 1 : i + 1;
    }
    return 0;
}

/* Where the body of the lambda at `i` ends; 0: far away. */
static uint32_t lambda_end(const struct source *s, uint32_t i)
{
    bool body = false;
    for (unsigned n = 0; n < AROUND_TOKENS_MAX; n++) {
        const struct token *t = source_token(s, i);
        body = body || source_op(s, i, ':');
        if (t->kind == TOKEN_NEWLINE || t->kind == TOKEN_END || source_op(s, i, ';') ||
            (t->match != 0 && t->match < i) || (body && source_op(s, i, ',')))
            return i;
        i = t->match > i ? t->match + 1 : i + 1;
    }
    return 0;
}

/* An index, or the argument of a call: `x[name, 1] = ...` does not bind it. */
static bool is_operand(const struct source *s, uint32_t i)
{
    const uint32_t close = close_around(s, i);
    const uint32_t open = close == 0 ? 0 : source_token(s, close)->match;
    return open > s->line && (source_is_name(s, open - 1) || source_op(s, open - 1, ')') || source_op(s, open - 1, ']'));
}

/* ---- assignments ---- */

/* The value that begins at `i` ends where an expression may end: it is no part of a longer one. */
static bool ends(const struct source *s, uint32_t i)
{
    const uint8_t kind = s->lexer->tokens[i].kind;
    if (kind == TOKEN_NEWLINE || kind == TOKEN_END)
        return true;
    return kind == TOKEN_OP && memchr(";,:)]}", s->lexer->tokens[i].op, 6) != NULL;
}

static void assign(struct source *s, uint32_t name, bool attribute, uint32_t value, uint32_t from)
{
    struct path p;
    struct binding *b = NULL;
    if (value != 0 && path_parse(s, value, &p) && !p.writes && ends(s, p.last + 1) &&
        !source_op(s, p.last + 1, ',') && judge_matters(s, &p))
        b = names_bind(s->names, source_span(s, name), attribute, from);
    if (b == NULL) {
        names_forget(s->names, source_span(s, name), attribute, from);
        return;
    }
    b->meaning = MEANS_PATH;
    b->value.told = p.built ? (int)judge_path(s, &p, false) : RULE_COUNT;
    path_store(&p, &b->value);
}

/* NAME =, NAME: TYPE =, self.NAME =; in `a, b =` and `a +=` the text does not say the value. */
static void check_assignment(struct source *s, uint32_t i)
{
    const bool attribute = source_op(s, i + 1, '.');
    const uint32_t name = attribute ? i + 2 : i, op = name + 1;
    if (!source_is_name(s, name) ||
        (attribute && !source_is(s, i, "self") && !source_is(s, i, "cls")))
        return;
    const bool plain = source_assigns(s, op), typed = source_op(s, op, ':');
    const struct statement *st = source_statement(s, i);
    if (st->assign < op || (typed && st->begin != i) || (!plain && !typed && is_operand(s, i)))
        return;
    assign(s, name, attribute, plain || typed ? st->assign + 1 : 0, st->end);
}

/* ---- other statements that bind ---- */

/* What a name means before token `i` it means again from `end` on; 0: the text does not say where. */
static void hide(struct source *s, uint32_t i, uint32_t end)
{
    const struct span name = source_span(s, i);
    const struct binding *b = names_find(s->names, name, i), *last = names_find(s->names, name, UINT32_MAX);
    if (b == NULL || b != last || b->meaning == MEANS_UNKNOWN)
        end = 0; /* there is nothing to come back to, or the statement around binds it */
    struct binding before = {0};
    if (end != 0)
        before = *b;
    names_forget(s->names, name, false, i);
    struct binding *again = end == 0 ? NULL : names_bind(s->names, name, false, end);
    if (again == NULL)
        return;
    again->meaning = before.meaning;
    again->what = before.what;
    again->value = before.value;
}

/*
 * The names from `i` to the word or operator that ends them get values that nobody knows, up to token `end`; 0: for
 * good.
 */
static void forget_until(struct source *s, uint32_t i, const char *word, char op, uint32_t end)
{
    for (; !source_is(s, i, word) && !source_op(s, i, op); i++) {
        const uint8_t kind = s->lexer->tokens[i].kind;
        if (kind == TOKEN_NEWLINE || kind == TOKEN_END || source_is(s, i, "for") ||
            source_is(s, i, "lambda"))
            return;
        if (kind == TOKEN_NAME && !source_is_attribute(s, i))
            hide(s, i, end);
    }
}

static void check_keyword(struct source *s, uint32_t i)
{
    if (source_is(s, i, "as")) {
        const uint32_t begin = source_statement(s, i)->begin;
        if (source_is_name(s, i + 1) && !source_is(s, begin, "import") &&
            !source_is(s, begin, "from"))
            names_forget(s->names, source_span(s, i + 1), false, i);
    } else if (source_is(s, i, "for")) {
        forget_until(s, i + 1, "in", ':', close_around(s, i)); /* a comprehension keeps its names to itself */
    } else if (source_is(s, i, "lambda")) {
        forget_until(s, i + 1, "in", ':', lambda_end(s, i));
    } else if (source_is(s, i, "global") || source_is(s, i, "nonlocal")) {
        for (uint32_t k = i + 1; source_is_name(s, k); k += 2)
            names_forget_everywhere(s->names, source_span(s, k));
    }
}

void bind_name(struct source *s, uint32_t i)
{
    const struct token *next = &s->lexer->tokens[i + 1];
    if (next->kind == TOKEN_OP) {
        switch (next->op) {
        case '=':
        case '.':
            check_assignment(s, i);
            return;
        case ':':
            if (source_is_walrus(s, i + 1))
                assign(s, i, false, i + 3, i + 3);
            else if (i == s->line)
                check_assignment(s, i);
            return;
        default:
            /* Only names that are known can lose their meaning. */
            if (s->names->count > 0 && memchr(",+-*/|&", next->op, 7) != NULL &&
                names_find(s->names, source_span(s, i), UINT32_MAX) != NULL)
                check_assignment(s, i);
            return;
        }
    }
    if (s->names->count > 0)
        check_keyword(s, i);
}

/* ---- functions and classes ---- */

static void take_parameters(struct source *s, uint32_t paren, struct scope *scope)
{
    const uint32_t close = source_close(s, paren);
    for (uint32_t i = paren + 1; i < close; i = source_argument_end(s, i, close) + 1) {
        while (source_op(s, i, '*'))
            i++;
        if (!source_is_name(s, i))
            continue;
        const struct binding *b = names_find(s->names, source_span(s, i), i);
        if (b != NULL && b->meaning == MEANS_MOVER)
            scope->stay = STAY_ELSEWHERE;
        else
            names_forget(s->names, source_span(s, i), false, 0);
    }
}

/* unittest and pytest call these before each test. */
static bool is_setup(const struct source *s, uint32_t i)
{
    static const char *const names[] = {"setUp",       "setUpClass",   "setUpModule",
                                        "asyncSetUp",  "setup",        "setup_method",
                                        "setup_class", "setup_module", "setup_function"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (source_is(s, i, names[k]))
            return true;
    }
    return false;
}

static void enter_function(struct source *s, uint32_t name)
{
    names_forget(s->names, source_span(s, name), false, name);
    struct scope *scope = names_enter(s->names, SCOPE_FUNCTION, s->column);
    if (scope == NULL)
        return;
    scope->name_at = source_span(s, name).at;
    scope->name_len = source_span(s, name).len;
    scope->fixture = s->fixture;
    scope->for_all = s->for_all || is_setup(s, name);
    if (source_op(s, name + 1, '('))
        take_parameters(s, name + 1, scope);
}

static void read_decorator(struct source *s, uint32_t i)
{
    const struct statement *st = source_statement(s, i);
    for (; i < st->end && !source_op(s, i, '('); i++)
        s->fixture = s->fixture || source_is(s, i, "fixture");
    if (i >= st->end || !s->fixture)
        return;
    const struct argument all = source_argument(s, i, UINT32_MAX, "autouse");
    s->for_all = s->for_all || (all.begin < all.end && source_is(s, all.begin, "True"));
}

static uint32_t column_of(const struct source *s, uint32_t i)
{
    const uint32_t at = s->lexer->tokens[i].at;
    uint32_t start = at, column = 0;
    while (start > 0 && (s->lexer->text[start - 1] == ' ' || s->lexer->text[start - 1] == '\t'))
        start--;
    for (; start < at; start++)
        column = s->lexer->text[start] == '\t' ? (column | 7) + 1 : column + 1;
    return column;
}

void bind_line(struct source *s, uint32_t i)
{
    s->line = i;
    s->column = column_of(s, i);
    s->statement = (struct statement){.next = i};
    names_line(s->names, s->column);
    if (source_op(s, i, '@')) {
        read_decorator(s, i + 1);
        return;
    }
    const uint32_t word = source_is(s, i, "async") ? i + 1 : i;
    const bool named = source_is_name(s, word + 1); /* the text may end before it */
    if (named && source_is(s, word, "def")) {
        enter_function(s, word + 1);
    } else if (named && source_is(s, word, "class")) {
        names_forget(s->names, source_span(s, word + 1), false, i);
        names_enter(s->names, SCOPE_CLASS, s->column);
    }
    s->fixture = s->for_all = false;
}

/* ---- the directory ---- */

#define DIRECTORY_TOKENS_MAX 64 /* calls within calls are looked at again and again */

/* The argument speaks of this file or of the present directory: it may be the root. */
static bool may_be_root(const struct source *s, struct argument a)
{
    for (uint32_t i = a.begin; i < a.end && i - a.begin < DIRECTORY_TOKENS_MAX; i++) {
        if (source_is(s, i, "__file__") || source_is(s, i, "cwd") || source_is(s, i, "getcwd"))
            return true;
    }
    return false;
}

void bind_directory(struct source *s, uint32_t i)
{
    struct path p;
    enum stay stay = STAY_ELSEWHERE;
    const struct argument a = source_argument(s, i + 1, 0, "path");
    if (source_is(s, i, "chdir") && a.begin < a.end) {
        if (path_of_argument(s, a, &p) && p.whole) {
            const char *rest = path_from_root(&p, s->context->up);
            stay = rest != NULL && rest[0] == '\0' ? STAY_AT_ROOT : STAY_ELSEWHERE;
        } else if (may_be_root(s, a)) {
            return;
        }
    }
    const uint32_t word = source_is(s, s->line, "async") ? s->line + 1 : s->line;
    if (source_is(s, word, "with") && names_enter(s->names, SCOPE_BLOCK, s->column) == NULL)
        return;
    names_move(s->names, stay);
}
