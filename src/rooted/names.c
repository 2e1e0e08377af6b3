#include "rooted/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/entry.h"

#define BUFFER_BYTES ((size_t)16 * 1024) /* on the stack: a tree of many small directories reads each one */
#define INODE_ORDER_FROM 8 /* below, there is nothing to win */

static int add(struct names *n, const struct sys_dirent *d)
{
    size_t len = strlen(d->name) + 1;
    if (n->count == n->cap) {
        size_t cap = n->cap == 0 ? 64 : n->cap * 2;
        struct name *items = realloc(n->items, cap * sizeof *items);
        if (items == NULL)
            return -ENOMEM;
        n->items = items;
        n->cap = cap;
    }
    if (n->text == NULL || n->text_len + len > n->text_cap) {
        size_t cap = n->text_cap == 0 ? 2048 : n->text_cap * 2;
        char *text = realloc(n->text, cap);
        if (text == NULL)
            return -ENOMEM;
        n->text = text;
        n->text_cap = cap;
    }
    memcpy(n->text + n->text_len, d->name, len);
    n->items[n->count++] = (struct name){.ino = d->ino, .at = n->text_len, .type = d->type};
    n->text_len += len;
    return 0;
}

int names_read(int dir, struct names *out)
{
    *out = (struct names){0};
    _Alignas(struct sys_dirent) char buf[BUFFER_BYTES];
    int rc = 0;
    while (rc == 0) {
        long got = sys_getdents(dir, buf, BUFFER_BYTES);
        if (got < 0)
            rc = (int)got;
        if (got <= 0)
            break;
        for (long at = 0; rc == 0 && at < got;) {
            const struct sys_dirent *d = sys_next_entry(buf, &at);
            if (strcmp(d->name, ".") != 0 && strcmp(d->name, "..") != 0)
                rc = add(out, d);
        }
    }
    if (rc < 0)
        names_free(out);
    return rc;
}

const char *names_at(const struct names *names, size_t i)
{
    return names->text + names->items[i].at;
}

static int by_inode(const void *a, const void *b)
{
    const struct name *x = a;
    const struct name *y = b;
    return x->ino < y->ino ? -1 : x->ino > y->ino;
}

void names_sort_by_inode(struct names *names)
{
    if (names->count >= INODE_ORDER_FROM)
        qsort(names->items, names->count, sizeof *names->items, by_inode);
}

void names_free(struct names *names)
{
    free(names->items);
    free(names->text);
    *names = (struct names){0};
}
