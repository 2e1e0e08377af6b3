#include "audit/path.h"

#include <string.h>

/* ---- text ---- */

/* Takes the last component away; what cannot be taken away gets a "..". */
static void pop(struct path *p, size_t *len)
{
    size_t start = *len;
    while (start > 0 && p->text[start - 1] != '/')
        start--;
    const bool climbs = *len - start == 2 && memcmp(p->text + start, "..", 2) == 0;
    if (*len > start && !climbs) {
        *len = start > 1 ? start - 1 : start;
        return;
    }
    if (*len + 4 > sizeof p->text) {
        p->whole = false;
        return;
    }
    if (*len > 0 && p->text[*len - 1] != '/')
        p->text[(*len)++] = '/';
    memcpy(p->text + *len, "..", 2);
    *len += 2;
}

static void push(struct path *p, size_t *len, const char *part, size_t more)
{
    if (*len + more + 2 > sizeof p->text) {
        p->whole = false;
        return;
    }
    if (*len > 0 && p->text[*len - 1] != '/')
        p->text[(*len)++] = '/';
    memcpy(p->text + *len, part, more);
    *len += more;
}

/* Adds components; an absolute text begins anew, as in Python. */
static void append(struct path *p, const char *text, bool whole)
{
    if (!p->whole)
        return;
    size_t len = strlen(p->text);
    if (text[0] == '/') {
        p->kind = PATH_TEXT;
        p->text[0] = '/';
        len = 1;
    }
    while (*text != '\0' && p->whole) {
        const size_t part = strcspn(text, "/");
        if (part == 2 && memcmp(text, "..", 2) == 0)
            pop(p, &len);
        else if (part > 0 && !(part == 1 && text[0] == '.'))
            push(p, &len, text, part);
        text += part;
        text += strspn(text, "/");
    }
    p->text[len] = '\0';
    p->whole = p->whole && whole;
}

/* A plain .parent takes the last component away, or goes up from __file__. */
static void go_up(struct path *p)
{
    if (p->kind == PATH_FILE && p->text[0] == '\0')
        p->up++;
    else
        append(p, "..", true);
}

/* Python's + of two strings: "config" + ".toml", dirname(__file__) + "/x". */
static void concatenate(struct path *p, const char *text, bool whole)
{
    char joined[PATH_TEXT_MAX];
    const size_t len = strlen(p->text), more = strlen(text);
    const bool slash = text[0] == '/';
    if (!p->whole || len + more + 1 > sizeof joined ||
        (p->kind == PATH_FILE && len == 0 && !slash)) {
        p->whole = false;
        return;
    }
    memcpy(joined, p->text, len);
    memcpy(joined + len, text, more + 1);
    p->text[0] = '\0';
    append(p, p->kind == PATH_FILE ? joined + strspn(joined, "/") : joined, whole);
}

/* ---- where it begins ---- */

static void load(const struct value *v, struct path *p)
{
    *p = (struct path){.kind = v->kind, .up = v->up, .whole = v->whole, .is_str = v->is_str,
                       .told = v->told};
    memcpy(p->text, v->text, sizeof v->text);
}

void path_store(const struct path *p, struct value *out)
{
    const size_t len = strnlen(p->text, sizeof out->text - 1);
    out->kind = p->kind;
    out->up = p->up;
    out->whole = p->whole && p->text[len] == '\0';
    out->is_str = p->is_str;
    memcpy(out->text, p->text, len);
    out->text[len] = '\0';
}

/* The variable in front of an f-string, f"{ROOT}/x"; how many bytes to go on behind. */
static uint32_t field_variable(const struct source *s, uint32_t i, struct path *p)
{
    const struct token *t = &s->lexer->tokens[i];
    const char *text = s->lexer->text + t->at, *end = text + t->len;
    const char *brace = text + t->prefix + t->quotes;
    if (t->prefix == 0 || brace >= end || *brace != '{' || memchr("fF", text[0], 2) == NULL)
        return 0;
    const char *close = memchr(brace, '}', (size_t)(end - brace));
    if (close == NULL || close == brace + 1)
        return 0;
    const struct span name = {t->at + (uint32_t)(brace + 1 - text), (uint32_t)(close - brace - 1)};
    const struct binding *b = names_find(s->names, name, i);
    if (b == NULL || b->meaning != MEANS_PATH)
        return 0;
    load(&b->value, p);
    return (uint32_t)(close + 1 - brace);
}

/* The strings at `i`; the token behind them. */
static uint32_t parse_strings(const struct source *s, uint32_t i, struct path *p)
{
    char text[PATH_TEXT_MAX];
    bool whole;
    const uint32_t skip = field_variable(s, i, p);
    const uint32_t next = lexer_string_from(s->lexer, i, skip, text, sizeof text, &whole);
    if (skip == 0)
        append(p, text, whole);
    else
        concatenate(p, text, whole);
    p->is_str = true;
    p->built = false;
    return next;
}

static bool parse(const struct source *s, uint32_t i, unsigned depth, struct path *p);

static bool parse_argument(const struct source *s, struct argument a, unsigned depth,
                           struct path *p)
{
    return a.begin < a.end && parse(s, a.begin, depth, p) && p->last + 1 == a.end && !p->writes;
}

/* Another path behind this one: an absolute one begins anew. */
static void append_path(struct path *p, const struct path *more)
{
    if (more->kind == PATH_FILE)
        *p = *more;
    else
        append(p, more->text, more->whole);
}

/* The arguments in brackets; one that is not understood leaves the end unknown. */
static bool append_arguments(const struct source *s, uint32_t paren, unsigned depth, bool fresh,
                             struct path *p)
{
    const uint32_t close = source_close(s, paren);
    unsigned n = 0;
    for (uint32_t i = paren + 1; i < close && p->whole; n++) {
        const uint32_t end = source_argument_end(s, i, close);
        struct path more;
        if (!parse_argument(s, (struct argument){i, end}, depth, &more)) {
            p->whole = false;
            return !fresh || n > 0;
        }
        if (fresh && n == 0)
            *p = more;
        else
            append_path(p, &more);
        i = end + 1;
    }
    return true;
}

/* The call of a word at `i`; the token behind it, or 0. */
static uint32_t parse_call(const struct source *s, uint32_t i, enum word word, unsigned depth,
                           struct path *p)
{
    uint32_t paren = i + 1;
    if (word == WORD_UP) {
        append(p, "..", true);
        p->is_str = true;
        return i + 1;
    }
    if (word == WORD_PATH && source_op(s, i + 1, '.') && source_is(s, i + 2, "cwd"))
        paren = i + 3;
    if (!source_op(s, paren, '(') || source_close(s, paren) == 0 || depth == PATH_DEPTH_MAX)
        return 0;
    const uint32_t behind = source_close(s, paren) + 1;
    switch (word) {
    case WORD_CWD:
        p->is_str = true;
        return behind;
    case WORD_PATH:
    case WORD_JOIN:
        if (!append_arguments(s, paren, depth + 1, true, p))
            return 0;
        p->built = true;
        p->is_str = word == WORD_JOIN;
        return behind;
    case WORD_DIRNAME:
    case WORD_SAME_PATH:
        if (!parse_argument(s, source_argument(s, paren, 0, NULL), depth + 1, p))
            return 0;
        if (word == WORD_DIRNAME)
            go_up(p);
        p->is_str = true;
        return behind;
    default:
        return 0;
    }
}

static uint32_t parse_variable(const struct binding *b, uint32_t behind, struct path *p)
{
    if (b == NULL || b->meaning != MEANS_PATH)
        return 0;
    load(&b->value, p);
    return behind;
}

#define DOTS_MAX 4 /* in front of a word */

/* A string, a variable, __file__, or a call; the token behind it, or 0. */
static uint32_t parse_primary(const struct source *s, uint32_t i, unsigned depth, struct path *p)
{
    *p = (struct path){.whole = true, .told = RULE_COUNT};
    if (s->lexer->tokens[i].kind == TOKEN_STRING)
        return parse_strings(s, i, p);
    if (!source_is_name(s, i))
        return 0;
    if (source_is(s, i, "__file__")) {
        p->kind = PATH_FILE;
        p->is_str = true;
        return i + 1;
    }
    if ((source_is(s, i, "self") || source_is(s, i, "cls")) && source_op(s, i + 1, '.') &&
        source_is_name(s, i + 2))
        return parse_variable(names_find_attribute(s->names, source_span(s, i + 2), i), i + 3, p);
    const struct binding *b = names_find(s->names, source_span(s, i), i);
    if (b != NULL && b->meaning == MEANS_PATH)
        return parse_variable(b, i + 1, p);
    for (unsigned n = 0; n < DOTS_MAX; n++, i += 2) {
        const enum word word = source_word(s, i);
        if (word != WORD_NONE && word != WORD_MODULE_PATH)
            return parse_call(s, i, word, depth, p);
        if (!source_op(s, i + 1, '.') || !source_is_name(s, i + 2))
            return 0;
    }
    return 0;
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

/* .parents[N] at `i`; the token behind it, or 0. */
static uint32_t follow_parents(const struct source *s, uint32_t i, struct path *p)
{
    const struct token *t = &s->lexer->tokens[i + 2 < s->lexer->count ? i + 2 : i];
    if (!source_op(s, i + 1, '[') || source_close(s, i + 1) != i + 3 || t->kind != TOKEN_NUMBER ||
        t->len != 1) {
        p->whole = false;
        return 0;
    }
    for (int n = s->lexer->text[t->at] - '0'; n >= 0; n--)
        go_up(p);
    return i + 4;
}

/* The method or attribute at `i`, behind its dot; the token behind it, or 0 if the path ends. */
static uint32_t follow_attribute(const struct source *s, uint32_t i, unsigned depth, struct path *p)
{
    const bool call = source_op(s, i + 1, '(') && source_close(s, i + 1) != 0;
    if (p->is_str)
        return 0;
    if (source_is(s, i, "parent")) {
        go_up(p);
        return i + 1;
    }
    if (source_is(s, i, "parents"))
        return follow_parents(s, i, p);
    if (!call)
        return 0;
    const uint32_t behind = source_close(s, i + 1) + 1;
    if (source_is(s, i, "resolve") || source_is(s, i, "absolute"))
        return behind;
    if (source_is(s, i, "joinpath") && depth < PATH_DEPTH_MAX) {
        append_arguments(s, i + 1, depth + 1, false, p);
        return behind;
    }
    p->writes = changes_file(s, i);
    p->last = p->writes ? behind - 1 : p->last;
    return 0;
}

/* What stands behind `/` or `+`; the token behind it, or 0. */
static uint32_t follow_operand(const struct source *s, uint32_t i, unsigned depth, struct path *p)
{
    struct path more;
    const char op = s->lexer->tokens[i - 1].op;
    const uint32_t next = depth < PATH_DEPTH_MAX ? parse_primary(s, i, depth + 1, &more) : 0;
    if (next == 0 || source_op(s, next, '.') || source_op(s, next, '[') ||
        source_op(s, next, '(') || (op == '+' && more.kind == PATH_FILE)) {
        p->whole = false;
        return 0;
    }
    if (op == '+')
        concatenate(p, more.text, more.whole);
    else
        append_path(p, &more);
    return next;
}

/* `(` at `i` is no call and no index: nothing is before it, or a word of the language. */
static bool groups(const struct source *s, uint32_t i)
{
    static const char *const words[] = {"return", "with", "assert", "in",    "not", "and",
                                        "or",     "if",   "elif",   "else",  "as",  "while",
                                        "is",     "del",  "yield",  "await"};
    if (i == 0 || source_op(s, i - 1, ')') || source_op(s, i - 1, ']'))
        return i == 0;
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        if (source_is(s, i - 1, words[k]))
            return true;
    }
    return !source_is_name(s, i - 1) && s->lexer->tokens[i - 1].kind != TOKEN_STRING;
}

/* An operand of a longer chain: what follows belongs to its beginning. */
static bool is_operand(const struct source *s, uint32_t i)
{
    return i > 0 && (source_op(s, i - 1, '/') || source_op(s, i - 1, '+'));
}

/* From the token behind the beginning; `start` is where the whole expression begins. */
static void follow(const struct source *s, uint32_t start, uint32_t i, unsigned depth,
                   struct path *p)
{
    while (i != 0) {
        p->last = i - 1;
        if (source_op(s, i, '.')) {
            p->built = p->built || !p->is_str;
            i = follow_attribute(s, i + 1, depth, p);
        } else if (!is_operand(s, start) &&
                   ((source_op(s, i, '/') && !p->is_str) || (source_op(s, i, '+') && p->is_str))) {
            p->built = p->built || !p->is_str || p->kind == PATH_FILE;
            i = follow_operand(s, i + 1, depth, p);
        } else if (source_op(s, i, ')') && start > 0 && source_close(s, i) == start - 1 &&
                   source_op(s, start - 1, '(') && groups(s, start - 1)) {
            start--; /* (Path(...) / "x").write_text(...) */
            i++;
        } else {
            i = 0;
        }
    }
}

#define GROUPS_MAX 16

static bool parse(const struct source *s, uint32_t i, unsigned depth, struct path *p)
{
    for (unsigned n = 0; n < GROUPS_MAX && source_op(s, i, '(') && source_close(s, i) != 0; n++)
        i++;
    const uint32_t next = parse_primary(s, i, depth, p);
    if (next == 0)
        return false;
    follow(s, i, next, depth, p);
    return true;
}

bool path_parse(const struct source *s, uint32_t i, struct path *out)
{
    return parse(s, i, 0, out);
}

bool path_of_argument(const struct source *s, struct argument a, struct path *out)
{
    return parse_argument(s, a, 0, out);
}

const char *path_from_root(const struct path *p, unsigned up)
{
    const char *text = p->text;
    unsigned climbed = p->up;
    if (text[0] == '/')
        return NULL;
    while (strncmp(text, "../", 3) == 0 || strcmp(text, "..") == 0) {
        text += text[2] == '/' ? 3 : 2;
        climbed++;
    }
    return p->kind == PATH_FILE && climbed < up ? NULL : text;
}
