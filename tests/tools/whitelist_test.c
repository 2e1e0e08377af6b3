#include "tools/whitelist.h"

#include <math.h>

#include "harness.h"

static void allowed(enum tool tool, int sub, const char *a, const char *b)
{
    const char *options[] = {a, b};
    struct tool_problem p = {""};
    if (tool_check_options(tool, sub, options, b != NULL ? 2 : 1, &p) != 0)
        test_fail(__FILE__, __LINE__, "%s %s: %s", a, b != NULL ? b : "", p.message);
}

static void refused(enum tool tool, int sub, const char *a, const char *b, const char *why)
{
    const char *options[] = {a, b};
    struct tool_problem p = {""};
    CHECK_INT(tool_check_options(tool, sub, options, b != NULL ? 2 : 1, &p), -EINVAL);
    CHECK_STR(p.message, why);
}

TEST(allows_what_is_listed)
{
    allowed(TOOL_FIND, 0, "-name", "*.c");
    allowed(TOOL_FIND, 0, "-maxdepth", "3");
    allowed(TOOL_FIND, 0, "-mmin", "-5");
    allowed(TOOL_FIND, 0, "-amin", "1.5");
    allowed(TOOL_FIND, 0, "-newer", "dir/../file");
    allowed(TOOL_FIND, 0, "(", ")");
    allowed(TOOL_FD, 0, "--color", "never");
    allowed(TOOL_RIPGREP, 0, "-e", "--pre=evil");
    allowed(TOOL_RIPGREP, 0, "--sort", "path");
    allowed(TOOL_DUST, 0, "-j", NULL);
    allowed(TOOL_OUCH, 0, "--dir", "/anywhere: mapped before it is used");
    allowed(TOOL_RUSTIC, RUSTIC_FORGET, "--keep-daily", "7");
    CHECK_INT(tool_option_kind(TOOL_OUCH, 0, "-d"), VALUE_PATH);
}

TEST(refuses_what_runs_writes_deletes_or_leaves)
{
    static const char *const bad[] = {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint",
                                      "-fprintf", "-fls", "-L", "-H", "-P", "-files0-from",
                                      "-follow", "", " ", "-name ", "-nam", "-name -path"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(tool_option_kind(TOOL_FIND, 0, bad[i]), -1);
    static const char *const rg[] = {"--pre", "--pre-glob", "-f", "--file", "--ignore-file", "-z",
                                     "--search-zip", "-L", "--follow", "-a", "--text",
                                     "--hostname-bin", "--no-config", "--color=always"};
    for (size_t i = 0; i < sizeof rg / sizeof rg[0]; i++)
        CHECK_INT(tool_option_kind(TOOL_RIPGREP, 0, rg[i]), -1);
    static const char *const fd[] = {"-x", "--exec", "-X", "--exec-batch", "-L", "--follow",
                                     "--base-directory", "--search-path"};
    for (size_t i = 0; i < sizeof fd / sizeof fd[0]; i++)
        CHECK_INT(tool_option_kind(TOOL_FD, 0, fd[i]), -1);
    refused(TOOL_FIND, 0, "-exec", "rm", "Disallowed option: -exec");
    refused(TOOL_FIND, 0, "-name", NULL, "Option -name requires a value");
    refused(TOOL_FIND, 0, "-maxdepth", "3x", "argument must be an integer");
    refused(TOOL_FIND, 0, "-maxdepth", "", "argument must be an integer");
    refused(TOOL_FIND, 0, "-amin", "1.5.2", "argument must be a number");
    refused(TOOL_FIND, 0, "-newer", "/etc/passwd", "path must be relative");
    refused(TOOL_FIND, 0, "-newer", "a/../../b", "path must stay within working directory");
    refused(TOOL_FD, 0, "--ignore-file", "..", "path must stay within working directory");
    refused(TOOL_FD, 0, "--color", "sometimes", "invalid value");
    refused(TOOL_RIPGREP, 0, "--generate", "sh", "invalid value");
    refused(TOOL_RUSTIC, RUSTIC_RESTORE, "--keep-last", "1", "Disallowed option: --keep-last");
    refused(TOOL_FIND, 0, "\x1b[2J", NULL, "Disallowed option: \\x1b[2J");
}

TEST(lifts_no_cap)
{
    CHECK_INT(tool_timeout_ms(TOOL_FIND, 100), 100);
    CHECK_INT(tool_timeout_ms(TOOL_FIND, 1e12), 5000);
    CHECK_INT(tool_timeout_ms(TOOL_FIND, 5001), 5000);
    CHECK_INT(tool_timeout_ms(TOOL_FIND, -1), 5000);
    CHECK_INT(tool_timeout_ms(TOOL_FIND, 0), 5000);
    CHECK_INT(tool_timeout_ms(TOOL_FIND, (double)NAN), 5000);
    CHECK_INT(tool_timeout_ms(TOOL_DUST, (double)INFINITY), 20000);
    CHECK_INT(tool_timeout_ms(TOOL_RUSTIC, (double)NAN), 120000);
}

TEST(knows_the_commands)
{
    struct tool_problem p;
    CHECK_INT(tool_check_command(TOOL_OUCH, "ls", &p), 0);
    CHECK_INT(tool_check_command(TOOL_OUCH, "rm", &p), -EINVAL);
    CHECK_STR(p.message, "first argument must be one of compress, c, decompress, d, list, l, ls");
    CHECK_INT(tool_check_command(TOOL_RUSTIC, "forget", &p), RUSTIC_FORGET);
    CHECK_INT(tool_check_command(TOOL_RUSTIC, "init", &p), -EINVAL);
    CHECK_STR(p.message, "init not allowed");
    CHECK_INT(tool_check_command(TOOL_RUSTIC, "copy", &p), -EINVAL);
    CHECK_STR(p.message, "subcommand not allowed: copy");
}
