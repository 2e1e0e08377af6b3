#include "rooted/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rooted/root.h"

#define LOCKS_MAX 100000 /* nobody may make the process grow without bound */

struct lock_entry {
    struct lock_entry *next;
    uint64_t until_ms;
    enum path_base base;
    char name[];
};

uint64_t lock_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void drop(struct lock_table *t, struct lock_entry **at)
{
    struct lock_entry *gone = *at;
    *at = gone->next;
    free(gone);
    t->count--;
}

/* The entry of `path`; drops what has run out on the way. */
static struct lock_entry **find(struct lock_table *t, const struct path_mapped *path, uint64_t now)
{
    struct lock_entry **at = &t->first;
    while (*at != NULL) {
        if ((*at)->until_ms <= now)
            drop(t, at);
        else if ((*at)->base == path->base && strcmp((*at)->name, path->name) == 0)
            return at;
        else
            at = &(*at)->next;
    }
    return NULL;
}

bool lock_held(struct lock_table *t, const struct path_mapped *path, uint64_t now)
{
    return t->first != NULL && find(t, path, now) != NULL;
}

int lock_set(struct lock_table *t, const struct path_mapped *path, uint64_t now, uint64_t ms)
{
    uint64_t until = now > UINT64_MAX - ms ? UINT64_MAX : now + ms;
    struct lock_entry **at = find(t, path, now);
    if (at != NULL) {
        (*at)->until_ms = until;
        return 0;
    }
    if (t->count >= LOCKS_MAX)
        return -ENOMEM;
    struct lock_entry *e = malloc(sizeof *e + path->len + 1);
    if (e == NULL)
        return -ENOMEM;
    e->until_ms = until;
    e->base = path->base;
    memcpy(e->name, path->name, path->len + 1);
    e->next = t->first;
    t->first = e;
    t->count++;
    return 0;
}

static void clear(struct lock_table *t, const struct path_mapped *path)
{
    struct lock_entry **at = find(t, path, 0);
    if (at != NULL)
        drop(t, at);
}

void lock_table_free(struct lock_table *t)
{
    while (t->first != NULL)
        drop(t, &t->first);
}

int cordon_root_lock_file(struct cordon_root *root, const char *path, uint64_t lock_ms,
                          struct cordon_root_error *err)
{
    struct call c = call_begin(root, "lockFile", err);
    TARGET_AUTO(t);
    int rc = target_open(&c, path, "open", &t);
    if (rc < 0)
        return rc;
    /* What need not exist must still not lead outside. */
    rc = resolve_check(&t.base, t.mapped.name);
    if (rc < 0)
        return call_fail(&c, &t, "open", rc);
    pthread_mutex_lock(&root->lock);
    if (lock_ms == 0)
        clear(&root->locks, &t.mapped);
    else
        rc = lock_set(&root->locks, &t.mapped, lock_now_ms(), lock_ms);
    pthread_mutex_unlock(&root->lock);
    return rc < 0 ? call_fail(&c, &t, "open", rc) : 0;
}
