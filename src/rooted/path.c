#include "rooted/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Collapses slashes, "." and "..", which stops at the top. The length, or -ENAMETOOLONG. */
static int normalise(const char *p, char *out, size_t size)
{
    size_t n = 0;
    for (;;) {
        while (*p == '/')
            p++;
        if (*p == '\0')
            break;
        size_t len = 1; /* names are short: a call of strcspn() costs more */
        while (p[len] != '/' && p[len] != '\0')
            len++;
        if (len == 2 && p[0] == '.' && p[1] == '.') {
            while (n > 0 && out[n - 1] != '/')
                n--;
            n -= n > 0;
        } else if (len != 1 || p[0] != '.') {
            if (n + 1 + len + 1 > size)
                return -ENAMETOOLONG;
            if (n > 0)
                out[n++] = '/';
            memcpy(out + n, p, len);
            n += len;
        }
        p += len;
    }
    out[n] = '\0';
    return (int)n;
}

const char *path_under(const char *path, const char *alias)
{
    size_t len = strlen(alias);
    while (len > 0 && alias[len - 1] == '/')
        len--;
    if (strncmp(path, alias, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return NULL;
    path += len;
    return path + strspn(path, "/");
}

/* Keeps what follows the alias, if there is such an alias above the name. */
static bool strip(struct path_mapped *m, const char *alias, enum path_base base)
{
    const char *rest = path_under(m->name, alias + 1); /* the name has lost its first slash */
    if (rest == NULL)
        return false;
    m->len -= (size_t)(rest - m->name);
    memmove(m->name, rest, m->len + 1);
    m->base = base;
    m->prefix = alias;
    return true;
}

int path_map(const struct path_rules *rules, const char *request, struct path_mapped *out)
{
    int len = normalise(request, out->name, sizeof out->name);
    if (len < 0)
        return len;
    out->len = (size_t)len;
    out->relative = request[0] != '/';
    out->base = PATH_HOME;
    out->prefix = "";
    if (out->relative)
        return 0;
    for (size_t i = 0; i < rules->home_alias_count; i++) {
        if (strip(out, rules->home_aliases[i], PATH_HOME))
            return 0;
    }
    if (strip(out, rules->scratch_alias, PATH_SCRATCH))
        return 0;
    out->base = rules->has_rootfs ? PATH_ROOTFS : PATH_HOME;
    return 0;
}

size_t path_absolute(char *out, size_t size, const char *request)
{
    char name[PATH_MAX];
    if (normalise(request, name, sizeof name) < 0)
        return (size_t)snprintf(out, size, "%s", request);
    return (size_t)snprintf(out, size, "/%s", name);
}

size_t path_display(char *out, size_t size, const struct path_rules *rules, enum path_base base,
                    const char *name)
{
    if (base == PATH_HOME)
        return (size_t)snprintf(out, size, "%s", name);
    if (base == PATH_ROOTFS)
        return (size_t)snprintf(out, size, "/%s", name);
    return (size_t)snprintf(out, size, "%s%s%s", rules->scratch_alias, *name != '\0' ? "/" : "",
                            name);
}

size_t path_in_style(char *out, size_t size, const struct path_rules *rules,
                     const struct path_mapped *mapped, const char *name)
{
    if (mapped->base == PATH_HOME && !mapped->relative)
        return (size_t)snprintf(out, size, "%s%s%s", mapped->prefix,
                                *name != '\0' || mapped->prefix[0] == '\0' ? "/" : "", name);
    return path_display(out, size, rules, mapped->base, name);
}

size_t path_relative(char *out, size_t size, const char *from, const char *to)
{
    size_t common = 0; /* bytes of whole components that both share, with their slash */
    for (size_t i = 0;; i++) {
        bool from_ends = from[i] == '/' || from[i] == '\0';
        bool to_ends = to[i] == '/' || to[i] == '\0';
        if (from_ends && to_ends && i > 0)
            common = i + (from[i] == '/' && to[i] == '/');
        if (from[i] != to[i] || from[i] == '\0')
            break;
    }
    size_t n = 0;
    if (size > 0)
        out[0] = '\0';
    const char *rest = from + common;
    while (*rest == '/')
        rest++;
    while (*rest != '\0') {
        n += (size_t)snprintf(n < size ? out + n : NULL, n < size ? size - n : 0, "../");
        rest += strcspn(rest, "/");
        rest += strspn(rest, "/");
    }
    const char *down = to + common;
    while (*down == '/')
        down++;
    n += (size_t)snprintf(n < size ? out + n : NULL, n < size ? size - n : 0, "%s", down);
    if (n > 1 && *down == '\0' && n < size)
        out[--n] = '\0'; /* "../" reads better, and works everywhere, as ".." */
    if (n == 0)
        n = (size_t)snprintf(out, size, ".");
    return n;
}

const char *path_split(const char *name, size_t *parent_len)
{
    const char *slash = strrchr(name, '/');
    *parent_len = slash == NULL ? 0 : (size_t)(slash - name);
    return slash == NULL ? name : slash + 1;
}
