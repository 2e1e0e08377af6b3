#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "api/handles.h"
#include "wire/policy_json.h"
#include "wire/result_json.h"

#define DOCUMENT_MAX (1024u * 1024 * 1024)

static int copy_command(struct cordon_result *result, char *const argv[])
{
    result->command = arena_strings(&result->arena, argv);
    if (result->command == NULL)
        return -ENOMEM;
    while (result->command[result->command_count] != NULL)
        result->command_count++;
    return 0;
}

struct cordon_result *result_make(char *const command[], const char *trace_id)
{
    struct cordon_result *result = calloc(1, sizeof *result);
    if (result == NULL)
        return NULL;
    result->arena = ARENA_INIT(POLICY_ARENA_BYTES);
    result->json = BUF_INIT(DOCUMENT_MAX);
    result->value = BUF_INIT(DOCUMENT_MAX);
    result_init(&result->result);
    result_trace(&result->result, trace_id);
    if (copy_command(result, command) == 0)
        return result;
    cordon_result_free(result);
    return NULL;
}

void result_document(struct cordon_result *result)
{
    struct utsname host;
    const struct result_context context = {
        .cmd = result->command,
        .cmd_count = result->command_count,
        .profile = result->profile,
        .policy_sha256 = result->policy_sha256[0] == '\0' ? NULL : result->policy_sha256,
        .kernel = uname(&host) == 0 ? host.release : NULL,
        .bwrap_path = result->result.bwrap_path[0] == '\0' ? NULL : result->result.bwrap_path,
        .module_id = result->module_id,
        .value = &result->value,
    };
    result_write_json(&result->result, &context, &result->json);
    if (buf_string(&result->json) == NULL)
        buf_free(&result->json);
}

/* Whoever got no result, and asks it nevertheless, is told so. */
static const struct cordon_result no_result = {
    .result = {.status = STATUS_INTERNAL_ERROR,
               .rc = 1,
               .reason = "there is no result",
               .error = {.kind = CORDON_ERROR_USAGE, .errnum = EINVAL, .what = "read a result", .why = "there is none"}},
};

static const struct cordon_result *given(const struct cordon_result *result)
{
    return result != NULL ? result : &no_result;
}

const char *cordon_result_status(const struct cordon_result *result)
{
    return status_name(given(result)->result.status);
}

int cordon_result_rc(const struct cordon_result *result)
{
    return given(result)->result.rc;
}

const char *cordon_result_reason(const struct cordon_result *result)
{
    return given(result)->result.reason;
}

int cordon_result_exit_code(const struct cordon_result *result)
{
    return given(result)->result.exited ? given(result)->result.exit_code : -1;
}

int cordon_result_signal(const struct cordon_result *result)
{
    return given(result)->result.signal;
}

uint64_t cordon_result_duration_ms(const struct cordon_result *result)
{
    return given(result)->result.duration_ms;
}

const char *cordon_result_stdout(const struct cordon_result *result, size_t *len)
{
    *len = given(result)->result.out.captured.len;
    return *len > 0 ? given(result)->result.out.captured.data : "";
}

const char *cordon_result_stderr(const struct cordon_result *result, size_t *len)
{
    *len = given(result)->result.err.captured.len;
    return *len > 0 ? given(result)->result.err.captured.data : "";
}

int cordon_result_enforced(const struct cordon_result *result, const char *capability,
                                  struct cordon_enforcement *out)
{
    int c = capability_parse(capability);
    if (c < 0)
        return -ENOENT;
    const struct ledger_entry *entry = &given(result)->result.ledger.entries[c];
    *out = (struct cordon_enforcement){.requested = ledger_requested(entry),
                                       .applied = entry->applied,
                                       .mechanism = ledger_mechanism(entry),
                                       .details = entry->details};
    return 0;
}

const struct cordon_error *cordon_result_error(const struct cordon_result *result)
{
    return given(result)->result.error.kind == CORDON_ERROR_NONE ? NULL : &given(result)->result.error;
}

const char *cordon_result_json(const struct cordon_result *result)
{
    return given(result)->json.data;
}

const char *cordon_result_value(const struct cordon_result *result, size_t *len)
{
    *len = given(result)->value.len;
    return *len > 0 ? given(result)->value.data : NULL;
}

const char *cordon_result_module_id(const struct cordon_result *result)
{
    return given(result)->module_id;
}

void cordon_result_free(struct cordon_result *result)
{
    if (result == NULL)
        return;
    result_release(&result->result);
    buf_free(&result->json);
    buf_free(&result->value);
    arena_free(&result->arena);
    free(result);
}
