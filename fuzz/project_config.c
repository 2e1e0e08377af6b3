/* Any bytes as cordon.json: refused with a reason, or a config of paths that stay beneath its root. */
#include "fuzz.h"

#include <string.h>

#include "project/config.h"

static void check_paths(const struct project_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *path = names->items[i];
        PROMISE(path[0] != '/' && path[0] != '\0' && strncmp(path, "..", 3) != 0);
        PROMISE(strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(64 << 20);
    struct project_config config;
    struct cordon_error err = {0};
    int r = project_config_parse(&config, &arena, (const char *)data, size, &err);
    if (r < 0)
        PROMISE(err.kind != CORDON_ERROR_NONE && err.why[0] != '\0');
    else
        check_paths(&config.writable);
    arena_free(&arena);
    return 0;
}
