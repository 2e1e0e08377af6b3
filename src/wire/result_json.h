/* The result document: struct result and what else is known of the run, as JSON. */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "result/result.h"

struct result_context {
    char *const *cmd;
    size_t cmd_count;
    const char *profile;
    const char *policy_sha256; /* NULL: the policy never came to be */
    const char *kernel;        /* uname -r */
    const char *bwrap_path;    /* NULL unless that backend ran */
    const char *module_id;     /* NULL unless a module was called */
    const struct buf *value;   /* with module_id: what it returned, as JSON; NULL, or empty: nothing */
};

/*
 * One line of JSON and a newline, appended; `out->failed` says whether it fitted. Captured bytes
 * that are not UTF-8 are replaced; truncated text ends in a line "[TRUNCATED] N of M bytes".
 */
void result_write_json(const struct result *result, const struct result_context *context,
                       struct buf *out);

/* The line that follows truncated text, without its newline. */
void result_truncation_line(const struct result_stream *stream, char *out, size_t size);

/* The value of "enforced". */
void ledger_write_json(const struct ledger *ledger, struct json_writer *w);
