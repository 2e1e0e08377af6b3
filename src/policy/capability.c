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

/* By what it may hold, on whatever host: every word that a mechanism of the ledger has for it. */
static const char *const mechanisms[CAPABILITY_COUNT] = {
    [CAP_WALL_TIME] = "supervisor timer",
    [CAP_CPU_TIME] = "cgroup2, cgroup1, sampling",
    [CAP_MEMORY] = "cgroup2, cgroup1, watcher",
    [CAP_PIDS] = "cgroup2, cgroup1, rlimit, fork gate",
    [CAP_OPEN_FILES] = "rlimit",
    [CAP_OUTPUT] = "supervisor",
    [CAP_FILESYSTEM] = "mount namespace, landlock, seccomp",
    [CAP_NETWORK] = "network namespace, seccomp",
    [CAP_SYSCALLS] = "seccomp",
    [CAP_PRIVILEGES] = "user namespace, no_new_privs",
    [CAP_ENVIRONMENT] = "rebuilt",
    [CAP_PROCESSES] = "pid namespace, subreaper, fork gate, landlock scope",
    [CAP_IPC] = "ipc and network namespace, landlock scope, seccomp, keyring",
    [CAP_DEVICES] = "minimal /dev, landlock",
    [CAP_CPU_RATE] = "cgroup2, cgroup1",
};

bool capability_names_word(const char *mechanism, const char *word)
{
    static const char between[] = ", ";
    for (const char *p = mechanism; *p != '\0'; p += strspn(p, between)) {
        const size_t len = strcspn(p, between);
        if (strlen(word) == len && memcmp(p, word, len) == 0)
            return true;
        p += len;
    }
    return false;
}

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

int capability_of(const char *text, const char **mechanism)
{
    const size_t len = strcspn(text, ":");
    *mechanism = text[len] == ':' ? text + len + 1 : NULL;
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], text, len) == 0)
            return i;
    }
    return -1;
}

bool capability_requirement(const char *text)
{
    const char *mechanism = NULL;
    const int c = capability_of(text, &mechanism);
    return c >= 0 && (mechanism == NULL || capability_names_word(mechanisms[c], mechanism));
}

void capability_remedy(const char *text, char *out, size_t size)
{
    char word[32];
    const char *mechanism = NULL;
    const char *near = NULL;
    const size_t len = strcspn(text, ":");
    const int c = capability_of(text, &mechanism);
    if (c >= 0) {
        snprintf(out, size, "mechanisms of %s, each word by itself: %s", names[c], mechanisms[c]);
        return;
    }
    if (len < sizeof word) {
        memcpy(word, text, len);
        word[len] = '\0';
        near = nearest_word(word, names, CAPABILITY_COUNT, sizeof names[0]);
    }
    if (near != NULL) {
        snprintf(out, size, "write CAPABILITY or CAPABILITY:MECHANISM; did you mean \"%s\"?", near);
        return;
    }
    size_t used = (size_t)snprintf(out, size, "known:");
    for (int i = 0; i < CAPABILITY_COUNT && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %s", names[i]);
}
