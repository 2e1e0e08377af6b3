/* Finds the rules' shapes in the tokens of one file. */
#include <stdio.h>
#include <string.h>

#include "audit/bind.h"
#include "audit/judge.h"
#include "audit/path.h"
#include "audit/rules.h"
#include "audit/source.h"

static void report(struct source *s, enum audit_rule rule, uint32_t from, uint32_t last,
                   const char *subject)
{
    const struct token *first = &s->lexer->tokens[from], *end = &s->lexer->tokens[last];
    struct rule_finding f = {.rule = rule, .at = first->at, .end = end->at + end->len};
    snprintf(f.subject, sizeof f.subject, "%s", subject);
    if (s->findings++ < RULE_FINDINGS_MAX)
        s->found(s->user, &f);
}

/* ---- paths ---- */

static void check_path(struct source *s, uint32_t start, const struct path *p)
{
    const enum audit_rule rule = judge_path(s, p, p->writes);
    /* Of a variable whose own expression was reported, only a change is news. */
    if (rule == RULE_COUNT || (p->told == (int)rule && !p->writes) ||
        (start < s->told_until && rule == s->told))
        return;
    /* tmp_path / Path("x"): only an absolute one means the same behind another. */
    if (start > 0 && source_op(s, start - 1, '/') && rule != RULE_ABSOLUTE_PATH)
        return;
    s->told = rule;
    s->told_until = p->last;
    report(s, rule, start, p->last,
           rule == RULE_ABSOLUTE_PATH ? p->text : path_from_root(p, s->context->up));
}

/* A function changes the file that its argument names; true if that was reported. */
static bool check_change(struct source *s, uint32_t i, struct argument a, bool opens)
{
    struct path p;
    if (!path_of_argument(s, a, &p))
        return false;
    enum audit_rule rule = judge_path(s, &p, true);
    if (rule == RULE_COUNT || rule == RULE_ARTIFACTS_LITERAL ||
        (p.built && rule == judge_path(s, &p, false)))
        return false; /* none, or the path itself is one */
    if (opens && (rule == RULE_PROTECTED_PATH || (rule == RULE_ROOT_CONFIG && !p.built)))
        rule = RULE_PROTECTED_OPEN;
    report(s, rule, source_start(s, i), source_close(s, i + 1),
           rule == RULE_ABSOLUTE_PATH ? p.text : path_from_root(&p, s->context->up));
    return true;
}

/* ---- calls ---- */

static void check_open(struct source *s, uint32_t i)
{
    const uint32_t paren = i + 1;
    struct path p;
    const struct argument first = source_argument(s, paren, 0, "file");
    if (source_mode_writes(s, paren, 1))
        check_change(s, i, first, true);
    else if (path_of_argument(s, first, &p) && !p.built && p.kind == PATH_TEXT &&
             p.told != RULE_ABSOLUTE_PATH && judge_is_machine_path(s, p.text))
        report(s, RULE_ABSOLUTE_PATH, source_start(s, i), source_close(s, paren), p.text);
}

/* os.remove(), shutil.copy() and their like. */
static void check_function(struct source *s, uint32_t i, enum word word)
{
    const uint32_t paren = i + 1;
    if (word != WORD_CHANGES_SECOND &&
        (check_change(s, i, source_argument(s, paren, 0, "path"), false) ||
         check_change(s, i, source_argument(s, paren, UINT32_MAX, "src"), false)))
        return;
    if (word != WORD_CHANGES_FIRST)
        check_change(s, i, source_argument(s, paren, 1, "dst"), false);
}

/* dir is the third argument of both; what *args and **kwargs hold is not known. */
static void check_tempfile(struct source *s, uint32_t i)
{
    const uint32_t paren = i + 1;
    const struct argument dir = source_argument(s, paren, 2, "dir");
    const bool none = dir.end == dir.begin + 1 && source_is(s, dir.begin, "None");
    char name[16];
    if (source_has_star(s, paren) || (dir.begin < dir.end && !none))
        return;
    snprintf(name, sizeof name, "%.*s", (int)s->lexer->tokens[i].len,
             s->lexer->text + s->lexer->tokens[i].at);
    report(s, RULE_TEMPFILE_DIR, source_start(s, i), source_close(s, paren), name);
}

/* ---- variables of the environment ---- */

static bool is_config_env(const struct source *s, const char *name)
{
    return judge_among(&s->context->config->config_env, name);
}

/* The string, or strings, before `next` set a variable: d["X"] =, {"X": ...}, setenv("X", ...). */
static bool sets(const struct source *s, uint32_t i, uint32_t next)
{
    if (i == 0)
        return false;
    if (source_op(s, i - 1, '['))
        return source_op(s, next, ']') && source_assigns(s, next + 1);
    if (source_op(s, next, ',') && source_op(s, i - 1, ',') && i > 1 &&
        source_is(s, i - 2, "environ"))
        return true; /* setitem(os.environ, "X", ...) */
    if (source_op(s, i - 1, '{') || source_op(s, i - 1, ','))
        return source_op(s, next, ':') && s->lexer->tokens[next + 1].kind != TOKEN_NEWLINE;
    return source_op(s, i - 1, '(') && i > 1 &&
           (source_is(s, i - 2, "setenv") || source_is(s, i - 2, "putenv") ||
            source_is(s, i - 2, "setdefault"));
}

static void check_env_string(struct source *s, uint32_t i)
{
    char name[RULE_SUBJECT_MAX];
    bool whole;
    if (i > 0 && s->lexer->tokens[i - 1].kind == TOKEN_STRING)
        return; /* part of one that was looked at */
    uint32_t next = i;
    while (s->lexer->tokens[next].kind == TOKEN_STRING)
        next++;
    if (!sets(s, i, next)) /* first: few do, and their text costs more */
        return;
    lexer_string(s->lexer, i, name, sizeof name, &whole);
    if (whole && is_config_env(s, name))
        report(s, RULE_CONFIG_ENV, i, next - 1, name);
}

/* dict(os.environ, X=...) */
static void check_env_keyword(struct source *s, uint32_t i)
{
    const struct project_names *names = &s->context->config->config_env;
    if (i == 0 || !source_assigns(s, i + 1) ||
        !(source_op(s, i - 1, '(') || source_op(s, i - 1, ',')))
        return;
    for (size_t k = 0; k < names->count; k++) {
        if (source_is(s, i, names->items[k])) {
            report(s, RULE_CONFIG_ENV, i, i, names->items[k]);
            return;
        }
    }
}

/* ---- all of it ---- */

static bool is_called(const struct source *s, uint32_t i)
{
    return source_op(s, i + 1, '(') && s->lexer->tokens[i + 1].match != 0 &&
           !(i > 0 && (source_is(s, i - 1, "def") || source_is(s, i - 1, "class")));
}

/* A variable: the path that begins with it, or the name of a variable of the environment. */
static void check_variable(struct source *s, uint32_t i, uint32_t behind)
{
    struct path p;
    if (!path_parse(s, i, &p))
        return;
    if (p.built)
        check_path(s, i, &p);
    else if (p.is_str && p.last + 1 == behind && is_config_env(s, p.text) && sets(s, i, behind))
        report(s, RULE_CONFIG_ENV, i, i, p.text);
}

/* A name that no import and no language gave. */
static void check_other(struct source *s, uint32_t i)
{
    check_env_keyword(s, i);
    if (is_called(s, i) && (source_is(s, i, "chdir") || source_is(s, i, "as_cwd") ||
                            source_is(s, i, "isolated_filesystem")))
        bind_directory(s, i);
    if (source_is_attribute(s, i) || s->names->count == 0)
        return;
    const bool self = source_op(s, i + 1, '.') && source_is_name(s, i + 2) &&
                      (source_is(s, i, "self") || source_is(s, i, "cls"));
    const struct binding *b = self ? names_find_attribute(s->names, source_span(s, i + 2), i)
                                   : names_find(s->names, source_span(s, i), i);
    if (b != NULL && b->meaning == MEANS_PATH)
        check_variable(s, i, self ? i + 3 : i + 1);
}

static void check_name(struct source *s, uint32_t i)
{
    struct path p;
    const enum word word = source_word(s, i);
    switch (word) {
    case WORD_NONE:
    case WORD_MODULE_PATH:
    case WORD_CWD:
    case WORD_UP:
        check_other(s, i);
        break;
    case WORD_IMPORT:
        source_import(s, i);
        break;
    case WORD_PATH:
    case WORD_JOIN:
        if (path_parse(s, source_start(s, i), &p))
            check_path(s, source_start(s, i), &p);
        break;
    case WORD_DIRNAME:
    case WORD_SAME_PATH: /* dirname(__file__) + "/x": alone, it is what is within it */
        if (is_called(s, i) && source_op(s, source_close(s, i + 1) + 1, '+') &&
            path_parse(s, source_start(s, i), &p) && p.kind == PATH_FILE)
            check_path(s, source_start(s, i), &p);
        break;
    case WORD_OPEN:
        if (is_called(s, i))
            check_open(s, i);
        break;
    case WORD_TEMPFILE_CALL:
        if (is_called(s, i))
            check_tempfile(s, i);
        break;
    case WORD_CHANGES_FIRST:
    case WORD_CHANGES_SECOND:
    case WORD_CHANGES_BOTH:
        if (is_called(s, i))
            check_function(s, i, word);
        break;
    }
}

void rules_apply(const struct lexer *lexer, const struct rule_context *context,
                 rule_found_fn *found, void *user)
{
    struct names names;
    struct source s = {.lexer = lexer, .context = context, .found = found, .user = user,
                       .names = &names};
    bool fresh = true;
    names_init(&names, lexer->text);
    for (uint32_t i = 0; i < lexer->count; i++) {
        if (fresh)
            bind_line(&s, i);
        fresh = lexer->tokens[i].kind == TOKEN_NEWLINE;
        if (lexer->tokens[i].kind == TOKEN_NAME) {
            check_name(&s, i);
            if (!source_is_attribute(&s, i))
                bind_name(&s, i);
        } else if (lexer->tokens[i].kind == TOKEN_STRING) {
            check_env_string(&s, i);
        }
    }
}
