#include "project/runner.h"

#include <string.h>

#include "harness.h"

static struct arena arena = {.max = 1 << 20};
static struct workspace workspace = {.base_temp = "tests/artifacts/_pytest_tmp"};

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})
#define W(text) ((char[]){text})

/* The words of the command as it would run, with a blank between them. */
static void check_command(char *const *command, const char *expected)
{
    char line[512] = "";
    char **words = runner_command(&arena, command, &workspace, "/p/c.toml");
    CHECK(words != NULL);
    for (; *words != NULL; words++) {
        strcat(line, line[0] == '\0' ? "" : " ");
        strcat(line, *words);
    }
    CHECK_STR(line, expected);
}

#define BASE_TEMP "--basetemp=tests/artifacts/_pytest_tmp"
#define ADDED "-p cordon_test_notes " BASE_TEMP

TEST(pytest_is_known_in_all_its_guises)
{
    check_command(WORDS(W("pytest"), W("-q")), "pytest " ADDED " -q");
    check_command(WORDS(W("/usr/bin/pytest-3")), "/usr/bin/pytest-3 " ADDED);
    check_command(WORDS(W("python3"), W("-X"), W("dev"), W("-m"), W("pytest"), W("-q")),
                  "python3 -X dev -m pytest " ADDED " -q");
    check_command(WORDS(W("coverage"), W("run"), W("-m"), W("pytest")), "coverage run -m pytest " ADDED);
}

TEST(an_isolated_python_gets_no_plug_in_that_it_would_not_find)
{
    check_command(WORDS(W("python3"), W("-I"), W("-m"), W("pytest")), "python3 -I -m pytest " BASE_TEMP);
    check_command(WORDS(W("python3"), W("-sE"), W("-m"), W("pytest")), "python3 -sE -m pytest " BASE_TEMP);
    check_command(WORDS(W("python3"), W("-W"), W("error::EncodingWarning"), W("-WError"), W("-m"), W("pytest"), W("-I")),
                  "python3 -W error::EncodingWarning -WError -m pytest " ADDED " -I");
}

TEST(what_only_looks_like_it_simply_runs)
{
    check_command(WORDS(W("python3"), W("-c"), W("-m"), W("pytest")), "python3 -c -m pytest");
    check_command(WORDS(W("echo"), W("-m"), W("pytest")), "echo -m pytest");
    check_command(WORDS(W("pytester")), "pytester");
    check_command(WORDS(W("python3"), W("-m")), "python3 -m");
    CHECK_INT(runner_find(WORDS(W("meson"), W("compile"))).runner, RUNNER_OTHER);
    CHECK_INT(runner_find(WORDS(W("node"), W("x.js"))).runner, RUNNER_OTHER);
}

TEST(the_others_are_told_apart)
{
    CHECK_INT(runner_find(WORDS(W("python3.11"), W("-m"), W("unittest"))).runner, RUNNER_UNITTEST);
    CHECK_INT(runner_find(WORDS(W("node"), W("--test"))).runner, RUNNER_NODE);
    CHECK_INT(runner_find(WORDS(W("go"), W("test"), W("./..."))).runner, RUNNER_GO);
    CHECK_INT(runner_find(WORDS(W("cargo"), W("+nightly"), W("test"))).runner, RUNNER_CARGO);
    CHECK_STR(runner_caches(runner_find(WORDS(W("ctest"))).runner)[0], "CTestTestfile.cmake/Testing");
    check_command(WORDS(W("meson"), W("test"), W("-C"), W("b")), "meson test --no-rebuild -C b");
    check_command(WORDS(W("meson"), W("test"), W("--no-rebuild")), "meson test --no-rebuild");
}

TEST(the_configuration_is_named_wherever_it_is_asked_for)
{
    check_command(WORDS(W("x"), W("--config={config}"), W("{config}{config}"), W("{conf}")),
                  "x --config=/p/c.toml /p/c.toml/p/c.toml {conf}");
}
