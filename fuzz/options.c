/*
 * A command line (words split at newlines) is refused with a reason, or gives a valid policy. */
#include <string.h>

#include "cli/options.h"
#include "fuzz.h"

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(POLICY_ARENA_BYTES);
    const struct options_setting setting = {
        .profile = PROFILE_STAGE, .arena = &arena, .cwd = "/fuzz"};
    struct run_options options;
    struct cordon_error err = {0};
    char *argv[WORDS_MAX];
    int argc = 0;
    char *text = arena_strndup(&arena, (const char *)data, size);

    for (char *rest = text; rest != NULL && argc < WORDS_MAX;) {
        char *word = strsep(&rest, "\n");
        /* No documents of this machine: they are another target's. */
        if (strncmp(word, "--policy", 8) == 0 || strncmp(word, "--within", 8) == 0)
            word = arena_strdup(&arena, "--json");
        argv[argc++] = word;
    }
    int r = options_parse(&options, &setting, argc, argv, &err);
    if (r < 0)
        PROMISE(err.kind != CORDON_ERROR_NONE && err.why[0] != '\0');
    else
        PROMISE(r <= argc && (options.help || policy_validate(&options.policy, &err) == 0));
    arena_free(&arena);
    return 0;
}
