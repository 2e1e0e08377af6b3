#include "tools/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"
#define NAMES_MAX 2

/* Debian has another fd, and calls this one fdfind. */
static const char *const programs[TOOL_COUNT][NAMES_MAX] = {
    [TOOL_FIND] = {"find"}, [TOOL_FD] = {"fdfind", "fd"}, [TOOL_RIPGREP] = {"rg"},
    [TOOL_DUST] = {"dust"}, [TOOL_OUCH] = {"ouch"},       [TOOL_RUSTIC] = {"rustic"},
};

static const char *const names[TOOL_COUNT] = {
    [TOOL_FIND] = "find", [TOOL_FD] = "fd",     [TOOL_RIPGREP] = "ripgrep",
    [TOOL_DUST] = "dust", [TOOL_OUCH] = "ouch", [TOOL_RUSTIC] = "rustic",
};

const char *tool_name(enum tool tool)
{
    return names[tool];
}

int tool_parse(const char *name)
{
    for (int i = 0; i < TOOL_COUNT; i++) {
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    return -1;
}

/* An entry that is not absolute would mean a directory of whoever is served. */
static int look_along(const char *path, const char *name, char out[PATH_MAX])
{
    for (const char *p = path; *p != '\0'; p += *p == ':') {
        char candidate[PATH_MAX];
        const size_t len = strcspn(p, ":");
        const int n = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)len, p, name);
        if (*p == '/' && n > 0 && (size_t)n < sizeof candidate && access(candidate, X_OK) == 0 &&
            realpath(candidate, out) != NULL)
            return 0;
        p += len;
    }
    return -ENOENT;
}

int tool_program(enum tool tool, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    if (path == NULL || *path == '\0')
        path = USUAL_PATH;
    for (size_t i = 0; i < NAMES_MAX && programs[tool][i] != NULL; i++) {
        if (look_along(path, programs[tool][i], out) == 0)
            return 0;
    }
    return -ENOENT;
}
