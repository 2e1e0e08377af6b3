#include "report/report.h"

#include <string.h>

#include "base/text.h"

/* The tests that wrote to one path, without repeating one that stands beside its like. */
static void put_tests(const struct result_violation *v, size_t count, struct buf *out)
{
    const char *last = NULL;
    unsigned shown = 0, more = 0;
    for (size_t i = 0; i < count; i++) {
        if (v[i].test == NULL || (last != NULL && strcmp(last, v[i].test) == 0))
            continue;
        last = v[i].test;
        if (shown == REPORT_SUMMARY_TESTS) {
            more++;
            continue;
        }
        buf_puts(out, shown++ == 0 ? "  test: " : ", ");
        text_put(out, v[i].test);
    }
    if (more > 0)
        buf_printf(out, " and %u more", more);
    if (shown > 0)
        buf_puts(out, "\n");
}

static void put_path(const struct report *report, const struct result_violation *v, size_t count,
                     struct buf *out)
{
    char fix[1024];
    uint64_t calls = 0;
    for (size_t i = 0; i < count; i++)
        calls += v[i].count;
    buf_puts(out, "TEST_SANDBOX_VIOLATION: attempted to write to ");
    text_put(out, v->path);
    buf_printf(out, " (%s, pid %d ", v->op, v->pid);
    text_put(out, v->comm);
    if (calls > 1)
        buf_printf(out, "; %llu times in all", (unsigned long long)calls);
    buf_puts(out, ")\n");
    put_tests(v, count, out);
    report_fix(report, v->path, fix, sizeof fix);
    buf_printf(out, "  fix: %s\n", fix);
}

void report_summary(const struct report *report, struct buf *out)
{
    const struct result_violations *all = &report->result->violations;
    size_t paths = 0;
    for (size_t i = 0; i < all->count;) {
        size_t next = i + 1;
        while (next < all->count && strcmp(all->items[next].path, all->items[i].path) == 0)
            next++;
        if (paths++ < REPORT_SUMMARY_PATHS)
            put_path(report, &all->items[i], next - i, out);
        i = next;
    }
    if (paths > REPORT_SUMMARY_PATHS)
        buf_printf(out, "TEST_SANDBOX_VIOLATION: %zu more paths; --result FILE and --report FILE.html name them\n",
                   paths - REPORT_SUMMARY_PATHS);
    if (all->unseen > 0)
        buf_printf(out, "cordon: %llu calls of processes or at places that cannot be looked into were not judged; "
                        "the kernel refused what it had to\n", (unsigned long long)all->unseen);
    if (all->total > 0)
        buf_printf(out, "cordon: %llu refused write%s to %zu path%s\n", (unsigned long long)all->total,
                   all->total == 1 ? "" : "s", paths, paths == 1 ? "" : "s");
}
