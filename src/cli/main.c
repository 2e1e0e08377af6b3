/* The table of commands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/nearest.h"
#include "cli/audit.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/fs.h"
#include "cli/message.h"
#include "cli/module_runner.h"
#include "cli/noether.h"
#include "cli/policy.h"
#include "cli/run.h"
#include "cli/test.h"

/* A command gets all words: argv[0] is the program, argv[1] the command itself. */
struct command {
    const char *name;
    const char *about;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"run", "run a command under a policy", cli_run},
    {"test", "run a test suite that can write beneath tests/ only", cli_test},
    {"audit", "find tests that would touch real files", cli_audit},
    {"call", "run a module: JSON in, JSON out", cli_call},
    {"fs", "one file operation that cannot leave a directory", cli_fs},
    {"policy", "show, check, normalize policies; make one from effects", cli_policy},
    {"doctor", "what this host can enforce, why not, and how to get it", cli_doctor},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void put_help(void)
{
    printf("usage: cordon COMMAND [options]\n\n"
           "A sandbox for code that you do not trust. It never says that something is enforced\n"
           "when it is not.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].about);
    printf("\ncordon help COMMAND, or cordon COMMAND --help, says more; so do the man pages.\n");
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

bool cli_has_command(const char *name)
{
    return find(name) != NULL;
}

static int unknown(const char *name)
{
    struct cordon_error err = {0};
    char remedy[128];
    const char *near = nearest_word(name, &commands[0].name, COMMAND_COUNT, sizeof commands[0]);
    err_set(&err, CORDON_ERROR_USAGE, CORDON_LAYER_NONE, 0, "find command", name);
    err_why(&err, "there is no such command");
    snprintf(remedy, sizeof remedy, near != NULL ? "did you mean %s?" : "cordon --help lists them", near);
    err_remedy(&err, remedy);
    message_error(&err);
    return EXIT_USAGE;
}

/*
 * A descriptor from 0 to 2 that the caller closed would be given to the next file we open. Standard output
 * that is not there must not look like one that took all: to write there is an error.
 */
static void reserve_standard_streams(void)
{
    static const int flags[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            _exit(EXIT_SETUP);
    }
}

#define STACK_MIN (128u * 1024)

/* With less the kernel would end us in the middle, without a word; there is no room for a message of ours. */
static bool has_stack(void)
{
    static const char words[] = "cordon: the stack is too small: ulimit -s 128 or more is needed\n";
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_MIN)
        return true;
    (void)fd_write_all(STDERR_FILENO, words, sizeof words - 1);
    return false;
}

/* What a caller does with its signals is not for this process: a file that may not grow is an errno, an end is seen. */
static void own_signals(void)
{
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

static bool is_called(const char *word, const char *name)
{
    const char *slash = word == NULL ? NULL : strrchr(word, '/');
    return word != NULL && strcmp(slash == NULL ? word : slash + 1, name) == 0;
}

static int dispatch(int argc, char **argv)
{
    if (is_called(argv[0], "noether-sandbox"))
        return cli_noether(argc, argv);
    if (argc > 1 && strcmp(argv[1], MODULE_RUNNER_FLAG) == 0)
        return cli_module_runner(argc, argv);
    if (argc < 2) {
        fprintf(stderr, "cordon: a command must follow\n  cordon --help lists them\n");
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("cordon %s\n", CORDON_VERSION);
        return 0;
    }
    const bool help = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (help && argc < 3)) {
        put_help();
        return 0;
    }
    const struct command *command = find(argv[help ? 2 : 1]);
    if (command == NULL)
        return unknown(argv[help ? 2 : 1]);
    if (help) {
        char *words[] = {argv[0], argv[2], (char[]){"--help"}, NULL};
        return command->run(3, words);
    }
    return command->run(argc, argv);
}

int main(int argc, char **argv)
{
    reserve_standard_streams();
    if (!has_stack())
        return EXIT_SETUP;
    own_signals();
    message_start();
    const int status = dispatch(argc, argv);
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return status;
    struct cordon_error err = {0};
    err_set(&err, CORDON_ERROR_IO, CORDON_LAYER_OUTPUT, EIO, "write to", "standard output");
    message_error(&err);
    return status == 0 ? EXIT_SETUP : status;
}
