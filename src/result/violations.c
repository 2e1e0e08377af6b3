#include "result/violations.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct result_violation *x = a;
    const struct result_violation *y = b;
    int r = strcmp(x->path, y->path);
    if (r == 0)
        r = strcmp(x->op, y->op);
    if (r == 0)
        r = strcmp(x->comm, y->comm);
    return r != 0 ? r : strcmp(x->test == NULL ? "" : x->test, y->test == NULL ? "" : y->test);
}

void violations_sort(struct result_violations *v)
{
    if (v->count > 1)
        qsort(v->items, v->count, sizeof *v->items, compare);
}

void violations_free(struct result_violations *v)
{
    free(v->items); /* one block */
    *v = (struct result_violations){0};
}
