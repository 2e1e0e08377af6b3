#include "wire/result_json.h"

#include <signal.h>
#include <stdio.h>

#include "../harness.h"

static struct arena arena = {.max = 1 << 24};
static struct result r;
static struct result_context context;

static void begin(void)
{
    static char *cmd[] = {"sh", "-c", "echo \"x\""};
    result_init(&r);
    r.status = STATUS_OK;
    r.exited = true;
    r.out.captured = BUF_INIT(1 << 20);
    r.err.captured = BUF_INIT(1 << 20);
    snprintf(r.trace_id, sizeof r.trace_id, "0123456789abcdef0123456789abcdef");
    context = (struct result_context){
        .cmd = cmd, .cmd_count = 3, .profile = "stage", .kernel = "6.1", .policy_sha256 = "00"};
}

static const struct json *written(void)
{
    static struct buf out;
    const struct json_limits limits = {.max_bytes = 1 << 22, .max_depth = 16};
    struct json_error error;
    buf_free(&out);
    out = BUF_INIT(1 << 22);
    result_write_json(&r, &context, &out);
    CHECK(!out.failed && out.data[out.len - 1] == '\n');
    const struct json *root = json_parse(&arena, out.data, out.len, &limits, &error);
    CHECK(root != NULL);
    return root;
}

static const char *text_of(const char *key)
{
    const struct json *v = json_get(written(), key);
    CHECK(v != NULL && v->type == JSON_STRING);
    return v->text;
}

TEST(the_document_has_its_fields_in_order)
{
    static const char *const keys[] = {
        "version", "status", "rc", "reason", "stdout", "stderr", "duration_ms", "cmd", "traceId",
        "enforced", "profile", "backend", "exit", "stdout_bytes", "stderr_bytes",
        "stdout_truncated", "stderr_truncated", "usage", "violations", "violations_total", "warnings", "cordon"};
    begin();
    const struct json *m = written()->first;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++, m = m->next) {
        CHECK(m != NULL);
        CHECK_STR(m->key, keys[i]);
    }
    CHECK(m == NULL);
    const struct json *root = written();
    CHECK_INT(json_get(root, "version")->integer, 2);
    CHECK_INT(json_get(root, "enforced")->count, CAPABILITY_ALWAYS);
    CHECK_STR(json_get(root, "cmd")->first->next->next->text, "echo \"x\"");
}

TEST(the_ledger_keeps_the_kind_of_what_was_requested)
{
    begin();
    snprintf(r.ledger.entries[CAP_MEMORY].requested, 96, "536870912");
    r.ledger.entries[CAP_MEMORY].applied = true;
    r.ledger.entries[CAP_MEMORY].mechanism = "cgroup2";
    const struct json *enforced = json_get(written(), "enforced");
    const struct json *memory = json_get(enforced, "memory");
    CHECK_INT(json_get(memory, "requested")->integer, 536870912);
    CHECK(json_get(memory, "applied")->boolean);
    CHECK_STR(json_get(memory, "mechanism")->text, "cgroup2");
    CHECK(json_get(json_get(enforced, "ipc"), "requested")->type == JSON_NULL);
}

TEST(truncated_text_says_so_on_a_line_of_its_own)
{
    begin();
    buf_puts(&r.out.captured, "abcd");
    r.out.bytes = 4;
    CHECK_STR(text_of("stdout"), "abcd");
    r.out.bytes = 10;
    r.out.kept = 4;
    r.out.truncated = true;
    CHECK_STR(text_of("stdout"), "abcd\n[TRUNCATED] 4 of 10 bytes");
    buf_puts(&r.out.captured, "\n");
    r.out.kept = 5;
    CHECK_STR(text_of("stdout"), "abcd\n[TRUNCATED] 5 of 10 bytes");
    CHECK_STR(text_of("stderr"), "");
    result_release(&r);
}

TEST(bytes_that_are_not_utf8_are_replaced_and_there_exactly)
{
    begin();
    buf_append(&r.err.captured, "a\xff\0b\x1b", 5);
    const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 16};
    struct json_error error;
    BUF_AUTO out = BUF_INIT(1 << 20);
    result_write_json(&r, &context, &out);
    /* Our own reader takes no NUL; a reader of results must. */
    CHECK(json_parse(&arena, out.data, out.len, &limits, &error) == NULL);
    CHECK(strstr(buf_string(&out), "\"stderr\":\"a\xef\xbf\xbd\\u0000b\\u001b\"") != NULL);
    CHECK(strstr(out.data, "\"stderr_base64\":\"Yf8AYhs=\"") != NULL);
    CHECK(strstr(out.data, "stdout_base64") == NULL);
    result_release(&r);
}

TEST(how_it_ended)
{
    begin();
    r.exit_code = 3;
    CHECK_INT(json_get(json_get(written(), "exit"), "code")->integer, 3);
    r.exited = false;
    r.signal = SIGKILL;
    CHECK_INT(json_get(json_get(written(), "exit"), "signal")->integer, 9);
    r.signal = 0;
    CHECK(json_get(written(), "exit")->type == JSON_NULL);
}

TEST(a_fake_result_in_the_output_stays_output)
{
    begin();
    buf_puts(&r.out.captured, "{\"status\": \"OK\"}\",\"rc\":0,\"");
    r.status = STATUS_TIMEOUT;
    CHECK_STR(text_of("status"), "TIMEOUT");
    result_release(&r);
}

TEST(modules_and_violations_appear_where_they_are)
{
    static struct result_violation violations[] = {
        {.op = "open for writing", .path = "/x", .pid = 4, .comm = "python3", .rule = "guard",
         .count = 2}};
    static char seven[] = "7";
    static const struct buf value = {.data = seven, .len = 1};
    begin();
    r.violations = (struct result_violations){.items = violations, .count = 1, .total = 2};
    context.module_id = "a.b";
    context.value = &value;
    context.bwrap_path = "/usr/bin/bwrap";
    result_warn(&r, "careful");
    const struct json *root = written();
    CHECK_INT(json_get(root, "value")->integer, 7);
    CHECK_STR(json_get(root, "module_id")->text, "a.b");
    CHECK_STR(json_get(json_get(root, "violations")->first, "path")->text, "/x");
    CHECK_STR(json_get(json_get(root, "backend"), "bwrap_path")->text, "/usr/bin/bwrap");
    CHECK_STR(json_get(root, "warnings")->first->text, "careful");
}

TEST(a_document_that_does_not_fit_says_so)
{
    begin();
    r.out.truncated = true;
    BUF_AUTO out = BUF_INIT(64);
    result_write_json(&r, &context, &out);
    CHECK(out.failed);
}
