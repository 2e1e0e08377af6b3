#include "base/glob.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>

static enum glob_kind kind_of(const char *text)
{
    if (strcmp(text, "**") == 0)
        return GLOB_ANY;
    return strpbrk(text, "*?[\\") != NULL ? GLOB_WILD : GLOB_NAME;
}

int glob_compile(struct glob *g, struct arena *arena, const char *pattern)
{
    *g = (struct glob){.pattern = pattern};
    g->parts = arena_array(arena, GLOB_MAX_PARTS, sizeof *g->parts);
    char *rest = arena_strdup(arena, pattern);
    if (g->parts == NULL || rest == NULL)
        return -ENOMEM;
    for (char *text = strtok_r(rest, "/", &rest); text != NULL; text = strtok_r(NULL, "/", &rest)) {
        if (g->count == GLOB_MAX_PARTS)
            return -E2BIG;
        const struct glob_part part = {kind_of(text), text};
        g->wild = g->wild || part.kind != GLOB_NAME;
        g->parts[g->count++] = part;
    }
    return 0;
}

/* ** may also stand for nothing: whoever may be at it may be behind it. The end is not a place. */
static glob_states with_skips(const struct glob *g, glob_states states)
{
    for (unsigned i = 0; i + 1 < g->count; i++) {
        if ((states >> i & 1) != 0 && g->parts[i].kind == GLOB_ANY)
            states |= UINT64_C(1) << (i + 1);
    }
    return states;
}

glob_states glob_begin(const struct glob *g)
{
    return g->count == 0 ? 0 : with_skips(g, 1);
}

static bool matches(const struct glob_part *part, const char *name)
{
    return part->kind == GLOB_NAME ? strcmp(part->text, name) == 0 : fnmatch(part->text, name, 0) == 0;
}

bool glob_step(const struct glob *g, glob_states *states, const char *name)
{
    const unsigned last = g->count - 1;
    glob_states next = 0;
    bool ends = false;
    for (glob_states left = *states; left != 0; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        if (g->parts[i].kind == GLOB_ANY) {
            next |= UINT64_C(1) << i;
            ends = ends || i == last;
        } else if (matches(&g->parts[i], name)) {
            ends = ends || i == last;
            next |= i == last ? 0 : UINT64_C(1) << (i + 1);
        }
    }
    *states = with_skips(g, next);
    return ends;
}

/* The next name of a path; false at its end, and at a name that no file can have, where nothing matches. */
static bool take_name(const char **path, char name[static NAME_MAX + 1], glob_states *states)
{
    *path += strspn(*path, "/");
    const size_t len = strcspn(*path, "/");
    if (len > NAME_MAX)
        *states = 0;
    if (len == 0 || len > NAME_MAX)
        return false;
    memcpy(name, *path, len);
    name[len] = '\0';
    *path += len;
    return true;
}

bool glob_follow(const struct glob *g, glob_states *states, const char *path)
{
    char name[NAME_MAX + 1];
    while (take_name(&path, name, states)) {
        if (glob_step(g, states, name))
            return true;
    }
    return false;
}

bool glob_enter(const struct glob *g, glob_states *states, const char *path)
{
    char name[NAME_MAX + 1];
    bool ended = false;
    while (take_name(&path, name, states))
        ended = glob_step(g, states, name);
    return ended && *path == '\0';
}

bool glob_must_list(const struct glob *g, glob_states states)
{
    for (glob_states left = states; left != 0; left &= left - 1) {
        if (g->parts[__builtin_ctzll(left)].kind != GLOB_NAME)
            return true;
    }
    return false;
}
