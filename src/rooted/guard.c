#include "rooted/guard.h"

#ifdef CORDON_ROOTED_TEST

#include <stdlib.h>
#include <string.h>

void (*guard_hook)(const char *name);

bool guard_on(enum guard guard)
{
    static const char *const names[] = {
#define GUARD_NAME(name) #name,
        GUARD_LIST(GUARD_NAME)
#undef GUARD_NAME
    };
    const char *off = getenv("CORDON_ROOTED_GUARD_OFF");
    return off == NULL || strcmp(off, names[guard]) != 0;
}

void guard_point(const char *name)
{
    if (guard_hook != NULL)
        guard_hook(name);
}

#endif
