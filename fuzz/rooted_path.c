/* Path mapping: whatever is asked for, the name it maps to is plain and stays where it is. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "rooted/path.h"

static const char *const aliases[] = {"/root", "/home/user"};

/* "a/b": no empty component, no dots, no slash at either end. */
static void promise_plain(const struct path_mapped *m)
{
    PROMISE(strlen(m->name) == m->len);
    for (const char *p = m->name; *p != '\0';) {
        size_t len = strcspn(p, "/");
        PROMISE(len > 0);
        PROMISE(!(len == 1 && p[0] == '.'));
        PROMISE(!(len == 2 && p[0] == '.' && p[1] == '.'));
        PROMISE(p[len] == '\0' || p[len + 1] != '\0');
        p += len + (p[len] == '/');
    }
}

/* A link in directory `from` with the text leads to `to`. */
static void promise_leads(const char *from, const char *to)
{
    const struct path_rules plain = {.scratch_alias = "/scratch"};
    char text[3 * PATH_MAX];
    static char joined[4 * PATH_MAX];
    static struct path_mapped back;
    PROMISE(path_relative(text, sizeof text, from, to) < sizeof text);
    memcpy(joined, from, strlen(from));
    joined[strlen(from)] = '/';
    strcpy(joined + strlen(from) + 1, text);
    const char *relative = joined + strspn(joined, "/");
    if (path_map(&plain, relative, &back) == 0)
        PROMISE(strcmp(back.name, to) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct path_rules rules = {.home_aliases = aliases,
                                     .home_alias_count = 2,
                                     .scratch_alias = "/scratch",
                                     .has_rootfs = (data[0] & 1) != 0};
    static struct path_mapped m;
    static struct path_mapped again;
    char *request = malloc(size);
    if (request == NULL)
        return 0;
    memcpy(request, data + 1, size - 1);
    request[size - 1] = '\0';
    if (path_map(&rules, request, &m) == 0) {
        promise_plain(&m);
        char shown[PATH_MAX + 64];
        PROMISE(path_display(shown, sizeof shown, &rules, m.base, m.name) < sizeof shown);
        /* What is shown names the same thing. */
        if (path_map(&rules, shown, &again) == 0 && m.base != PATH_ROOTFS)
            PROMISE(again.base == m.base && strcmp(again.name, m.name) == 0);
        path_in_style(shown, sizeof shown, &rules, &m, m.name);
        if (m.len < 1000) {
            promise_leads("", m.name);
            promise_leads("x/y", m.name);
            promise_leads(m.name, "x/z");
            promise_leads(m.name, m.name);
        }
    }
    free(request);
    return 0;
}
