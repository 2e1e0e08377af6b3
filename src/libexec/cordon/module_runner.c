/*
 * The runner of library modules: loads one shared library, gives it the text of standard input,
 * and prints what it returns. `cordon call` starts it inside the sandbox; it is a program of its
 * own because the command is static and cannot load anything. Small and with no library but libc:
 * its start is part of every call.
 *
 *   cordon-module-runner --internal-sandbox-runner ID LIBRARY
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_LOAD 44 /* a module that is missing or cannot be loaded */
#define CHUNK (64 * 1024)

typedef char *module_call_fn(const char *input_json);

static int fail(int status, const char *id, const char *what, const char *why)
{
    fprintf(stderr, "module %s: %s: %s\n", id, what, why);
    return status;
}

/* All of standard input, terminated; NULL: errno says why. */
static char *read_input(void)
{
    char *text = NULL;
    size_t len = 0;
    size_t room = 0;
    for (;;) {
        if (len + 1 >= room) {
            room = room == 0 ? CHUNK : 2 * room;
            char *larger = realloc(text, room);
            if (larger == NULL)
                break;
            text = larger;
        }
        ssize_t n = read(STDIN_FILENO, text + len, room - len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        if (n == 0) {
            text[len] = '\0';
            return text;
        }
        len += (size_t)n;
    }
    free(text);
    return NULL;
}

static int write_all(int fd, const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

static int call(const char *id, const char *path)
{
    /* The answer goes out by a descriptor of its own: what the library prints is a message. */
    int answer = dup(STDOUT_FILENO);
    if (answer < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return fail(1, id, "keep standard output", strerror(errno));
    char *input = read_input();
    if (input == NULL)
        return fail(1, id, "read standard input", strerror(errno));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return fail(EXIT_LOAD, id, "load", dlerror());
    void *symbol = dlsym(library, "cordon_module_call");
    if (symbol == NULL)
        return fail(EXIT_LOAD, id, "load", dlerror());
    module_call_fn *function;
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast for this */
    const char *output = function(input);
    fflush(NULL);
    if (output == NULL)
        return fail(1, id, "call", "it returned nothing");
    return write_all(answer, output) < 0 ? fail(1, id, "write the answer", strerror(errno)) : 0;
}

int main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[1], "--internal-sandbox-runner") != 0) {
        fprintf(stderr, "this program belongs to `cordon call`\n");
        return 1;
    }
    _exit(call(argv[2], argv[3])); /* what the library left behind is not run any more */
}
