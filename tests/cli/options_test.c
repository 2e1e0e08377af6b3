#include "cli/options.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../harness.h"

static struct arena arena = {.max = POLICY_ARENA_BYTES};
static struct run_options o;
static struct cordon_error err;

static int parse_list(char **argv)
{
    const struct options_setting setting = {
        .profile = PROFILE_STAGE, .arena = &arena, .cwd = "/home/me/project"};
    static char *words[64]; /* outlives the list: options point into it */
    int argc = 0;
    for (; argv[argc] != NULL; argc++) {
        CHECK(argc < 63);
        words[argc] = argv[argc];
    }
    words[argc] = NULL;
    err = (struct cordon_error){0};
    return options_parse_command(&o, &setting, argc, words, &err);
}

#define PARSE(...) parse_list((char *[]){__VA_ARGS__, NULL})
#define ACCEPTED(...)                                                                          \
    do {                                                                                       \
        if (PARSE(__VA_ARGS__, "--", "true") < 0)                                              \
            test_fail(__FILE__, __LINE__, "%s '%s': %s", err.what, err.subject, err.why);      \
    } while (0)
#define REFUSED(option, ...)                                        \
    do {                                                            \
        CHECK(PARSE(__VA_ARGS__, "--", "true") < 0);                \
        CHECK_STR(err.subject, option);                             \
        CHECK_INT(err.kind, CORDON_ERROR_USAGE);                    \
        CHECK(err.why[0] != '\0');                                  \
    } while (0)

TEST(without_options_it_is_the_stage_profile)
{
    CHECK_INT(PARSE("--", "echo", "--json"), 0);
    CHECK_INT(o.policy.profile, PROFILE_STAGE);
    CHECK_INT(o.command_count, 2);
    CHECK_STR(o.command[1], "--json");
    CHECK(!o.json);
}

TEST(both_spellings_are_taken)
{
    ACCEPTED("--wall", "5s", "--mem=64M", "--pids=8");
    CHECK_INT(o.policy.limits.wall_ms, 5000);
    CHECK_INT(o.policy.limits.mem_bytes, 64 << 20);
    CHECK_INT(o.policy.limits.pids, 8);
}

TEST(the_profile_counts_first_wherever_it_stands)
{
    ACCEPTED("--pids", "9", "--profile", "module");
    CHECK_INT(o.policy.profile, PROFILE_MODULE);
    CHECK_INT(o.policy.limits.pids, 9);
    CHECK_INT(o.policy.limits.wall_ms, 300000);
}

TEST(binds_are_made_absolute_from_the_callers_directory)
{
    ACCEPTED("--ro", "in", "--rw", "../out:/data", "--ro", "/srv/a:b", "--rw", ".");
    CHECK_STR(o.policy.ro.items[0].host, "/home/me/project/in");
    CHECK_STR(o.policy.ro.items[0].sandbox, "/home/me/project/in");
    CHECK_STR(o.policy.rw.items[0].host, "/home/me/out");
    CHECK_STR(o.policy.rw.items[0].sandbox, "/data");
    CHECK_STR(o.policy.ro.items[1].host, "/srv/a:b"); /* what is inside is absolute */
    CHECK_STR(o.policy.rw.items[1].host, "/home/me/project");
}

TEST(hide_work_and_cwd)
{
    ACCEPTED("--ro", ".", "--hide", ".env", "--hide", "**/.env", "--work", "job", "--cwd",
             "/work/x/");
    CHECK_STR(o.policy.hide.items[0], "/home/me/project/.env");
    CHECK_STR(o.policy.hide.items[1], "**/.env");
    CHECK_STR(o.policy.work_host, "/home/me/project/job");
    CHECK_STR(o.policy.cwd, "/work/x");
    ACCEPTED("--work", "job", "--work", "private");
    CHECK_INT(o.policy.work, WORK_PRIVATE);
}

TEST(environment_options)
{
    ACCEPTED("--env", "ONE", "--env=APP_*", "--setenv", "A=b=c", "--setenv=EMPTY=");
    CHECK_STR(o.policy.env.allow.items[11], "ONE");
    CHECK_STR(o.policy.env.allow.items[12], "APP_*");
    CHECK_STR(o.policy.env.set.items[2].value, "b=c");
    CHECK_STR(o.policy.env.set.items[3].value, "");
    REFUSED("--setenv", "--setenv", "NOVALUE");
    REFUSED("--setenv", "--setenv", "=x");
    REFUSED("--env", "--env", "A=B");
    REFUSED("--env", "--env", "");
}

TEST(what_others_call_it)
{
    REFUSED("--bind", "--bind", "/srv", "/srv"); /* nearer to --uid, by its letters */
    CHECK_STR(err.remedy, "did you mean --rw?");
    REFUSED("--timeout", "--timeout", "5");
    CHECK_STR(err.remedy, "did you mean --wall?");
    REFUSED("--ro-bind", "--ro-bind", "/usr", "/usr");
    CHECK_STR(err.remedy, "did you mean --ro?");
    REFUSED("--chdir", "--chdir=/");
    CHECK_STR(err.remedy, "did you mean --cwd?");
    REFUSED("--hide", "--wall", "5", "--hide");
    CHECK_STR(err.remedy, "write --hide PATH|GLOB");
    REFUSED("--ro", "--ro", "/usr:/data:ro");
    CHECK_STR(err.why, "'/usr:/data:ro' is not HOST:SANDBOX");
    REFUSED("--rw", "--rw", "/srv:/data:rw");
    ACCEPTED("--ro", "/usr:/data:x");
}

TEST(zero_and_none)
{
    ACCEPTED("--profile", "module", "--wall", "0", "--cpu", "0", "--grace", "0", "--mem", "none");
    CHECK_INT(o.policy.limits.wall_ms, 300000);
    CHECK(o.policy.limits.cpu_ms == POLICY_UNLIMITED);
    CHECK_INT(o.policy.limits.grace_ms, 0);
    CHECK(o.policy.limits.mem_bytes == POLICY_UNLIMITED);
    REFUSED("--mem", "--mem", "0");
    REFUSED("--pids", "--pids", "0");
    REFUSED("--nofile", "--nofile=0");
    REFUSED("--output", "--output", "0");
    REFUSED("--tmp", "--tmp", "0");
    REFUSED("--tmp", "--tmp", "none");
    REFUSED("--grace", "--grace", "none");
}

TEST(values_that_are_none)
{
    REFUSED("--wall", "--wall", "fast");
    REFUSED("--wall", "--wall", "-1");
    REFUSED("--wall", "--wall=");
    REFUSED("--mem", "--mem", "12Q");
    REFUSED("--mem", "--mem", "99999999999999999999G");
    REFUSED("--net", "--net", "some");
    CHECK_STR(err.remedy, "allowed: none, loopback, host");
    REFUSED("--profile", "--profile", "mine");
    REFUSED("--cwd", "--cwd", "relative");
    REFUSED("--ro", "--ro", "");
    REFUSED("--ro", "--ro", ":/x");
    REFUSED("--exit", "--exit", "sometimes");
    REFUSED("--format", "--format", "xml");
    REFUSED("--stdin", "--stdin", "some");
    REFUSED("--trace-id", "--trace-id", "xyz");
    REFUSED("--require", "--require", "warp_drive");
    REFUSED("--cpus", "--cpus", "1s");
    REFUSED("--cpus", "--cpus", "0");
    REFUSED("--json", "--json=yes");
}

TEST(cores_may_be_fractions)
{
    ACCEPTED("--cpus", "0.5");
    CHECK_INT((int)(o.policy.limits.cpus * 1000), 500);
    ACCEPTED("--cpus", "2", "--cpus", "none");
    CHECK_INT((int)o.policy.limits.cpus, 0);
}

TEST(an_unknown_option_names_the_nearest_one)
{
    REFUSED("--walll", "--walll", "5");
    CHECK_STR(err.remedy, "did you mean --wall?");
    REFUSED("--allow-partal", "--allow-partal=1");
    CHECK_STR(err.remedy, "did you mean --allow-partial?");
    REFUSED("--frobnicate", "--frobnicate");
    CHECK_STR(err.remedy, "see --help for all options");
    REFUSED("-x", "-x");
    REFUSED("--wal", "--wal", "5"); /* no abbreviations: a new option must not change their sense */
}

TEST(a_missing_value_or_command)
{
    CHECK(PARSE("--wall", "--", "true") < 0);
    CHECK_STR(err.subject, "--wall");
    CHECK(PARSE("--wall") < 0);
    CHECK(PARSE("--") < 0);
    CHECK_STR(err.why, "the command is missing");
    CHECK(PARSE("true") < 0);
    CHECK_STR(err.why, "put -- before the command");
    CHECK(PARSE("--", "") < 0);
    CHECK(PARSE("--json") < 0);
}

TEST(front_end_options)
{
    ACCEPTED("--json", "--tty", "--quiet", "--unsafe-no-isolation",
             "--result", "fd:3", "--stdout-file", "o", "--stderr-file=e", "--exit", "normalized",
             "--trace-id", "0123456789abcdef0123456789abcdef", "--allow-partial");
    CHECK(o.json && o.tty && o.quiet && o.unsafe_no_isolation);
    CHECK_STR(o.result, "fd:3");
    CHECK_STR(o.stdout_file, "o");
    CHECK_STR(o.stderr_file, "e");
    CHECK_INT(o.exit_style, EXIT_NORMALIZED);
    CHECK(o.policy.allow_partial);
    ACCEPTED("--dry-run", "--quiet");
    CHECK(o.dry_run);
    ACCEPTED("--format", "text", "--stdin", "none", "--progress");
    CHECK(o.format_text && o.stdin_none && o.progress);
    CHECK_INT(o.die_with, 0);
    ACCEPTED("--die-with", "4194304");
    CHECK_INT(o.die_with, 4194304);
    REFUSED("--die-with", "--die-with", "0");
    REFUSED("--die-with", "--die-with", "-1");
    REFUSED("--die-with", "--die-with", "4294967297");
    REFUSED("--die-with", "--die-with", "init");
    REFUSED("--format", "--json", "--format", "text");
    REFUSED("--tty", "--tty", "--stdin", "none");
    REFUSED("--progress", "--tty", "--progress");
}

TEST(output_by_option_holds_for_output_that_passes_through)
{
    ACCEPTED("--output", "50");
    CHECK(o.policy.limits.output_given);
    CHECK_INT(o.policy.limits.output_bytes, 50);
    ACCEPTED("--pids", "4");
    CHECK(!o.policy.limits.output_given);
}

TEST(the_policy_that_results_is_validated)
{
    CHECK(PARSE("--ro", "/usr:/x", "--ro", "/etc:/x", "--", "true") < 0);
    CHECK_STR(err.subject, "/fs/ro/1");
    CHECK(strstr(err.why, "'/x'") != NULL);
    CHECK(PARSE("--ro", "/usr:/proc/x", "--", "true") < 0);
    CHECK(PARSE("--work", "/srv/a", "--ro", "/srv/b:/work/b", "--", "true") < 0);
}

/* A document in a descriptor of its own. */
static const char *document(const char *text)
{
    static char spec[8][16];
    static int used;
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(write(ends[1], text, strlen(text)), (long)strlen(text));
    close(ends[1]);
    snprintf(spec[used], sizeof spec[0], "fd:%d", ends[0]);
    return spec[used++];
}

TEST(options_refine_a_document)
{
    const char *spec = document("{\"version\": 1, \"extends\": \"module\", \"net\": \"host\","
                                "\"fs\": {\"ro\": [\"/srv\"]}}");
    char *policy = arena_strdup(&arena, spec);
    ACCEPTED("--net", "none", "--ro", "/usr/share", "--policy", policy);
    CHECK_INT(o.policy.net, NET_NONE);
    CHECK_INT(o.policy.ro.count, 2);
    CHECK_INT(o.policy.profile, PROFILE_MODULE);
}

TEST(a_document_that_cannot_be_read)
{
    CHECK(PARSE("--policy", "/no/such/file", "--", "true") < 0);
    CHECK_STR(err.subject, "/no/such/file");
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK_INT(err.errnum, ENOENT);
    CHECK(PARSE("--policy", "fd:99", "--", "true") < 0);
    CHECK_INT(err.errnum, EBADF);
    CHECK(PARSE("--policy", "fd:x", "--", "true") < 0);
    CHECK(PARSE("--policy", "/dev/zero", "--", "true") < 0); /* endless */
    CHECK_INT(err.errnum, EFBIG);
}

TEST(a_ceiling_refuses_what_goes_beyond_it)
{
    static const char text[] = "{\"version\": 1, \"limits\": {\"wall_ms\": 1000}}";
    CHECK(PARSE("--within", arena_strdup(&arena, document(text)), "--", "true") < 0);
    CHECK_STR(err.subject, "/limits/wall_ms"); /* the profile itself asks for 30 s */
    ACCEPTED("--within", arena_strdup(&arena, document(text)), "--wall", "1s");
    CHECK(PARSE("--within", arena_strdup(&arena, document(text)), "--wall", "1s", "--net", "host",
                "--", "true") < 0);
    CHECK_STR(err.subject, "/net");
}

TEST(help_comes_from_the_same_table)
{
    BUF_AUTO out = BUF_INIT(1 << 16);
    CHECK_INT(PARSE("--help"), 1);
    CHECK(o.help);
    options_help(&out, PROFILE_STAGE, NULL, NULL);
    CHECK(strstr(buf_string(&out), "  --wall DUR ") != NULL);
    CHECK(strstr(buf_string(&out), "  --allow-partial ") != NULL);
    for (const char *line = out.data; *line != '\0'; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") <= 100);
}

TEST(an_option_with_one_word_names_it)
{
    REFUSED("--stdin", "--stdin", "all");
    CHECK_STR(err.remedy, "allowed: none"); /* and not a bare "none" */
}

/* The last of two ceilings would undo the first. */
TEST(one_document_and_one_ceiling)
{
    REFUSED("--within", "--within", "/dev/null", "--within=/dev/null");
    CHECK(strstr(err.why, "given twice") != NULL);
    REFUSED("--policy", "--policy", "-", "--wall", "5", "--policy", "-");
    ACCEPTED("--wall", "5", "--wall", "6"); /* of the rest the last one counts */
    CHECK_INT(o.policy.limits.wall_ms, 6000);
}
