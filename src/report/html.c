/* The page: one file, no script, nothing from elsewhere; a policy in its head says so to browsers. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "policy/capability.h"
#include "report/report.h"

#define ESCAPED_MAX (4096 * 4 + 1)

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>cordon test</title>\n<style>\n"
    ":root { --back: #ffffff; --text: #1b1f24; --quiet: #57606a; --line: #d0d7de; --stripe: #f6f8fa;\n"
    "  --good: #116329; --bad: #a40e26; --focus: #0550ae; }\n"
    "@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --quiet: #9198a1;\n"
    "  --line: #3d444d; --stripe: #151b23; --good: #56d364; --bad: #ff7b72; --focus: #79c0ff; } }\n"
    "body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto;\n"
    "  max-width: 75rem; padding: 1rem 1.5rem 4rem; }\n"
    "h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }\n"
    "code, td.path { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere; }\n"
    "a { color: var(--focus); } :focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }\n"
    "nav a { margin-right: 1rem; }\n"
    ".wide { overflow-x: auto; margin-bottom: 1.5rem; }\n"
    "table { border-collapse: collapse; width: 100%; }\n"
    "th, td { border: 1px solid var(--line); padding: 0.4rem 0.6rem; text-align: left; vertical-align: top; }\n"
    "thead th { background: var(--stripe); } caption { text-align: left; color: var(--quiet); padding: 0.3rem 0; }\n"
    "tbody tr:nth-child(even) { background: var(--stripe); }\n"
    ".good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }\n"
    ".number { text-align: right; font-variant-numeric: tabular-nums; }\n"
    "dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1rem; } dt { color: var(--quiet); }\n"
    "dd { margin: 0; overflow-wrap: anywhere; }\n"
    "@media print { nav { display: none; } }\n"
    "</style>\n</head>\n";

/* Control characters as \xNN, then what HTML means something by. */
static void put_text(struct buf *out, const char *text)
{
    char escaped[ESCAPED_MAX];
    text_escape(escaped, sizeof escaped, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
    for (const char *p = escaped; *p != '\0'; p++) {
        switch (*p) {
        case '&': buf_puts(out, "&amp;"); break;
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '"': buf_puts(out, "&quot;"); break;
        case '\'': buf_puts(out, "&#39;"); break;
        default: buf_append(out, p, 1); break;
        }
    }
}

static void put_cell(struct buf *out, const char *class, const char *text)
{
    buf_printf(out, "<td%s%s%s>", class == NULL ? "" : " class=\"", class == NULL ? "" : class,
               class == NULL ? "" : "\"");
    put_text(out, text);
    buf_puts(out, "</td>");
}

static void put_number(struct buf *out, uint64_t value)
{
    buf_printf(out, "<td class=\"number\">%llu</td>", (unsigned long long)value);
}

static void put_pair(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "<dt>%s</dt><dd><code>", name);
    put_text(out, value);
    buf_puts(out, "</code></dd>\n");
}

static void begin_table(struct buf *out, const char *id, const char *caption,
                        const char *const *columns)
{
    /* A region that can be scrolled must be reachable by the keyboard. */
    buf_printf(out, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n"
                    "<table id=\"%s\"><caption>%s</caption>\n<thead><tr>", caption, id, caption);
    for (; *columns != NULL; columns++)
        buf_printf(out, "<th scope=\"col\">%s</th>", *columns);
    buf_puts(out, "</tr></thead>\n<tbody>\n");
}

static void end_table(struct buf *out)
{
    buf_puts(out, "</tbody></table></div>\n");
}

/* ---- violations ---- */

static void put_by_file(const struct report *report, struct buf *out)
{
    static const char *const columns[] = {"file", "what", "times", "process", "test", "fix", NULL};
    const struct result_violations *all = &report->result->violations;
    char fix[1024];
    begin_table(out, "by-file", "Refused writes by file", columns);
    for (size_t i = 0; i < all->count; i++) {
        const struct result_violation *v = &all->items[i];
        buf_puts(out, "<tr>");
        put_cell(out, "path", v->path);
        put_cell(out, NULL, v->op);
        put_number(out, v->count);
        buf_puts(out, "<td>");
        put_text(out, v->comm);
        buf_printf(out, " (pid %d)</td>", v->pid);
        put_cell(out, "path", v->test == NULL ? "not known" : v->test);
        report_fix(report, v->path, fix, sizeof fix);
        put_cell(out, NULL, fix);
        buf_puts(out, "</tr>\n");
    }
    end_table(out);
}

static int compare_tests(const void *a, const void *b)
{
    const struct result_violation *const *x = a, *const *y = b;
    int r = strcmp((*x)->test == NULL ? "" : (*x)->test, (*y)->test == NULL ? "" : (*y)->test);
    return r != 0 ? r : strcmp((*x)->path, (*y)->path);
}

static void put_by_test(const struct report *report, struct buf *out)
{
    static const char *const columns[] = {"test", "file", "what", "times", NULL};
    const struct result_violations *all = &report->result->violations;
    const struct result_violation **order = calloc(all->count, sizeof(struct result_violation *)); // NOLINT(bugprone-sizeof-expression)
    if (order == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < all->count; i++)
        order[i] = &all->items[i];
    qsort(order, all->count, sizeof(struct result_violation *), compare_tests); // NOLINT(bugprone-sizeof-expression)
    begin_table(out, "by-test", "Refused writes by test", columns);
    for (size_t i = 0; i < all->count; i++) {
        buf_puts(out, "<tr>");
        put_cell(out, "path", order[i]->test == NULL ? "not known" : order[i]->test);
        put_cell(out, "path", order[i]->path);
        put_cell(out, NULL, order[i]->op);
        put_number(out, order[i]->count);
        buf_puts(out, "</tr>\n");
    }
    end_table(out);
    free(order);
}

static void put_violations(const struct report *report, struct buf *out)
{
    const struct result_violations *all = &report->result->violations;
    buf_puts(out, "<h2 id=\"violations\">Violations</h2>\n");
    if (all->unseen > 0)
        buf_printf(out, "<p class=\"bad\">%llu calls of processes or at places that cannot be looked into were not "
                        "judged: whether they were refused is not known.</p>\n", (unsigned long long)all->unseen);
    else if (all->total == 0)
        buf_puts(out, all->watched ? "<p class=\"good\">No write was refused.</p>\n"
                                   : "<p>Nobody was there to name refused writes.</p>\n");
    if (all->total == 0)
        return;
    buf_printf(out, "<p>%llu refused writes; %zu different ones are listed.</p>\n",
               (unsigned long long)all->total, all->count);
    put_by_file(report, out);
    put_by_test(report, out);
}

/* ---- the run ---- */

static void put_figures(const struct report *report, struct buf *out)
{
    const struct result *r = report->result;
    buf_puts(out, "<h2 id=\"run\">Run</h2>\n<dl>\n<dt>command</dt><dd><code>");
    for (size_t i = 0; i < report->command_count; i++) {
        buf_puts(out, i > 0 ? " " : "");
        put_text(out, report->command[i]);
    }
    buf_puts(out, "</code></dd>\n");
    put_pair(out, "project root", report->root);
    put_pair(out, "configuration", report->config);
    put_pair(out, "reason", r->reason);
    if (r->exited)
        buf_printf(out, "<dt>exit status</dt><dd>%d</dd>\n", r->exit_code);
    buf_printf(out, "<dt>duration</dt><dd>%llu ms</dd>\n<dt>processor time</dt><dd>%llu ms</dd>\n"
                    "<dt>memory, at most</dt><dd>%llu KiB</dd>\n<dt>processes</dt><dd>%llu</dd>\n",
               (unsigned long long)r->duration_ms, (unsigned long long)r->cpu_ms,
               (unsigned long long)r->max_rss_bytes / 1024, (unsigned long long)r->processes);
    for (unsigned i = 0; i < r->warning_count; i++)
        put_pair(out, "warning", r->warnings[i]);
    buf_puts(out, "</dl>\n");
}

static void put_ledger(const struct report *report, struct buf *out)
{
    static const char *const columns[] = {"capability", "requested", "applied", "mechanism", "details", NULL};
    buf_puts(out, "<h2 id=\"ledger\">Ledger</h2>\n");
    begin_table(out, "enforced", "What was enforced, and how that is known", columns);
    for (int i = 0; i < CAPABILITY_ALWAYS; i++) {
        const struct ledger_entry *e = &report->result->ledger.entries[i];
        buf_printf(out, "<tr><th scope=\"row\">%s</th>", capability_name((enum capability)i));
        put_cell(out, NULL, ledger_requested(e));
        put_cell(out, e->applied ? "good" : !ledger_asked(e) ? NULL : "bad",
                 e->applied ? "yes" : "no");
        put_cell(out, NULL, ledger_mechanism(e));
        put_cell(out, NULL, e->details);
        buf_puts(out, "</tr>\n");
    }
    end_table(out);
}

void report_html(const struct report *report, struct buf *out)
{
    const enum status status = report->result->status;
    buf_puts(out, head);
    buf_puts(out, "<body>\n<header>\n<h1>cordon test: ");
    buf_printf(out, "<span class=\"%s\">%s</span></h1>\n", status == STATUS_OK ? "good" : "bad",
               status_name(status));
    buf_puts(out, "<nav aria-label=\"Sections\"><a href=\"#violations\">Violations</a>"
                  "<a href=\"#run\">Run</a><a href=\"#ledger\">Ledger</a></nav>\n</header>\n<main>\n");
    put_violations(report, out);
    put_figures(report, out);
    put_ledger(report, out);
    buf_puts(out, "</main>\n</body>\n</html>\n");
}
