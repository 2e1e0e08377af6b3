/*
 * A library module: one function, JSON text in, JSON text out. Build it beside its manifest:
 *
 *   cc -shared -fPIC -o sum.so sum.c
 */
#include <stdio.h>
#include <stdlib.h>

char *cordon_module_call(const char *input_json);

/* Takes a list of whole numbers; the result is freed by the caller. NULL: the call failed. */
char *cordon_module_call(const char *input_json)
{
    long long sum = 0;
    const char *p = input_json;
    char *result = malloc(64);
    for (; result != NULL && *p != '\0';) {
        char *end;
        long long number = strtoll(p, &end, 10);
        sum += end > p ? number : 0;
        p = end > p ? end : p + 1;
    }
    if (result != NULL)
        snprintf(result, 64, "{\"sum\": %lld}", sum);
    return result;
}
