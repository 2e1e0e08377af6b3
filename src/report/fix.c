#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define NAME_MAX_SHOWN 120

/* Nobody is advised to open one: its hooks would run outside. */
static bool is_of_a_repository(const char *relative)
{
    return strncmp(relative, ".git/", 5) == 0 || strstr(relative, "/.git/") != NULL;
}

/* The directory that would have to be writable, from the root; the root itself can never be. */
static void put_place(const char *relative, char *out, size_t size)
{
    char place[NAME_MAX_SHOWN * 4 + 1];
    const char *slash = strrchr(relative, '/');
    const size_t len = slash == NULL ? 0 : (size_t)(slash - relative);
    text_escape(place, sizeof place, relative, len < NAME_MAX_SHOWN ? len : NAME_MAX_SHOWN);
    if (is_of_a_repository(relative))
        snprintf(out, size, ", for example in a clone that the test makes there");
    else if (len == 0)
        snprintf(out, size, ", or in a directory that \"writable\" in cordon.json names; "
                            "what a tool makes: its name in \"caches\"");
    else
        snprintf(out, size, ", or add \"%s\" to \"writable\" in cordon.json", place);
}

void report_fix(const struct report *report, const char *path, char *out, size_t size)
{
    const size_t root = strcmp(report->root, "/") == 0 ? 0 : strlen(report->root);
    const bool inside = strncmp(path, report->root, root) == 0 && path[root] == '/' && path[root + 1] != '\0';
    char writable[NAME_MAX_SHOWN * 4 + 1];
    const size_t len = strlen(report->writable);
    text_escape(writable, sizeof writable, report->writable, len < NAME_MAX_SHOWN ? len : NAME_MAX_SHOWN);
    int n = snprintf(out, size, "write under %s/ (pytest: tmp_path; else $TMPDIR or %s/artifacts/)",
                     writable, writable);
    if (n < 0 || (size_t)n >= size)
        return;
    out += n;
    size -= (size_t)n;
    if (inside)
        put_place(path + root + 1, out, size);
    else
        snprintf(out, size, ", or allow its directory with --rw DIR");
}
