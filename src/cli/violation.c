#include "cli/violation.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

static uint64_t hash(const char *s)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h;
}

static bool is_new(struct violation_notes *notes, const char *path)
{
    const uint64_t h = hash(path);
    for (size_t i = 0; i < notes->count; i++) {
        if (notes->seen[i] == h)
            return false;
    }
    if (notes->count < VIOLATIONS_MAX)
        notes->seen[notes->count++] = h;
    return true;
}

static void say(struct violation_notes *notes, const struct result_violation *v)
{
    const char *end = notes->raw ? "\r\n" : "\n";
    char path[2048];
    char comm[128];
    char test[512] = "";
    char text[PIPE_BUF];
    if (notes->quiet || !is_new(notes, v->path))
        return;
    text_escape(path, sizeof path, v->path, strlen(v->path));
    text_escape(comm, sizeof comm, v->comm, strlen(v->comm));
    if (v->test != NULL)
        text_escape(test, sizeof test, v->test, strlen(v->test));
    int n = snprintf(text, sizeof text,
                     "TEST_SANDBOX_VIOLATION: attempted to write to %s (%s, pid %d %s%s%s)%s%s%s%s",
                     path, v->op, v->pid, comm, v->test == NULL ? "" : ", test ", test, end,
                     notes->fix == NULL ? "" : "  fix: ", notes->fix == NULL ? "" : notes->fix,
                     notes->fix == NULL ? "" : end);
    const size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    (void)fd_write_all(STDERR_FILENO, text, len);
}

/* Who does not read what is said must not keep the run from its end. */
void violation_say(struct violation_notes *notes, const struct result_violation *violation)
{
    if (fd_takes(STDERR_FILENO))
        say(notes, violation);
}

void violation_say_rest(struct violation_notes *notes, const struct result_violations *violations)
{
    for (size_t i = 0; i < violations->count; i++)
        say(notes, &violations->items[i]);
}
