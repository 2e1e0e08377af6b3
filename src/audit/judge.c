#include "audit/judge.h"

#include <string.h>

bool judge_among(const struct project_names *names, const char *word)
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

bool judge_is_machine_path(const struct source *s, const char *path)
{
    const char *root = s->context->root;
    const bool letter = (path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z');
    if (letter && path[1] == ':' && (path[2] == '/' || path[2] == '\\'))
        return true;
    const size_t len = root == NULL ? 0 : strlen(root);
    return len > 1 && strncmp(path, root, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

enum audit_rule judge_path(const struct source *s, const struct path *p, bool changes)
{
    if (p->kind == PATH_TEXT && judge_is_machine_path(s, p->text))
        return RULE_ABSOLUTE_PATH;
    const char *rest = path_from_root(p, s->context->up);
    if (rest == NULL || (p->kind == PATH_TEXT && names_moved(s->names)))
        return RULE_COUNT;
    if (p->kind == PATH_TEXT && is_artifact(rest))
        return RULE_ARTIFACTS_LITERAL;
    if (!p->whole)
        return RULE_COUNT;
    if (judge_among(&s->context->config->protect, rest))
        return p->kind == PATH_FILE ? RULE_ROOT_CONFIG : RULE_PROTECTED_PATH;
    return changes && is_settings_file(rest) ? RULE_TOPLEVEL_WRITE : RULE_COUNT;
}

bool judge_matters(const struct source *s, const struct path *p)
{
    struct path above = *p;
    above.up += s->context->up; /* text that has yet to be put behind the root */
    const char *rest = path_from_root(&above, s->context->up);
    return judge_path(s, p, true) != RULE_COUNT ||
           (p->whole && rest != NULL &&
            (rest[0] == '\0' || strcmp(rest, "tests") == 0 ||
             judge_among(&s->context->config->config_env, rest)));
}
