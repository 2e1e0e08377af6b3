#include "listener/record.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, const char *s)
{
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return (h ^ 0xff) * UINT64_C(1099511628211);
}

static uint64_t hash(const struct sighting *s)
{
    uint64_t h = mix(UINT64_C(14695981039346656037), s->op);
    h = mix(h, s->path);
    h = mix(h, s->comm);
    return mix(h, s->test == NULL ? "" : s->test);
}

static bool same(const struct records *r, const struct record *item, const struct sighting *s)
{
    return item->op == s->op && strcmp(r->text + item->path, s->path) == 0 &&
           strcmp(r->text + item->comm, s->comm) == 0 &&
           strcmp(item->test == 0 ? "" : r->text + item->test, s->test == NULL ? "" : s->test) == 0;
}

static uint32_t keep(struct records *r, const char *text)
{
    const uint32_t at = r->text_used;
    const size_t size = strlen(text) + 1;
    memcpy(r->text + at, text, size);
    __atomic_store_n(&r->text_used, at + (uint32_t)size, __ATOMIC_RELAXED);
    return at;
}

bool record_add(struct records *r, const struct sighting *seen)
{
    const uint64_t h = hash(seen);
    r->total++;
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->items[i].hash == h && same(r, &r->items[i], seen)) {
            r->items[i].count++;
            return false;
        }
    }
    const size_t test = seen->test == NULL ? 0 : strlen(seen->test);
    const size_t needed = strlen(seen->path) + strlen(seen->comm) + test + 3;
    if (r->text_used == 0)
        __atomic_store_n(&r->text_used, 1, __ATOMIC_RELAXED); /* offset 0 means nothing */
    if (r->count == VIOLATIONS_MAX || r->text_used + needed > sizeof r->text)
        return false;
    struct record *item = &r->items[r->count];
    *item = (struct record){
        .hash = h, .op = seen->op, .rule = seen->rule, .pid = seen->pid, .count = 1};
    item->path = keep(r, seen->path);
    item->comm = keep(r, seen->comm);
    item->test = seen->test == NULL ? 0 : keep(r, seen->test);
    __atomic_store_n(&r->count, r->count + 1, __ATOMIC_RELEASE);
    return true;
}

struct result_violation record_get(const struct records *r, uint32_t index)
{
    const struct record *item = &r->items[index];
    return (struct result_violation){.op = item->op,
                                     .path = r->text + item->path,
                                     .pid = item->pid,
                                     .comm = r->text + item->comm,
                                     .rule = item->rule,
                                     .count = item->count,
                                     .test = item->test == 0 ? NULL : r->text + item->test};
}

bool record_collect(const struct records *r, struct result_violations *out)
{
    const uint32_t count = __atomic_load_n(&r->count, __ATOMIC_ACQUIRE);
    out->total = r->total;
    out->unseen = r->unseen;
    if (count == 0)
        return false;
    /* Once: a listener that was given up may still write. All that the count includes has its text by now. */
    const uint32_t end = __atomic_load_n(&r->text_used, __ATOMIC_RELAXED);
    const uint32_t used = end < sizeof r->text ? end : sizeof r->text;
    /* One block: the list, and the text behind it. */
    struct result_violation *items = malloc(count * sizeof *items + used);
    if (items == NULL)
        return false;
    char *text = (char *)(items + count);
    memcpy(text, r->text, used);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = record_get(r, i);
        items[i].path = text + r->items[i].path;
        items[i].comm = text + r->items[i].comm;
        items[i].test = r->items[i].test == 0 ? NULL : text + r->items[i].test;
    }
    out->items = items;
    out->count = count;
    violations_sort(out);
    return true;
}
