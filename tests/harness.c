#include "harness.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SKIPPED 77
#define TEST_SECONDS 60 /* a test that hangs is a failure, not a hang of the suite */

#if TEST_SANITIZED
/* A sanitizer reads its options in /proc, and looks for leaks there: where it is not, it has to be told by a function. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return access("/proc/self", F_OK) == 0 ? "" : "detect_leaks=0";
}
#endif

static struct test *first;
static struct test **last = &first;

/* Written by a test, read by the runner when it has ended. */
static struct {
    unsigned count;
    char names[8][128];
} *directories;

void test_register(struct test *test)
{
    *last = test;
    last = &test->next;
}

char *test_directory(char *template)
{
    const size_t most = sizeof directories->names / sizeof directories->names[0];
    char *name = mkdtemp(template);
    if (name != NULL && directories->count < most)
        snprintf(directories->names[directories->count++], sizeof directories->names[0], "%s", name);
    return name;
}

static void remove_directories(void)
{
    for (unsigned i = 0; i < directories->count; i++) {
        char command[160];
        snprintf(command, sizeof command, "rm -rf '%s'", directories->names[i]);
        if (access(directories->names[i], F_OK) == 0 && system(command) != 0)
            printf("# %s is left\n", directories->names[i]);
    }
    directories->count = 0;
}

void test_figure(const char *fmt, ...)
{
    const char *path = getenv("CORDON_FIGURES");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    va_list args;
    if (file == NULL)
        return;
    va_start(args, fmt);
    vfprintf(file, fmt, args);
    va_end(args);
    fputc('\n', file);
    fclose(file);
}

void test_skip(const char *what)
{
    printf("# skip: %s\n", what);
    fflush(stdout);
    _exit(EXIT_SKIPPED);
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
    va_list args;
    printf("# %s:%d: ", file, line);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    _exit(1);
}

/* Runs one test in a child; prints its TAP line; returns false if it failed. */
static bool run(const struct test *t, unsigned number)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(TEST_SECONDS);
        t->run();
        fflush(stdout);
        exit(0); /* not _exit(): LeakSanitizer reports here */
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    remove_directories();
    bool skipped = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED;
    bool ok = pid > 0 && (t->signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == t->signal
                                         : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (!ok && !skipped && pid > 0 && WIFSIGNALED(status))
        printf("# ended by signal %d\n", WTERMSIG(status));
    printf("%s %u - %s%s\n", ok || skipped ? "ok" : "not ok", number, t->name,
           skipped ? " # SKIP" : "");
    return ok || skipped;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    unsigned number = 0;
    bool ok = true;
    directories = mmap(NULL, sizeof *directories, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (directories == MAP_FAILED)
        return 1;
    for (const struct test *t = first; t != NULL; t = t->next)
        count += argc < 2 || strcmp(argv[1], t->name) == 0;
    printf("1..%u\n", count);
    for (const struct test *t = first; t != NULL; t = t->next) {
        if (argc < 2 || strcmp(argv[1], t->name) == 0)
            ok = run(t, ++number) && ok;
    }
    return ok && count > 0 ? 0 : 1;
}
