#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "api/handles.h"
#include "wire/result_json.h"

const char *cordon_result_status(const struct cordon_result *result)
{
    return status_name(result->result.status);
}

int cordon_result_rc(const struct cordon_result *result)
{
    return result->result.rc;
}

const char *cordon_result_reason(const struct cordon_result *result)
{
    return result->result.reason;
}

int cordon_result_exit_code(const struct cordon_result *result)
{
    return result->result.exited ? result->result.exit_code : -1;
}

int cordon_result_signal(const struct cordon_result *result)
{
    return result->result.signal;
}

uint64_t cordon_result_duration_ms(const struct cordon_result *result)
{
    return result->result.duration_ms;
}

const char *cordon_result_stdout(const struct cordon_result *result, size_t *len)
{
    *len = result->result.out.captured.len;
    return *len > 0 ? result->result.out.captured.data : "";
}

const char *cordon_result_stderr(const struct cordon_result *result, size_t *len)
{
    *len = result->result.err.captured.len;
    return *len > 0 ? result->result.err.captured.data : "";
}

int cordon_result_enforced(const struct cordon_result *result, const char *capability,
                                  struct cordon_enforcement *out)
{
    int c = capability_parse(capability);
    if (c < 0)
        return -ENOENT;
    const struct ledger_entry *entry = &result->result.ledger.entries[c];
    *out = (struct cordon_enforcement){.requested = entry->requested,
                                       .applied = entry->applied,
                                       .mechanism = entry->mechanism,
                                       .details = entry->details};
    return 0;
}

const struct cordon_error *cordon_result_error(const struct cordon_result *result)
{
    return result->result.error.kind == CORDON_ERROR_NONE ? NULL : &result->result.error;
}

const char *cordon_result_json(const struct cordon_result *result)
{
    return result->json.data;
}

void cordon_result_free(struct cordon_result *result)
{
    if (result == NULL)
        return;
    result_release(&result->result);
    buf_free(&result->json);
    arena_free(&result->arena);
    free(result);
}
