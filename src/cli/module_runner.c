#include "cli/module_runner.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/input.h"
#include "cli/message.h"
#include "module/answer.h"
#include "module/direct.h"

extern char **environ;

const char *module_runner_place(struct arena *arena)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    return module_runner_beside(arena, self, "../libexec/cordon/" MODULE_RUNNER);
}

static int find(struct module *module, struct arena *arena, const char *id, struct cordon_error *err)
{
    struct module_root root = MODULE_ROOT_INIT;
    int r = module_root_open(&root, arena, NULL, environ, err);
    if (r == 0)
        r = module_find(module, &root, id, arena, err);
    module_root_close(&root);
    return r;
}

static int run(struct arena *arena, const char *id, struct result *result, struct cordon_error *err)
{
    BUF_AUTO input = BUF_INIT(0);
    BUF_AUTO value = BUF_INIT(UINT32_MAX);
    struct module module;
    if (id == NULL) {
        int r = err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_MODULE, EINVAL, "read module id", "");
        err_why(err, "the id is missing");
        return r;
    }
    int r = input_read_module(&input, err);
    if (r == 0)
        r = find(&module, arena, id, err);
    if (r < 0)
        return r;
    const char *runner = module_runner_place(arena);
    char **command = runner == NULL ? NULL : module_command(arena, &module, runner);
    if (command == NULL)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MODULE, ENOMEM, "call module", id);
    module_direct(command, environ, input.data, input.len, true, NULL, result);
    module_answer(result, &value);
    module_failure(result, id, err);
    if (err->kind != CORDON_ERROR_NONE)
        return -ECHILD;
    r = fd_write_all(STDOUT_FILENO, value.data, value.len);
    return r == 0 ? 0 : err_set(err, CORDON_ERROR_IO, CORDON_LAYER_OUTPUT, -r, "write", "standard output");
}

int cli_module_runner(int argc, char **argv)
{
    struct arena arena = ARENA_INIT(POLICY_MAX_BYTES * 256u);
    struct cordon_error err = {0};
    struct result result;
    result_init(&result);
    int r = run(&arena, argc > 2 ? argv[2] : NULL, &result, &err);
    if (r < 0)
        message_error(&err);
    result_release(&result);
    arena_free(&arena);
    return r < 0 ? 1 : 0;
}
