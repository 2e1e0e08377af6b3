/*
 * A library module: one function, JSON text in, JSON text out. Build it beside its manifest:
 *
 *   cc -shared -fPIC -o sum.so sum.c
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *cordon_module_call(const char *input_json);

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* What it says on standard error is seen by whoever called the module. */
static char *refuse(const char *why)
{
    fprintf(stderr, "math.sum: %s\n", why);
    return NULL;
}

/* Takes a list of whole numbers; the result is freed by the caller. NULL: the call failed. */
char *cordon_module_call(const char *input_json)
{
    long long sum = 0;
    const char *p = skip_blanks(input_json);
    if (*p != '[')
        return refuse("the input is not a list");
    p = skip_blanks(p + 1);
    while (*p != ']') {
        char *end;
        errno = 0;
        long long number = strtoll(p, &end, 10);
        p = skip_blanks(end);
        if (*p != ',' && *p != ']') /* the input is JSON for certain: nothing else follows a whole number */
            return refuse("the list has something other than whole numbers");
        if (errno != 0 || __builtin_add_overflow(sum, number, &sum))
            return refuse("the numbers are too large");
        p = *p == ',' ? skip_blanks(p + 1) : p;
    }
    char *result = malloc(64);
    if (result != NULL)
        snprintf(result, 64, "{\"sum\": %lld}", sum);
    return result;
}
