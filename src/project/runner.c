#include "project/runner.h"

#include <string.h>

#include "base/text.h"
#include "project/notes.h"

const struct runner_variable runner_variables[] = {
    {"HOME", "home"},
    {"TMPDIR", "tmp"},
    {"TMP", "tmp"},
    {"TEMP", "tmp"},
    {"XDG_CACHE_HOME", "cache"},
    {"XDG_CONFIG_HOME", "config"},
    {"XDG_DATA_HOME", "home/.local/share"},
    {"XDG_STATE_HOME", "home/.local/state"},
    {"HYPOTHESIS_STORAGE_DIRECTORY", "cache/hypothesis"},
    {"MYPY_CACHE_DIR", "cache/mypy"},
    {"NUMBA_CACHE_DIR", "cache/numba"},
    {"MPLCONFIGDIR", "cache/matplotlib"},
    {"npm_config_cache", "cache/npm"},
    {"GOCACHE", "cache/go-build"},
    {"GOTMPDIR", "tmp"},
    {"CARGO_TARGET_DIR", "cache/cargo-target"},
    {"CCACHE_DIR", "cache/ccache"},
};
const size_t runner_variable_count = sizeof runner_variables / sizeof runner_variables[0];

const struct runner_home runner_homes[] = {
    {"GOMODCACHE", "go/pkg/mod"},
    {"CARGO_HOME", ".cargo"},
    {"RUSTUP_HOME", ".rustup"},
    {"PYTHONUSERBASE", ".local"},
    {"GIT_CONFIG_GLOBAL", ".gitconfig"},
};
const size_t runner_home_count = sizeof runner_homes / sizeof runner_homes[0];

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The word behind "-m", as for python and coverage; 0: there is none. */
static size_t module_word(char *const *command)
{
    for (size_t i = 1; command[i] != NULL; i++) {
        if (strcmp(command[i], "-m") == 0)
            return command[i + 1] == NULL ? 0 : i + 1;
        if (strcmp(command[i], "-c") == 0)
            return 0; /* what follows is not python's */
    }
    return 0;
}

static bool has_word(char *const *command, const char *word)
{
    for (size_t i = 1; command[i] != NULL; i++) {
        if (strcmp(command[i], word) == 0)
            return true;
    }
    return false;
}

/* Isolated, python hears of no PYTHONPATH, by which it would find the plug-in. `word` is the module's. */
static bool is_isolated(char *const *command, size_t word)
{
    for (size_t i = 1; i < word; i++) {
        const char *flags = command[i] + 1;
        if (command[i][0] == '-' && flags[strspn(flags, "bBdEiIOPqsSuvx")] == '\0' && strpbrk(flags, "EI") != NULL)
            return true;
    }
    return false;
}

static bool is_pytest(const char *name)
{
    return strcmp(name, "pytest") == 0 || strcmp(name, "py.test") == 0 ||
           text_starts_with(name, "pytest-3") || strcmp(name, "py.test-3") == 0;
}

static struct runner_found find_module(char *const *command)
{
    const size_t word = module_word(command);
    const char *module = word == 0 ? "" : command[word];
    if (strcmp(module, "pytest") == 0 || strcmp(module, "py.test") == 0)
        return (struct runner_found){RUNNER_PYTEST, word};
    return (struct runner_found){strcmp(module, "unittest") == 0 ? RUNNER_UNITTEST : RUNNER_OTHER, word};
}

struct runner_found runner_find(char *const *command)
{
    const char *name = base_name(command[0]);
    const char *first = command[1] == NULL ? "" : command[1];
    if (is_pytest(name))
        return (struct runner_found){RUNNER_PYTEST, 0};
    if (text_starts_with(name, "python") || strcmp(name, "coverage") == 0 ||
        strcmp(name, "python3-coverage") == 0)
        return find_module(command);
    if (strcmp(name, "ctest") == 0)
        return (struct runner_found){RUNNER_CTEST, 0};
    if (strcmp(name, "meson") == 0 && strcmp(first, "test") == 0)
        return (struct runner_found){RUNNER_MESON, 1};
    if (strcmp(name, "go") == 0 && strcmp(first, "test") == 0)
        return (struct runner_found){RUNNER_GO, 1};
    if (strcmp(name, "cargo") == 0 && has_word(command, "test"))
        return (struct runner_found){RUNNER_CARGO, 0};
    if ((strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0) && has_word(command, "--test"))
        return (struct runner_found){RUNNER_NODE, 0};
    return (struct runner_found){RUNNER_OTHER, 0};
}

/* `word` with every "{config}" replaced. */
static char *replace_config(struct arena *arena, const char *word, const char *config)
{
    static const char mark[] = "{config}";
    const size_t mark_len = sizeof mark - 1, config_len = strlen(config);
    size_t len = strlen(word) + 1;
    for (const char *p = strstr(word, mark); p != NULL; p = strstr(p + mark_len, mark))
        len += config_len;
    char *out = arena_alloc(arena, len);
    char *to = out;
    while (out != NULL && *word != '\0') {
        if (strncmp(word, mark, mark_len) == 0) {
            memcpy(to, config, config_len);
            to += config_len;
            word += mark_len;
        } else {
            *to++ = *word++;
        }
    }
    return out;
}

#define ADDED_MAX 3

char **runner_command(struct arena *arena, char *const *command, const struct workspace *w,
                      const char *config)
{
    const struct runner_found found = runner_find(command);
    const char *added[ADDED_MAX] = {NULL};
    size_t count = 0, used = 0;
    while (command[count] != NULL)
        count++;
    if (found.runner == RUNNER_PYTEST) {
        size_t next = 0;
        if (!is_isolated(command, found.word)) {
            added[next++] = "-p";
            added[next++] = NOTES_PLUGIN;
        }
        added[next] = arena_printf(arena, "--basetemp=%s", w->base_temp);
    } else if (found.runner == RUNNER_MESON && !has_word(command, "--no-rebuild")) {
        added[0] = "--no-rebuild"; /* ninja would write its log into the build directory */
    }
    char **out = arena_array(arena, count + ADDED_MAX + 1, sizeof *out);
    for (size_t i = 0; out != NULL && i < count; i++) {
        out[used] = replace_config(arena, command[i], config);
        if (out[used++] == NULL)
            return NULL;
        for (size_t k = 0; i == found.word && k < ADDED_MAX && added[k] != NULL; k++)
            out[used++] = arena_strdup(arena, added[k]);
    }
    return out;
}

const char *const *runner_caches(enum runner runner)
{
    static const char *const none[] = {NULL};
    static const char *const ctest[] = {"CTestTestfile.cmake/Testing", NULL}; /* sources may be called so, too */
    static const char *const meson[] = {"meson-logs", "meson-private", NULL};
    return runner == RUNNER_CTEST ? ctest : runner == RUNNER_MESON ? meson : none;
}
