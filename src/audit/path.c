#include "audit/path.h"

#include <string.h>

/* Adds a component; an absolute one begins anew, as in Python. */
static void append(struct path *p, const char *text, bool whole)
{
    size_t len = strlen(p->text);
    const size_t more = strlen(text);
    if (!p->whole)
        return;
    if (text[0] == '/') {
        p->kind = PATH_TEXT;
        len = 0;
    }
    if (len + more + 2 > sizeof p->text) {
        p->whole = false;
        return;
    }
    if (len > 0 && p->text[len - 1] != '/')
        p->text[len++] = '/';
    memcpy(p->text + len, text, more + 1);
    p->whole = whole;
}

/* Adds the strings at `*i`, and moves behind them. */
static bool append_strings(const struct source *s, uint32_t *i, struct path *p)
{
    char text[PATH_TEXT_MAX];
    bool whole;
    if (s->lexer->tokens[*i].kind != TOKEN_STRING)
        return false;
    *i = lexer_string(s->lexer, *i, text, sizeof text, &whole);
    append(p, text, whole);
    return true;
}

bool path_of_strings(const struct source *s, uint32_t begin, uint32_t end, struct path *out)
{
    *out = (struct path){.whole = true};
    return begin < end && append_strings(s, &begin, out) && begin == end;
}

/* ---- where it begins ---- */

/* abspath(dirname(__file__)) and the like, from `i` to `end`: counts the dirnames. */
static bool parse_file(const struct source *s, uint32_t i, uint32_t end, struct path *p)
{
    unsigned up = 0;
    while (i < end && !source_is(s, i, "__file__")) {
        while (source_op(s, i + 1, '.'))
            i += 2;
        if (source_is(s, i, "dirname"))
            up++;
        else if (!source_is(s, i, "abspath") && !source_is(s, i, "realpath") &&
                 !source_is(s, i, "str") && !source_is(s, i, "fspath"))
            return false;
        if (!source_op(s, i + 1, '(') || source_close(s, i + 1) != end - 1)
            return false;
        i += 2;
        end--;
    }
    *p = (struct path){.kind = PATH_FILE, .up = up, .whole = true};
    return i < end && i + 1 == end;
}

#define ARGUMENTS_MAX 64 /* of Path(), join() and joinpath() */

/* The arguments from `first` on; one that is no string leaves the end unknown. */
static void append_arguments(const struct source *s, uint32_t paren, unsigned first, struct path *p)
{
    for (unsigned n = first; p->whole; n++) {
        const struct argument a = source_argument(s, paren, n, NULL);
        uint32_t i = a.begin;
        if (a.begin == a.end)
            return;
        if (n == ARGUMENTS_MAX || !append_strings(s, &i, p) || i != a.end)
            p->whole = false;
    }
}

/* The arguments of Path() or join(): where it begins, then strings. */
static bool parse_arguments(const struct source *s, uint32_t paren, struct path *p)
{
    const struct argument a = source_argument(s, paren, 0, NULL);
    if (a.begin == a.end) {
        *p = (struct path){.whole = true};
        return source_close(s, paren) == paren + 1;
    }
    if (!path_of_strings(s, a.begin, a.end, p) && !parse_file(s, a.begin, a.end, p))
        return false;
    append_arguments(s, paren, 1, p);
    return true;
}

/* ---- what follows ---- */

static bool changes_file(const struct source *s, uint32_t i)
{
    static const char *const methods[] = {"write_text", "write_bytes", "unlink", "touch",
                                          "rename",     "replace",     "chmod",  "symlink_to"};
    for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++) {
        if (source_is(s, i, methods[k]))
            return true;
    }
    return source_is(s, i, "open") && source_mode_writes(s, i + 1, 0);
}

static unsigned index_of(const struct source *s, uint32_t i)
{
    const struct token *t = &s->lexer->tokens[i];
    return t->kind == TOKEN_NUMBER && t->len == 1 ? (unsigned)(s->lexer->text[t->at] - '0') : 0;
}

/* A plain .parent takes the last component away, or goes up from __file__. */
static void go_up(struct path *p)
{
    if (p->kind == PATH_FILE && p->text[0] == '\0')
        p->up++;
    else
        append(p, "..", true);
}

/* The method or attribute at `i`, behind its dot; the token behind it, or 0 if the path ends. */
static uint32_t follow_attribute(const struct source *s, uint32_t i, struct path *p)
{
    const bool call = source_op(s, i + 1, '(') && source_close(s, i + 1) != 0;
    if (source_is(s, i, "parent")) {
        go_up(p);
        return i + 1;
    }
    if (source_is(s, i, "parents") && source_op(s, i + 1, '[') && source_close(s, i + 1) == i + 3) {
        for (unsigned n = index_of(s, i + 2) + 1; n > 0; n--)
            go_up(p);
        return i + 4;
    }
    if (!call)
        return 0;
    const uint32_t behind = source_close(s, i + 1) + 1;
    if (source_is(s, i, "resolve") || source_is(s, i, "absolute"))
        return behind;
    if (source_is(s, i, "joinpath")) {
        append_arguments(s, i + 1, 0, p);
        return behind;
    }
    p->writes = changes_file(s, i);
    p->last = p->writes ? behind - 1 : p->last;
    return 0;
}

/* `/ "text"`; the token behind it, or 0. */
static uint32_t follow_slash(const struct source *s, uint32_t i, struct path *p)
{
    uint32_t next = i;
    char text[PATH_TEXT_MAX];
    bool whole;
    if (s->lexer->tokens[i].kind == TOKEN_STRING) {
        next = lexer_string(s->lexer, i, text, sizeof text, &whole);
        if (!source_op(s, next, '.') && !source_op(s, next, '[')) {
            append(p, text, whole);
            return next;
        }
    }
    p->whole = false;
    return 0;
}

/* From the token behind the beginning; `start` is where the whole expression begins. */
static void follow(const struct source *s, uint32_t start, uint32_t i, struct path *p)
{
    p->last = i - 1;
    while (i != 0) {
        p->last = i - 1;
        if (source_op(s, i, '.')) {
            i = follow_attribute(s, i + 1, p);
        } else if (source_op(s, i, '/')) {
            i = follow_slash(s, i + 1, p);
        } else if (source_op(s, i, ')') && start > 0 && source_close(s, i) == start - 1 &&
                   source_op(s, start - 1, '(') &&
                   !(start > 1 && s->lexer->tokens[start - 2].kind == TOKEN_NAME)) {
            start--; /* (Path(...) / "x").write_text(...) */
            i++;
        } else {
            i = 0;
        }
    }
}

/* NAME = <the path>: later `NAME / "x"` is understood. */
static void remember(struct source *s, uint32_t start, const struct path *p)
{
    const bool place = p->whole && (p->text[0] == '\0' || strcmp(p->text, ".") == 0);
    if (!place || start < 2 || !source_op(s, start - 1, '=') ||
        s->lexer->tokens[start - 2].kind != TOKEN_NAME ||
        s->lexer->tokens[p->last + 1].kind != TOKEN_NEWLINE ||
        s->variable_count == SOURCE_ALIASES_MAX)
        return;
    const struct token *t = &s->lexer->tokens[start - 2];
    s->variables[s->variable_count++] = (struct source_variable){t->at, t->len, p->kind, p->up};
}

bool path_parse(struct source *s, uint32_t i, struct path *out)
{
    const uint32_t start = source_start(s, i);
    uint32_t paren = i + 1;
    const bool cwd = source_op(s, i + 1, '.') && source_is(s, i + 2, "cwd");
    if (cwd)
        paren = i + 3;
    if (!source_op(s, paren, '(') || source_close(s, paren) == 0 || !parse_arguments(s, paren, out))
        return false;
    follow(s, start, source_close(s, paren) + 1, out);
    remember(s, start, out);
    return true;
}

bool path_parse_variable(struct source *s, uint32_t i, struct path *out)
{
    const struct token *t = &s->lexer->tokens[i];
    if (i > 0 && source_op(s, i - 1, '.'))
        return false;
    for (unsigned k = s->variable_count; k > 0; k--) {
        const struct source_variable *v = &s->variables[k - 1];
        if (v->len == t->len && memcmp(s->lexer->text + v->at, s->lexer->text + t->at, t->len) == 0) {
            *out = (struct path){.kind = v->kind, .up = v->up, .whole = true};
            follow(s, i, i + 1, out);
            return true;
        }
    }
    return false;
}

const char *path_from_root(const struct path *p, unsigned up)
{
    const char *text = p->text;
    unsigned climbed = p->up;
    if (text[0] == '/')
        return NULL;
    for (;;) {
        if (strncmp(text, "./", 2) == 0) {
            text += 2;
        } else if (strncmp(text, "../", 3) == 0) {
            text += 3;
            climbed++;
        } else if (text[0] == '/') {
            text++;
        } else {
            break;
        }
    }
    return p->kind == PATH_FILE && climbed < up ? NULL : text;
}
