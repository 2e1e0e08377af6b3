#include "api/arguments.h"

#include <errno.h>
#include <string.h>

#include "result/result.h"

static int refuse(const char *why, struct cordon_error *err)
{
    err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_NONE, EINVAL, "read arguments", "");
    err_why(err, why);
    return -EINVAL;
}

int argument_need(const void *argument, const char *why, struct cordon_error *err)
{
    return argument != NULL ? 0 : refuse(why, err);
}

int argument_trace_id(const char *trace_id, struct cordon_error *err)
{
    const bool good = trace_id == NULL || result_trace_valid(trace_id);
    return good ? 0 : refuse("the trace id is not 32 lower-case hex digits", err);
}

int argument_options(void *to, size_t known, const void *given, struct cordon_error *err)
{
    size_t size = 0;
    if (given == NULL)
        return 0;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size)
        return refuse("the size of the options is not set", err);
    memcpy(to, given, size < known ? size : known); /* one that is older than this library ends earlier */
    return 0;
}
