/* Finds the rules' shapes in the tokens of one file. */
#include <stdio.h>
#include <string.h>

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

/* ---- names of files ---- */

static bool among(const struct project_names *names, const char *word)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], word) == 0)
            return true;
    }
    return false;
}

static bool is_settings_file(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strchr(name, '/') == NULL && dot != NULL && dot != name &&
           (strcmp(dot, ".toml") == 0 || strcmp(dot, ".ini") == 0);
}

static bool is_artifact(const char *path)
{
    static const char place[] = "tests/artifacts";
    const size_t len = sizeof place - 1;
    return strncmp(path, place, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* A drive of Windows in both styles, or the very place of this project. */
static bool is_machine_path(const struct source *s, const char *path)
{
    const char *root = s->context->root;
    const bool letter = (path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z');
    if (letter && path[1] == ':' && (path[2] == '/' || path[2] == '\\'))
        return true;
    const size_t len = root == NULL ? 0 : strlen(root);
    return len > 1 && strncmp(path, root, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* What is wrong with a path, if anything; RULE_COUNT: nothing. */
static enum audit_rule judge(const struct source *s, const struct path *p)
{
    if (p->kind == PATH_TEXT && is_machine_path(s, p->text))
        return RULE_ABSOLUTE_PATH;
    const char *rest = path_from_root(p, s->context->up);
    if (rest == NULL)
        return RULE_COUNT;
    if (p->kind == PATH_TEXT && is_artifact(rest))
        return RULE_ARTIFACTS_LITERAL;
    if (!p->whole)
        return RULE_COUNT;
    if (among(&s->context->config->protect, rest))
        return p->kind == PATH_FILE ? RULE_ROOT_CONFIG : RULE_PROTECTED_PATH;
    return p->writes && is_settings_file(rest) ? RULE_TOPLEVEL_WRITE : RULE_COUNT;
}

static void check_path(struct source *s, uint32_t i, const struct path *p)
{
    enum audit_rule rule = judge(s, p);
    const char *rest = path_from_root(p, s->context->up);
    if (rule != RULE_COUNT)
        report(s, rule, i, p->last, rule == RULE_ABSOLUTE_PATH ? p->text : rest);
}

/* ---- calls ---- */

static void check_open(struct source *s, uint32_t i)
{
    const uint32_t paren = i + 1;
    struct path p;
    const struct argument first = source_argument(s, paren, 0, "file");
    if (!path_of_strings(s, first.begin, first.end, &p))
        return;
    if (is_machine_path(s, p.text)) {
        report(s, RULE_ABSOLUTE_PATH, i, source_close(s, paren), p.text);
        return;
    }
    const char *rest = path_from_root(&p, s->context->up);
    if (rest == NULL || !p.whole || !source_mode_writes(s, paren, 1))
        return;
    if (among(&s->context->config->protect, rest))
        report(s, RULE_PROTECTED_OPEN, i, source_close(s, paren), rest);
    else if (is_settings_file(rest))
        report(s, RULE_TOPLEVEL_WRITE, i, source_close(s, paren), rest);
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
    return among(&s->context->config->config_env, name);
}

/* The string, or strings, before `next` set a variable: d["X"] =, {"X": ...}, setenv("X", ...). */
static bool sets(const struct source *s, uint32_t i, uint32_t next)
{
    if (i == 0)
        return false;
    if (source_op(s, i - 1, '['))
        return source_op(s, next, ']') && source_assigns(s, next + 1);
    if (source_op(s, i - 1, '{') || source_op(s, i - 1, ','))
        return source_op(s, next, ':');
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
    uint32_t next = lexer_string(s->lexer, i, name, sizeof name, &whole);
    if (whole && is_config_env(s, name) && sets(s, i, next))
        report(s, RULE_CONFIG_ENV, i, next - 1, name);
}

/* dict(os.environ, X=...) */
static void check_env_keyword(struct source *s, uint32_t i)
{
    const struct token *t = &s->lexer->tokens[i];
    char name[RULE_SUBJECT_MAX];
    if (i == 0 || !source_assigns(s, i + 1) || t->len >= sizeof name ||
        !(source_op(s, i - 1, '(') || source_op(s, i - 1, ',')))
        return;
    snprintf(name, sizeof name, "%.*s", (int)t->len, s->lexer->text + t->at);
    if (is_config_env(s, name))
        report(s, RULE_CONFIG_ENV, i, i, name);
}

/* ---- all of it ---- */

static bool is_called(const struct source *s, uint32_t i)
{
    return source_op(s, i + 1, '(') && s->lexer->tokens[i + 1].match != 0 &&
           !(i > 0 && (source_is(s, i - 1, "def") || source_is(s, i - 1, "class")));
}

static void check_name(struct source *s, uint32_t i)
{
    struct path p;
    switch (source_word(s, i)) {
    case WORD_IMPORT:
        source_import(s, i);
        break;
    case WORD_PATH:
    case WORD_JOIN:
        if (path_parse(s, i, &p))
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
    case WORD_NONE:
        check_env_keyword(s, i);
        if (source_op(s, i + 1, '/') && path_parse_variable(s, i, &p))
            check_path(s, i, &p);
        break;
    }
}

void rules_apply(const struct lexer *lexer, const struct rule_context *context,
                 rule_found_fn *found, void *user)
{
    struct source s = {.lexer = lexer, .context = context, .found = found, .user = user};
    for (uint32_t i = 0; i < lexer->count; i++) {
        if (lexer->tokens[i].kind == TOKEN_NAME)
            check_name(&s, i);
        else if (lexer->tokens[i].kind == TOKEN_STRING)
            check_env_string(&s, i);
    }
}
