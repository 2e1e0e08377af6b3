#include "module/inprocess.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/direct.h"
#include "sys/process.h"

typedef char *module_call_fn(const char *input_json);

static void failed(struct result *result, int rc, const char *id, const char *why)
{
    result->status = STATUS_NONZERO_EXIT;
    result->rc = result->exit_code = rc;
    result_reason(result, "module %.128s: %.100s", id, why);
}

/* The library stays loaded: it may have started what runs on. */
static module_call_fn *load(const char *path)
{
    module_call_fn *function = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "cordon_module_call");
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast for this */
    return function;
}

void module_in_process(const char *path, const char *id, const char *input, size_t input_len,
                       struct result *result)
{
    const uint64_t start = sys_now_us();
    char *text = strndup(input, input_len);
    module_unprotected(result);
    result->exited = true;
    module_call_fn *function = text == NULL ? NULL : load(path);
    char *answer = function == NULL ? NULL : function(text);
    if (text == NULL)
        failed(result, 1, id, "out of memory");
    else if (function == NULL)
        failed(result, MODULE_EXIT_UNLOADED, id, dlerror());
    else if (answer == NULL)
        failed(result, 1, id, "it returned nothing");
    if (answer != NULL) {
        result->status = STATUS_OK;
        result->rc = 0;
        result->out.captured = BUF_INIT(SIZE_MAX / 2);
        buf_puts(&result->out.captured, answer);
        result->out.bytes = result->out.kept = result->out.captured.len;
    }
    free(answer);
    free(text);
    result->duration_ms = (sys_now_us() - start) / 1000;
}
