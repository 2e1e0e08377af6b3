#include "base/cwd.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

const char *cwd_name(struct arena *arena)
{
    char usual[256]; /* pages of stack that are not touched cost nothing */
    const char *name = getcwd(usual, sizeof usual) == NULL ? NULL : arena_strdup(arena, usual);
    if (name == NULL && errno == ERANGE) {
        char *room = arena_alloc(arena, PATH_MAX);
        name = room == NULL ? NULL : getcwd(room, PATH_MAX);
    }
    return name != NULL && name[0] == '/' ? name : NULL; /* the kernel says "(unreachable)" */
}
