#include "cli/switches.h"

#include <errno.h>
#include <string.h>

#include "policy/capability.h"

#ifdef CORDON_TEST_SWITCHES

static bool is(const char *word, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(word, name, len) == 0;
}

static int switch_off(struct host *host, const char *word, size_t len)
{
    for (int i = 0; i < HOST_SWITCH_COUNT; i++) {
        if (is(word, len, host_switch_name((enum host_switch)i))) {
            host->off |= 1u << i;
            return 0;
        }
    }
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        if (is(word, len, capability_name((enum capability)i))) {
            host->off_capabilities |= 1u << i;
            return 0;
        }
    }
    return -EINVAL;
}

int switches_read(struct host *host, char **env, const char **unknown)
{
    static const char name[] = "CORDON_TEST_DISABLE=";
    for (; *env != NULL && strncmp(*env, name, sizeof name - 1) != 0; env++) {
    }
    if (*env == NULL)
        return 0;
    const char *word = *env + sizeof name - 1;
    for (char **p = env; *p != NULL; p++)
        p[0] = p[1];
    while (*word != '\0') {
        size_t len = strcspn(word, ",");
        if (switch_off(host, word, len) < 0) {
            *unknown = word;
            return -EINVAL;
        }
        word += len + (word[len] == ',');
    }
    return 0;
}

#else

int switches_read(struct host *host, char **env, const char **unknown)
{
    (void)host;
    (void)env;
    (void)unknown;
    return 0;
}

#endif
