#include "cli/policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../harness.h"

static char out[1 << 16];
static char errors[1 << 12];

static void collect(int fd, char *text, size_t size)
{
    ssize_t n = pread(fd, text, size - 1, 0);
    CHECK(n >= 0);
    text[n] = '\0';
}

/* Runs the command on this input; TAP needs the real stdout back. */
static int run(const char *input, char **argv)
{
    int fds[3] = {memfd_create("in", 0), memfd_create("out", 0), memfd_create("err", 0)};
    int saved[3] = {dup(0), dup(1), dup(2)};
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    CHECK_INT(pwrite(fds[0], input, strlen(input), 0), (long)strlen(input));
    fflush(stdout);
    for (int i = 0; i < 3; i++)
        dup2(fds[i], i);
    int status = cli_policy(argc, argv);
    fflush(stderr);
    for (int i = 0; i < 3; i++)
        dup2(saved[i], i);
    collect(fds[1], out, sizeof out);
    collect(fds[2], errors, sizeof errors);
    return status;
}

#define RUN(input, ...) run(input, (char *[]){"cordon", "policy", __VA_ARGS__, NULL})

TEST(show_prints_a_table_and_the_files_of_etc)
{
    CHECK_INT(RUN("", "show"), 0);
    CHECK(strstr(out, "profile       stage") != NULL);
    CHECK(strstr(out, "/etc/ld.so.cache") != NULL);
    CHECK(strstr(out, "/etc/resolv.conf") == NULL);
    CHECK_STR(errors, "");
    CHECK_INT(RUN("{\"version\": 1, \"net\": \"host\"}", "show", "--policy", "-"), 0);
    CHECK(strstr(out, "/etc/resolv.conf") != NULL);
}

TEST(show_escapes_what_a_document_brings)
{
    CHECK_INT(
        RUN("{\"version\": 1, \"fs\": {\"ro\": [\"/a\\u001b[31m\"]}}", "show", "--policy", "-"), 0);
    CHECK(strstr(out, "/a\\x1b[31m") != NULL);
}

TEST(check_names_form_profile_and_risks)
{
    CHECK_INT(RUN("{\"wall_time_s\": 5}", "check"), 0);
    CHECK_STR(out, "ok: SandboxPolicy form, extends limits\n");
    CHECK_INT(RUN("{\"version\": 1, \"fs\": {\"rw\": [\"/root\"]}}", "check", "-"), 0);
    CHECK(strstr(out, "warning: /fs/rw/0: ") != NULL);
    CHECK_INT(RUN("{\"version\": 1}", "check", "--json"), 0);
    CHECK(strstr(out, "\"valid\": true") != NULL);
}

TEST(an_error_is_one_message_and_exit_status_2)
{
    CHECK_INT(RUN("{\"version\": 1,\n \"net\": \"x\"}", "check"), 2);
    CHECK_STR(out, "");
    CHECK_STR(errors, "cordon: read policy '/net': 2:9: unknown word\n"
                      "  allowed words: none, loopback, host\n");
    CHECK_INT(RUN("{", "check", "--json"), 2);
    CHECK(strstr(out, "\"valid\": false") != NULL);
    CHECK_INT(RUN("", "chekc"), 2);
    CHECK(strstr(errors, "did you mean check?") != NULL);
    CHECK_INT(RUN("", "show", "extra"), 2);
    CHECK_INT(RUN("{}", "check", "-", "more"), 2);
    CHECK_INT(run("", (char *[]){"policy", NULL}), 2);
    CHECK_INT(RUN("{}", "check", "/no/such/file"), 2);
    CHECK_STR(errors, "cordon: read policy '/no/such/file': no such file or directory\n");
}

TEST(check_names_a_missing_source)
{
    CHECK_INT(RUN("{\"version\": 1, \"fs\": {\"work\": {\"host\": \"/no/such\"}}}", "check"), 2);
    CHECK_STR(errors, "cordon: check bind source '/fs/work': '/no/such': no such file or directory\n  create it\n");
    CHECK_INT(RUN("{\"version\": 1, \"fs\": {\"ro\": [\"/usr\", \"/no/such\"]}}", "check"), 2);
    CHECK_STR(errors,
              "cordon: check bind source '/fs/ro/1': '/no/such': no such file or directory\n"
              "  create it, or mark the bind as \"optional\": true\n");
    CHECK_INT(
        RUN("{\"version\": 1, \"fs\": {\"ro\": [{\"host\": \"/no/such\", \"optional\": true}]}}",
            "check"),
        0);
    CHECK_INT(RUN("{\"version\": 1, \"fs\": {\"rw\": [\"/proc/self/exe\"]}}", "check"), 2);
    CHECK_INT(
        RUN("{\"version\": 1, \"fs\": {\"rw\": [{\"host\": \"/proc/self\", \"sandbox\": \"/x\"}]}}",
            "check"),
        2);
    CHECK(strstr(errors, "symbolic link") != NULL);
}

TEST(normalize_keeps_the_form)
{
    CHECK_INT(RUN("{\"ro_binds\":[],\"network\":false,\"env_allowlist\":[]}", "normalize"), 0);
    CHECK_STR(out, "{\n  \"ro_binds\": [],\n  \"network\": false,\n  \"env_allowlist\": []\n}\n");
}

TEST(from_effects_prints_either_form)
{
    CHECK_INT(
        RUN("[{\"effect\": \"FsWrite\", \"path\": \"/srv/o\"}]", "from-effects", "--form=noether"),
        0);
    CHECK(strstr(out, "/nix/store") != NULL && strstr(out, "\"rw_binds\"") != NULL);
    CHECK_INT(RUN("[]", "from-effects", "--form", "noether"), 0);
    CHECK(strstr(out, "\"rw_binds\"") == NULL);
    CHECK_INT(RUN("[{\"effect\": \"Network\"}]", "from-effects"), 0);
    CHECK(strstr(out, "\"version\": 1") != NULL && strstr(out, "\"net\": \"host\"") != NULL);
    CHECK_INT(RUN("[{\"effect\": \"FsWrite\", \"path\": \"/proc\"}]", "from-effects"), 2);
}

TEST(help_is_no_error)
{
    CHECK_INT(RUN("", "--help"), 0);
    CHECK(strstr(out, "from-effects") != NULL);
    CHECK_INT(RUN("", "check", "--help"), 0);
    CHECK_STR(errors, "");
}

/* One that was named for nothing would be another document than the one that is read. */
TEST(an_option_of_another_command_is_refused)
{
    static const char good[] = "{\"version\": 1}";
    CHECK_INT(RUN(good, "check", "--policy", "/no/such/file"), 2);
    CHECK(strstr(errors, "'--policy': show alone takes it\n  name the document by itself") != NULL);
    CHECK_STR(out, "");
    CHECK_INT(RUN(good, "normalize", "--profile", "agent"), 2);
    CHECK(strstr(errors, "'--profile': show alone takes it") != NULL);
    CHECK_INT(RUN("[]", "from-effects", "--policy=-"), 2);
    CHECK_INT(RUN(good, "check", "--form", "v1"), 2);
    CHECK(strstr(errors, "'--form': from-effects alone takes it") != NULL);
    CHECK_INT(RUN("", "show", "--form=noether"), 2);
    CHECK_INT(RUN(good, "show", "--policy", "-", "--policy", "-"), 2);
    CHECK_INT(RUN(good, "check", "--json"), 0);
    CHECK_INT(RUN("[]", "from-effects", "--form=noether"), 0);
    CHECK_INT(RUN("", "show", "--profile", "agent"), 0);
    CHECK_INT(RUN("", "check", "--policy", "x", "--help"), 0);
}
