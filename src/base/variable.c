#include "base/variable.h"

#include <stddef.h>
#include <string.h>

const char *variable_of(char *const *env, const char *name)
{
    const size_t len = strlen(name);
    for (; env != NULL && *env != NULL; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    }
    return NULL;
}
