#include "rooted/remember.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

#define BYTES_MAX (50u * 1000 * 1000)
#define KEEP_MS (5u * 60 * 1000)
#define SEEN_MS (15u * 1000)
#define SEEN_MAX 64 /* contents of one path within SEEN_MS */

struct seen {
    uint64_t at_ms;
    char sha256[65];
};

struct remember_entry {
    struct remember_entry *next;
    uint64_t used_ms;
    size_t len;
    char *data; /* owned */
    enum path_base base;
    char *name;              /* owned */
    struct seen seen[SEEN_MAX]; /* a ring */
    unsigned seen_next;
};

static size_t weight(const struct remember_entry *e)
{
    return sizeof *e + e->len + strlen(e->name);
}

static void drop(struct remember *r, struct remember_entry **at)
{
    struct remember_entry *gone = *at;
    *at = gone->next;
    r->bytes -= weight(gone);
    free(gone->data);
    free(gone->name);
    free(gone);
}

/* Finds the entry and moves it to the front; drops what is too old. */
static struct remember_entry *find(struct remember *r, const struct path_mapped *path,
                                   uint64_t now_ms)
{
    struct remember_entry **at = &r->first;
    while (*at != NULL) {
        struct remember_entry *e = *at;
        if (now_ms - e->used_ms > KEEP_MS) {
            drop(r, at);
        } else if (e->base == path->base && strcmp(e->name, path->name) == 0) {
            *at = e->next;
            e->next = r->first;
            r->first = e;
            return e;
        } else {
            at = &e->next;
        }
    }
    return NULL;
}

static struct remember_entry *insert(struct remember *r, const struct path_mapped *path)
{
    struct remember_entry *e = calloc(1, sizeof *e);
    char *name = strdup(path->name);
    if (e == NULL || name == NULL) {
        free(e);
        free(name);
        return NULL;
    }
    e->base = path->base;
    e->name = name;
    e->next = r->first;
    r->first = e;
    r->bytes += weight(e);
    return e;
}

void remember_put(struct remember *r, const struct path_mapped *path, const char *data, size_t len,
                  uint64_t now_ms)
{
    struct remember_entry *e = find(r, path, now_ms);
    if (e == NULL)
        e = insert(r, path);
    char *copy = e != NULL ? malloc(len + 1) : NULL;
    if (copy == NULL)
        return; /* forgetting is always allowed: the watcher then sends plain events */
    memcpy(copy, data, len);
    r->bytes += len - e->len;
    free(e->data);
    e->data = copy;
    e->len = len;
    e->used_ms = now_ms;
    struct seen *s = &e->seen[e->seen_next++ % SEEN_MAX];
    s->at_ms = now_ms;
    sha256_hex(data, len, s->sha256);
    while (r->bytes > BYTES_MAX && r->first != NULL) {
        struct remember_entry **last = &r->first;
        while ((*last)->next != NULL)
            last = &(*last)->next;
        drop(r, last);
    }
}

const char *remember_get(struct remember *r, const struct path_mapped *path, uint64_t now_ms,
                         size_t *len)
{
    struct remember_entry *e = find(r, path, now_ms);
    if (e == NULL || e->data == NULL)
        return NULL;
    *len = e->len;
    return e->data;
}

bool remember_seen(struct remember *r, const struct path_mapped *path, const char *data,
                   size_t len, uint64_t now_ms)
{
    struct remember_entry *e = find(r, path, now_ms);
    if (e == NULL)
        return false;
    char sha256[65];
    sha256_hex(data, len, sha256);
    for (size_t i = 0; i < SEEN_MAX; i++) {
        if (e->seen[i].sha256[0] != '\0' && now_ms - e->seen[i].at_ms <= SEEN_MS &&
            strcmp(e->seen[i].sha256, sha256) == 0)
            return true;
    }
    return false;
}

void remember_free(struct remember *r)
{
    while (r->first != NULL)
        drop(r, &r->first);
}
