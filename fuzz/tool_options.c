/*
 * The words for a tool (split at newlines; the first byte says which tool and command): what passes
 * is listed word for word, has values of the right kind, and names no path that leads away.
 */
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "tools/whitelist.h"

#define WORDS_MAX 64
#define COMMANDS 4

static void promise_value(int kind, const char *value)
{
    PROMISE(value != NULL);
    if (kind == VALUE_INTEGER)
        PROMISE(strspn(value, "+-0123456789") == strlen(value) && *value != '\0');
    if (kind == VALUE_NUMBER)
        PROMISE(strspn(value, "+-.0123456789") == strlen(value) && *value != '\0');
    if (kind == VALUE_INSIDE) {
        PROMISE(value[0] != '/');
        PROMISE(strcmp(value, "..") != 0 && strncmp(value, "../", 3) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const never[] = {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint",
                                        "-fls", "-L", "-follow", "--follow", "--exec", "-x",
                                        "--pre", "--search-zip", "-f", "--host", "--files0-from"};
    if (size == 0)
        return 0;
    struct arena arena = ARENA_INIT(1u << 20);
    const enum tool tool = (enum tool)(data[0] % TOOL_COUNT);
    const int sub = tool == TOOL_RUSTIC ? data[0] / TOOL_COUNT % COMMANDS : 0;
    const char *words[WORDS_MAX];
    size_t count = 0;
    struct tool_problem problem = {""};
    for (char *rest = arena_strndup(&arena, (const char *)data + 1, size - 1);
         rest != NULL && count < WORDS_MAX;)
        words[count++] = strsep(&rest, "\n");
    if (tool_check_options(tool, sub, words, count, &problem) < 0) {
        PROMISE(problem.message[0] != '\0');
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        const int kind = tool_option_kind(tool, sub, words[i]);
        PROMISE(kind >= 0);
        for (size_t k = 0; k < sizeof never / sizeof never[0]; k++) {
            const bool theirs = (strcmp(never[k], "-f") == 0 && tool != TOOL_RIPGREP) ||
                                (strcmp(never[k], "-x") == 0 && tool != TOOL_FD);
            PROMISE(theirs || strcmp(words[i], never[k]) != 0);
        }
        if (kind != VALUE_NONE)
            promise_value(kind, ++i < count ? words[i] : NULL);
    }
    arena_free(&arena);
    return 0;
}
