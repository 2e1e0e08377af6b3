#include "policy/capability.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

static const char *const names[CAPABILITY_COUNT] = {
    [CAP_WALL_TIME] = "wall_time",     [CAP_CPU_TIME] = "cpu_time",
    [CAP_MEMORY] = "memory",           [CAP_PIDS] = "pids",
    [CAP_OPEN_FILES] = "open_files",   [CAP_OUTPUT] = "output",
    [CAP_FILESYSTEM] = "filesystem",   [CAP_NETWORK] = "network",
    [CAP_SYSCALLS] = "syscalls",       [CAP_PRIVILEGES] = "privileges",
    [CAP_ENVIRONMENT] = "environment", [CAP_PROCESSES] = "processes",
    [CAP_IPC] = "ipc",                 [CAP_DEVICES] = "devices",
    [CAP_CPU_RATE] = "cpu_rate",
};

const char *capability_name(enum capability c)
{
    return c < CAPABILITY_COUNT ? names[c] : "?";
}

int capability_parse(const char *name)
{
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

/* The capability of "memory:cgroup2" as a word of its own; false if it does not fit. */
static bool split(const char *text, char *word, size_t size, const char **mechanism)
{
    size_t len = strcspn(text, ":");
    if (len >= size)
        return false;
    memcpy(word, text, len);
    word[len] = '\0';
    *mechanism = text[len] == ':' ? text + len + 1 : NULL;
    return true;
}

bool capability_requirement(const char *text)
{
    char word[32];
    const char *mechanism = NULL;
    if (!split(text, word, sizeof word, &mechanism) || capability_parse(word) < 0)
        return false;
    if (mechanism == NULL)
        return true;
    const char *allowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    return mechanism[0] != '\0' && mechanism[strspn(mechanism, allowed)] == '\0';
}

void capability_remedy(const char *text, char *out, size_t size)
{
    char word[32];
    const char *mechanism = NULL;
    const char *near = NULL;
    if (split(text, word, sizeof word, &mechanism))
        near = nearest_word(word, names, CAPABILITY_COUNT, sizeof names[0]);
    if (near != NULL) {
        snprintf(out, size, "write CAPABILITY or CAPABILITY:MECHANISM; did you mean \"%s\"?", near);
        return;
    }
    size_t used = (size_t)snprintf(out, size, "known:");
    for (int i = 0; i < CAPABILITY_COUNT && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %s", names[i]);
}
