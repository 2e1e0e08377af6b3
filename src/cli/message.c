#include "cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

static bool colours; /* as the environment has it */

void message_start(void)
{
    const char *term = getenv("TERM");
    colours = getenv("NO_COLOR") == NULL && term != NULL && strcmp(term, "dumb") != 0;
}

bool message_colour(int fd)
{
    return colours && isatty(fd) == 1;
}

/* One write(), so that lines of several processes do not mix. */
static void say(const char *code, const char *prefix, const char *text)
{
    char line[2048];
    const bool colour = message_colour(STDERR_FILENO);
    int n = snprintf(line, sizeof line, "%scordon: %s%s%s\n", colour ? code : "", prefix,
                     colour ? "\033[0m" : "", text);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    (void)fd_write_all(STDERR_FILENO, line, len); /* nowhere is left to complain to */
}

int message_print(const struct buf *text)
{
    const int r = text->failed ? -ENOMEM : fd_write_all(STDOUT_FILENO, text->data, text->len);
    if (r < 0) {
        struct cordon_error err = {0};
        err_set(&err, CORDON_ERROR_IO, CORDON_LAYER_OUTPUT, -r, "write to", "standard output");
        message_error(&err);
    }
    return r;
}

void message_error(const struct cordon_error *err)
{
    char text[1536];
    cordon_error_format(err, text, sizeof text);
    say("\033[1;31m", "", text);
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
    say("\033[1;33m", "warning: ", escaped);
}
