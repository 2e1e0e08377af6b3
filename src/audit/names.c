#include "audit/names.h"

#include <string.h>

void names_init(struct names *names, const char *text)
{
    names->text = text;
    names->letters = 0;
    names->count = 0;
    names->depth = 1;
    names->scopes[0] = (struct scope){.kind = SCOPE_MODULE};
}

/* ---- scopes ---- */

/* The innermost scope that has names of its own: a block has none. */
static unsigned own_scope(const struct names *names)
{
    unsigned k = names->depth - 1;
    while (names->scopes[k].kind == SCOPE_BLOCK)
        k--;
    return k;
}

void names_line(struct names *names, uint32_t column)
{
    const unsigned before = names->depth;
    while (names->depth > 1 && names->scopes[names->depth - 1].column >= column)
        names->depth--;
    if (names->depth == before)
        return;
    unsigned kept = 0;
    for (unsigned k = 0; k < names->count; k++) {
        if (names->bindings[k].scope >= names->depth)
            continue;
        if (kept != k)
            names->bindings[kept] = names->bindings[k];
        kept++;
    }
    names->count = kept;
}

struct scope *names_enter(struct names *names, enum scope_kind kind, uint32_t column)
{
    if (names->depth == NAMES_SCOPES_MAX)
        return NULL;
    struct scope *scope = &names->scopes[names->depth++];
    *scope = (struct scope){.kind = kind, .column = column};
    return scope;
}

/* ---- bindings ---- */

static bool is_named(const struct names *names, const struct binding *b, struct span name)
{
    return b->len == name.len && memcmp(names->text + b->at, names->text + name.at, name.len) == 0;
}

/* A name of a class is seen in its own body, not in its methods. */
static bool is_seen(const struct names *names, const struct binding *b, unsigned own)
{
    return !b->attribute && (b->scope == own || names->scopes[b->scope].kind != SCOPE_CLASS);
}

const struct binding *names_search(const struct names *names, struct span name, uint32_t i)
{
    const unsigned own = own_scope(names);
    for (unsigned k = names->count; k > 0; k--) {
        const struct binding *b = &names->bindings[k - 1];
        if (b->from <= i && is_named(names, b, name) && is_seen(names, b, own))
            return b;
    }
    return NULL;
}

/* The class around the scope at hand; 0: none. */
static unsigned class_around(const struct names *names)
{
    unsigned k = names->depth - 1;
    while (k > 0 && names->scopes[k].kind != SCOPE_CLASS)
        k--;
    return k;
}

const struct binding *names_find_attribute(const struct names *names, struct span name, uint32_t i)
{
    const unsigned around = class_around(names);
    if (around == 0 || (names->letters & names_letter(names, name)) == 0)
        return NULL;
    for (unsigned k = names->count; k > 0; k--) {
        const struct binding *b = &names->bindings[k - 1];
        if (b->scope == around && b->from <= i && is_named(names, b, name))
            return b;
    }
    return NULL;
}

/*
 * What a statement binds is seen behind it, so the meaning before it is kept too; older ones of the
 * same scope are of no use.
 */
static void drop_older(struct names *names, struct span name, bool attribute, unsigned scope)
{
    unsigned same = 0;
    for (unsigned k = names->count; k > 0; k--) {
        const struct binding *b = &names->bindings[k - 1];
        if (b->scope != scope || b->attribute != attribute || !is_named(names, b, name) ||
            ++same < 2)
            continue;
        names->count--;
        memmove(&names->bindings[k - 1], &names->bindings[k],
                (names->count - (k - 1)) * sizeof names->bindings[0]);
        return;
    }
}

static struct binding *bind(struct names *names, struct span name, bool attribute, uint32_t from,
                            unsigned scope)
{
    drop_older(names, name, attribute, scope);
    if (names->count == NAMES_MAX)
        return NULL;
    struct binding *b = &names->bindings[names->count++];
    b->at = name.at;
    b->len = name.len;
    b->from = from;
    b->scope = (uint8_t)scope;
    b->attribute = attribute;
    b->meaning = MEANS_UNKNOWN;
    names->letters |= names_letter(names, name);
    return b;
}

struct binding *names_bind(struct names *names, struct span name, bool attribute, uint32_t from)
{
    const unsigned scope = attribute ? class_around(names) : own_scope(names);
    return attribute && scope == 0 ? NULL : bind(names, name, attribute, from, scope);
}

void names_forget(struct names *names, struct span name, bool attribute, uint32_t from)
{
    const struct binding *b = attribute ? names_find_attribute(names, name, UINT32_MAX)
                                        : names_find(names, name, UINT32_MAX);
    if (b == NULL || b->meaning == MEANS_UNKNOWN)
        return;
    const ptrdiff_t index = b - names->bindings;
    if (names_bind(names, name, attribute, from) == NULL)
        names->bindings[index].meaning = MEANS_UNKNOWN; /* no room to hide it: nobody sees it now */
}

void names_forget_everywhere(struct names *names, struct span name)
{
    for (unsigned k = 0; k < names->count; k++) {
        if (is_named(names, &names->bindings[k], name))
            names->bindings[k].meaning = MEANS_UNKNOWN;
    }
}

/* ---- where relative paths begin ---- */

void names_move(struct names *names, enum stay stay)
{
    unsigned k = names->depth - 1;
    names->scopes[k].stay = stay;
    while (k > 0 && names->scopes[k].kind != SCOPE_FUNCTION)
        k--;
    const struct scope *f = &names->scopes[k];
    if (k == 0 || stay != STAY_ELSEWHERE)
        return;
    if (f->for_all)
        names->scopes[k - 1].stay = stay;
    if (f->fixture) {
        struct binding *b = bind(names, (struct span){f->name_at, f->name_len}, false, 0, k - 1);
        if (b != NULL)
            b->meaning = MEANS_MOVER;
    }
}

bool names_moved(const struct names *names)
{
    for (unsigned k = names->depth; k > 0; k--) {
        if (names->scopes[k - 1].stay != STAY_UNSAID)
            return names->scopes[k - 1].stay == STAY_ELSEWHERE;
    }
    return false;
}
