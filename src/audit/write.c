/* The audit's findings as lines, as JSON and as SARIF. */
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "base/json.h"
#include "base/text.h"

#define MESSAGE_MAX 640

static void message(const struct audit_finding *f, char *out, size_t size)
{
    snprintf(out, size, "%s: %s%s", audit_rules[f->rule].message, f->subject,
             f->unreasoned ? " (the allow comment gives no reason)" : "");
}

void audit_write_text(const struct audit *audit, struct buf *out)
{
    char text[MESSAGE_MAX];
    for (size_t i = 0; i < audit->count; i++) {
        const struct audit_finding *f = &audit->findings[i];
        message(f, text, sizeof text);
        text_put(out, f->file);
        buf_printf(out, ":%u:%u: %s %s\n", f->line, f->col, audit_rules[f->rule].id, text);
    }
}

void audit_write_json(const struct audit *audit, struct buf *out)
{
    char text[MESSAGE_MAX];
    struct json_writer w = JSON_WRITER(out, 2);
    json_begin(&w, '{');
    json_key(&w, "findings");
    json_begin(&w, '[');
    for (size_t i = 0; i < audit->count; i++) {
        const struct audit_finding *f = &audit->findings[i];
        message(f, text, sizeof text);
        json_begin(&w, '{');
        json_put_string(&w, "file", f->file);
        json_put_uint(&w, "line", f->line);
        json_put_uint(&w, "col", f->col);
        json_put_string(&w, "id", audit_rules[f->rule].id);
        json_put_string(&w, "message", text);
        json_put_string(&w, "fix", audit_rules[f->rule].fix);
        json_end(&w, '}');
    }
    json_end(&w, ']');
    json_put_uint(&w, "total", audit->total);
    json_put_uint(&w, "files", audit->files);
    json_end(&w, '}');
    buf_puts(out, "\n");
}

/* ---- SARIF ---- */

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    json_key(w, key);
    json_begin(w, '{');
    json_put_string(w, "text", text);
    json_end(w, '}');
}

static void put_driver(struct json_writer *w)
{
    json_key(w, "tool");
    json_begin(w, '{');
    json_key(w, "driver");
    json_begin(w, '{');
    json_put_string(w, "name", "cordon audit");
    json_put_string(w, "version", CORDON_VERSION);
    json_key(w, "rules");
    json_begin(w, '[');
    for (int i = 0; i < RULE_COUNT; i++) {
        json_begin(w, '{');
        json_put_string(w, "id", audit_rules[i].id);
        put_text(w, "shortDescription", audit_rules[i].message);
        put_text(w, "help", audit_rules[i].fix);
        json_end(w, '}');
    }
    json_end(w, ']');
    json_end(w, '}');
    json_end(w, '}');
}

/* A path as the reference of a URI: everything but unreserved characters and / by its number. */
static void put_uri(struct json_writer *w, const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char uri[PATH_MAX * 3];
    size_t used = 0;
    for (; *path != '\0' && used + 4 < sizeof uri; path++) {
        if (strchr(plain, *path) != NULL)
            uri[used++] = *path;
        else
            used += (size_t)snprintf(uri + used, sizeof uri - used, "%%%02X", (unsigned char)*path);
    }
    uri[used] = '\0';
    json_put_string(w, "uri", uri);
}

static void put_result(struct json_writer *w, const struct audit_finding *f)
{
    char text[MESSAGE_MAX];
    message(f, text, sizeof text);
    json_begin(w, '{');
    json_put_string(w, "ruleId", audit_rules[f->rule].id);
    json_put_uint(w, "ruleIndex", (uint64_t)f->rule);
    json_put_string(w, "level", "warning");
    put_text(w, "message", text);
    json_key(w, "locations");
    json_begin(w, '[');
    json_begin(w, '{');
    json_key(w, "physicalLocation");
    json_begin(w, '{');
    json_key(w, "artifactLocation");
    json_begin(w, '{');
    put_uri(w, f->file);
    json_put_string(w, "uriBaseId", "ROOT");
    json_end(w, '}');
    json_key(w, "region");
    json_begin(w, '{');
    json_put_uint(w, "startLine", f->line);
    json_put_uint(w, "startColumn", f->col);
    json_end(w, '}');
    json_end(w, '}');
    json_end(w, '}');
    json_end(w, ']');
    json_end(w, '}');
}

void audit_write_sarif(const struct audit *audit, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out, 2);
    json_begin(&w, '{');
    json_put_string(&w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_put_string(&w, "version", "2.1.0");
    json_key(&w, "runs");
    json_begin(&w, '[');
    json_begin(&w, '{');
    put_driver(&w);
    json_put_string(&w, "columnKind", "unicodeCodePoints");
    json_key(&w, "results");
    json_begin(&w, '[');
    for (size_t i = 0; i < audit->count; i++)
        put_result(&w, &audit->findings[i]);
    json_end(&w, ']');
    json_end(&w, '}');
    json_end(&w, ']');
    json_end(&w, '}');
    buf_puts(out, "\n");
}
