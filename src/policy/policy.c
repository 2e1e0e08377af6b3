#include "policy/policy.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

static int no_memory(struct cordon_error *err, const char *subject)
{
    int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, ENOMEM, "hold policy", subject);
    err_why(err, "the policy needs more memory than a policy may take");
    return r;
}

/*
 * Room for one more element of `size` bytes: the list's own place, or a copy of twice the size in
 * the arena. NULL if there is no memory.
 */
static void *list_grow(struct arena *arena, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t wanted = count < 8 ? 16 : count * 2;
    void *copy = arena_array(arena, wanted, size);
    if (copy == NULL)
        return NULL;
    if (count > 0)
        memcpy(copy, items, count * size);
    *room = wanted;
    return copy;
}

static int too_many(struct cordon_error *err, const char *subject, const char *why)
{
    int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, E2BIG, "add to policy", subject);
    err_why(err, why);
    return r;
}

char *policy_normalize_path(struct arena *arena, const char *path)
{
    char *out = arena_alloc(arena, strlen(path) + 2);
    if (out == NULL)
        return NULL;
    size_t n = 0;
    for (const char *p = path; *p != '\0';) {
        size_t len = strcspn(p, "/");
        if (len == 2 && p[0] == '.' && p[1] == '.') {
            while (n > 0 && out[--n] != '/') {
            }
        } else if (len > 0 && !(len == 1 && p[0] == '.')) {
            out[n++] = '/';
            memcpy(out + n, p, len);
            n += len;
        }
        p += len + (p[len] == '/');
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = '\0';
    return out;
}

/* An absolute path, normalised; `what` names it in the error. */
static int take_path(struct arena *arena, const char *path, const char *what, const char **out,
                     struct cordon_error *err)
{
    if (path[0] != '/') {
        int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, EINVAL, what, path);
        err_why(err, "the path is not absolute");
        err_remedy(err, "write it from / on; ~ and variables are not expanded");
        return r;
    }
    if (strlen(path) > POLICY_MAX_PATH) {
        int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, ENAMETOOLONG, what, path);
        err_why(err, "a path holds at most 4095 bytes");
        return r;
    }
    *out = policy_normalize_path(arena, path);
    return *out == NULL ? no_memory(err, path) : 0;
}

int policy_add_bind(struct policy_binds *list, struct arena *arena, const char *host,
                    const char *sandbox, bool optional, struct cordon_error *err)
{
    struct policy_bind bind = {.optional = optional};
    int r = take_path(arena, host, "add bind source", &bind.host, err);
    if (r == 0)
        r = take_path(arena, sandbox, "add bind target", &bind.sandbox, err);
    if (r < 0)
        return r;
    if (list->count >= POLICY_MAX_BINDS)
        return too_many(err, host, "a policy holds at most 8192 binds");

    void *items = list_grow(arena, list->items, list->count, &list->room, sizeof bind);
    if (items == NULL)
        return no_memory(err, host);
    list->items = items;
    list->items[list->count++] = bind;
    return 0;
}

int policy_add_name(struct policy_names *list, struct arena *arena, const char *name,
                    struct cordon_error *err)
{
    if (list->count >= POLICY_MAX_NAMES)
        return too_many(err, name, "a list of a policy holds at most 4096 entries");
    const char *copy = arena_strdup(arena, name);
    void *items = list_grow(arena, list->items, list->count, &list->room, sizeof copy);
    if (copy == NULL || items == NULL)
        return no_memory(err, name);
    list->items = items;
    list->items[list->count++] = copy;
    return 0;
}

int policy_add_var(struct policy_vars *list, struct arena *arena, const char *name,
                   const char *value, struct cordon_error *err)
{
    struct policy_var var = {arena_strdup(arena, name), arena_strdup(arena, value)};
    if (var.name == NULL || var.value == NULL)
        return no_memory(err, name);
    if (list->count >= POLICY_MAX_NAMES)
        return too_many(err, name, "a list of a policy holds at most 4096 entries");

    void *items = list_grow(arena, list->items, list->count, &list->room, sizeof var);
    if (items == NULL)
        return no_memory(err, name);
    list->items = items; /* never a profile's own list: that has no room and was copied */
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            list->items[i] = var; /* the last word on a name wins */
            return 0;
        }
    }
    list->items[list->count++] = var;
    return 0;
}

unsigned policy_path_depth(const char *path)
{
    unsigned depth = 0;
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

bool policy_path_beneath(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    if (len == 1)
        return true; /* "/" */
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool policy_loader_variable(const char *name)
{
    static const char *const names[] = {"PYTHONPATH", "NODE_PATH", "RUBYLIB", "GOPATH"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return text_starts_with(name, "LD_");
}

bool policy_name_matches(const char *pattern, const char *name)
{
    size_t same = 0;
    while (pattern[same] != '\0' && pattern[same] == name[same])
        same++;
    return pattern[same] == name[same] || (pattern[same] == '*' && pattern[same + 1] == '\0');
}

#define LIMIT(name, member) #name, "/limits/" #name, offsetof(struct policy, member.name)

/* Upper ends are far beyond any machine; they catch a unit that was mistaken. */
#define YEARS_10_MS (UINT64_C(10) * 366 * 24 * 3600 * 1000)
#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define TIB_1024 (UINT64_C(1) << 50)
#define PIDS_MAX (4194304 - 3) /* of the kernel's own, less those that a sandbox is made of */

const struct policy_limit policy_limit_table[POLICY_LIMIT_COUNT] = {
    {LIMIT(wall_ms, limits), UNIT_MS, ZERO_DEFAULT, true, 1, YEARS_10_MS},
    {LIMIT(cpu_ms, limits), UNIT_MS, ZERO_DEFAULT, true, 1, YEARS_10_MS},
    {LIMIT(mem_bytes, limits), UNIT_BYTES, ZERO_REFUSED, true, 1024 * 1024, TIB_1024},
    {LIMIT(pids, limits), UNIT_COUNT, ZERO_REFUSED, true, 1, PIDS_MAX},
    {LIMIT(nofile, limits), UNIT_COUNT, ZERO_REFUSED, true, 4, 1073741816},
    {LIMIT(output_bytes, limits), UNIT_BYTES, ZERO_REFUSED, true, 1, 1024 * 1024 * 1024},
    {LIMIT(grace_ms, limits), UNIT_MS, ZERO_TAKEN, false, 1, DAY_MS},
    {"tmp_bytes", "/fs/tmp_bytes", offsetof(struct policy, tmp_bytes), UNIT_BYTES, ZERO_REFUSED,
     false, 4096, TIB_1024},
};

const struct policy_limit *policy_limit_find(const char *key)
{
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        if (strcmp(policy_limit_table[i].key, key) == 0)
            return &policy_limit_table[i];
    }
    return NULL;
}

uint64_t policy_limit_get(const struct policy *policy, const struct policy_limit *limit)
{
    uint64_t value;
    memcpy(&value, (const char *)policy + limit->offset, sizeof value);
    return value;
}

void policy_limit_set(struct policy *policy, const struct policy_limit *limit, uint64_t value)
{
    memcpy((char *)policy + limit->offset, &value, sizeof value);
}
