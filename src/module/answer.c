#include "module/answer.h"

#include <cordon/call.h>
#include <stdio.h>
#include <string.h>

#include "base/json_check.h"
#include "base/text.h"

#define PREVIEW 120 /* of what is no JSON; the whole text is in the result */
#define RC_DATA 65

const char *module_input_wrong(const char *text, size_t len, char *room, size_t size)
{
    struct json_error error;
    if (len > CORDON_CALL_INPUT_MAX)
        return "it is longer than 10 MiB";
    if (json_check(text, len, &error) == 0)
        return NULL;
    snprintf(room, size, "not a JSON value: %u:%u: %s", error.line, error.col, error.why);
    return room;
}

static void refuse(struct result *result, const char *why)
{
    const struct buf *out = &result->out.captured;
    char preview[PREVIEW];
    const size_t shown = out->len < sizeof preview - 1 ? out->len : sizeof preview - 1;
    text_escape(preview, sizeof preview, out->data != NULL ? out->data : "", shown);
    result_reason(result, "the output is not exactly one JSON value: %s%s%s%s", why,
                  shown > 0 ? "; it begins '" : "", preview, shown > 0 ? "'" : "");
    result->status = STATUS_OUTPUT_PARSE_FAILED;
    result->rc = RC_DATA;
}

void module_answer(struct result *result, struct buf *value)
{
    const struct buf *out = &result->out.captured;
    const char *text = out->data != NULL ? out->data : "";
    struct json_error error;
    char why[96];
    if (result->status != STATUS_OK)
        return;
    if (result->out.truncated) { /* the first bytes of a value may be a value, too */
        refuse(result, "it was cut at the output limit");
        return;
    }
    if (json_check(text, out->len, &error) < 0) {
        snprintf(why, sizeof why, "%u:%u: %s", error.line, error.col, error.why);
        refuse(result, why);
        return;
    }
    json_compact(text, out->len, value);
    if (value->failed)
        refuse(result, "it is too long");
}

void module_failure(const struct result *result, const char *id, struct cordon_error *err)
{
    enum cordon_error_kind kind = CORDON_ERROR_EXIT;
    if (err == NULL)
        return;
    *err = (struct cordon_error){0};
    switch (result->status) {
    case STATUS_OK:
        return;
    case STATUS_TIMEOUT:
        kind = CORDON_ERROR_TIMEOUT;
        break;
    case STATUS_OUTPUT_PARSE_FAILED:
        kind = CORDON_ERROR_ANSWER;
        break;
    case STATUS_SPAWN_FAILED:
    case STATUS_INTERNAL_ERROR:
        kind = CORDON_ERROR_SPAWN;
        break;
    default:
        break;
    }
    err_set(err, kind, CORDON_LAYER_MODULE, 0, "call module", id);
    err_why(err, result->reason);
    err_remedy(err, result->error.remedy);
}
