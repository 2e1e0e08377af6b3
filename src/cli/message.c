#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

/* One write(), so that lines of several processes do not mix. */
static void say(const char *prefix, const char *text)
{
    char line[2048];
    int n = snprintf(line, sizeof line, "cordon: %s%s\n", prefix, text);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    (void)fd_write_all(STDERR_FILENO, line, len); /* nowhere is left to complain to */
}

void message_error(const struct cordon_error *err)
{
    char text[1536];
    cordon_error_format(err, text, sizeof text);
    say("", text);
}

void message_warning(const char *fmt, ...)
{
    char text[1024];
    char escaped[1536];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text_escape(escaped, sizeof escaped, text, strlen(text));
    say("warning: ", escaped);
}
