#include "wire/result_json.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void result_truncation_line(const struct result_stream *stream, char *out, size_t size)
{
    snprintf(out, size, "[TRUNCATED] %llu of %llu bytes", (unsigned long long)stream->kept,
             (unsigned long long)stream->bytes);
}

static void put_stream(struct json_writer *w, const char *key, const struct result_stream *stream)
{
    const struct buf *text = &stream->captured;
    char line[96];
    json_key(w, key);
    const char *data = text->data != NULL ? text->data : "";
    json_bytes(w, data, text->len);
    if (!stream->truncated || w->out->failed)
        return;
    /* Captured text can be large: the line goes in before the closing quote, not into a copy. */
    result_truncation_line(stream, line, sizeof line);
    w->out->len--;
    if (text->len > 0 && data[text->len - 1] != '\n')
        buf_puts(w->out, "\\n");
    buf_printf(w->out, "%s\"", line);
}

static bool is_text(const struct buf *bytes)
{
    size_t at = 0;
    size_t unit = 1;
    for (; at < bytes->len && unit > 0; at += unit)
        unit = text_utf8(bytes->data + at, bytes->len - at);
    return unit > 0;
}

/* Only where the text has lost something. */
static void put_exact(struct json_writer *w, const char *key, const struct result_stream *stream)
{
    const struct buf *bytes = &stream->captured;
    if (is_text(bytes))
        return;
    json_key(w, key);
    json_base64(w, bytes->data, bytes->len);
}

static void put_cmd(struct json_writer *w, const struct result_context *context)
{
    json_key(w, "cmd");
    json_begin(w, '[');
    for (size_t i = 0; i < context->cmd_count; i++)
        json_string(w, context->cmd[i]);
    json_end(w, ']');
}

void ledger_write_json(const struct ledger *ledger, struct json_writer *w)
{
    json_begin(w, '{');
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        const struct ledger_entry *e = &ledger->entries[i];
        if (i >= CAPABILITY_ALWAYS && !ledger_asked(e))
            continue;
        const char *requested = ledger_requested(e);
        json_key(w, capability_name((enum capability)i));
        json_begin(w, '{');
        json_key(w, "requested");
        json_raw(w, requested, strlen(requested));
        json_put_bool(w, "applied", e->applied);
        json_put_string(w, "mechanism", ledger_mechanism(e));
        json_put_string(w, "details", e->details);
        json_end(w, '}');
    }
    json_end(w, '}');
}

static void put_backend(struct json_writer *w, const struct result *r,
                        const struct result_context *context)
{
    json_key(w, "backend");
    json_begin(w, '{');
    json_put_string(w, "kind", r->backend_kind);
    json_put_bool(w, "effective", r->backend_effective);
    if (context->bwrap_path != NULL)
        json_put_string(w, "bwrap_path", context->bwrap_path);
    json_end(w, '}');
}

static void put_exit(struct json_writer *w, const struct result *r)
{
    json_key(w, "exit");
    if (!r->exited && r->signal == 0) {
        json_null(w); /* nothing ran */
        return;
    }
    json_begin(w, '{');
    json_put_int(w, r->exited ? "code" : "signal", r->exited ? r->exit_code : r->signal);
    json_end(w, '}');
}

static void put_usage(struct json_writer *w, const struct result *r)
{
    json_key(w, "usage");
    json_begin(w, '{');
    json_put_uint(w, "cpu_ms", r->cpu_ms);
    json_put_uint(w, "max_rss_bytes", r->max_rss_bytes);
    json_put_uint(w, "processes", r->processes);
    json_end(w, '}');
}

static void put_violations(struct json_writer *w, const struct result_violations *violations)
{
    json_key(w, "violations");
    json_begin(w, '[');
    for (size_t i = 0; i < violations->count; i++) {
        const struct result_violation *v = &violations->items[i];
        json_begin(w, '{');
        json_put_string(w, "op", v->op);
        json_put_string(w, "path", v->path);
        json_put_int(w, "pid", v->pid);
        json_put_string(w, "comm", v->comm);
        json_put_string(w, "rule", v->rule);
        json_put_uint(w, "count", v->count);
        if (v->test != NULL)
            json_put_string(w, "test", v->test);
        json_end(w, '}');
    }
    json_end(w, ']');
    json_put_uint(w, "violations_total", violations->total);
}

static void put_module(struct json_writer *w, const struct result_context *context)
{
    if (context->module_id == NULL)
        return;
    json_key(w, "value");
    if (context->value != NULL && context->value->len > 0)
        json_raw(w, context->value->data, context->value->len);
    else
        json_null(w);
    json_put_string(w, "module_id", context->module_id);
}

static void put_warnings(struct json_writer *w, const struct result *r)
{
    json_key(w, "warnings");
    json_begin(w, '[');
    for (unsigned i = 0; i < r->warning_count; i++)
        json_string(w, r->warnings[i]);
    json_end(w, ']');
}

void result_write_json(const struct result *result, const struct result_context *context,
                       struct buf *out)
{
    struct json_writer w = JSON_WRITER(out, 0);
    json_begin(&w, '{');
    json_put_int(&w, "version", 2);
    json_put_string(&w, "status", status_name(result->status));
    json_put_int(&w, "rc", result->rc);
    json_put_string(&w, "reason", result->reason);
    put_stream(&w, "stdout", &result->out);
    put_stream(&w, "stderr", &result->err);
    json_put_uint(&w, "duration_ms", result->duration_ms);
    put_cmd(&w, context);
    json_put_string(&w, "traceId", result->trace_id);
    json_key(&w, "enforced");
    ledger_write_json(&result->ledger, &w);
    json_put_string(&w, "profile", context->profile);
    put_backend(&w, result, context);
    put_exit(&w, result);
    json_put_uint(&w, "stdout_bytes", result->out.bytes);
    json_put_uint(&w, "stderr_bytes", result->err.bytes);
    json_put_bool(&w, "stdout_truncated", result->out.truncated);
    json_put_bool(&w, "stderr_truncated", result->err.truncated);
    put_exact(&w, "stdout_base64", &result->out);
    put_exact(&w, "stderr_base64", &result->err);
    put_usage(&w, result);
    put_violations(&w, &result->violations);
    put_module(&w, context);
    put_warnings(&w, result);
    json_key(&w, "cordon");
    json_begin(&w, '{');
    json_put_string(&w, "version", CORDON_VERSION);
    json_put_string(&w, "kernel", context->kernel);
    json_put_string(&w, "policy_sha256", context->policy_sha256);
    json_end(&w, '}');
    json_end(&w, '}');
    buf_puts(out, "\n");
}
