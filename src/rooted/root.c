#include "rooted/root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/guard.h"
#include "rooted/sync.h"

static void ref_drop(struct base_ref *ref)
{
    if (ref == NULL || atomic_fetch_sub(&ref->users, 1) != 1)
        return;
    fd_close(&ref->fd);
    free(ref->canonical);
    free(ref->prefixes);
    free(ref);
}

/* How absolute links in this base read: the host's names for it, then the caller's. */
static int make_prefixes(const struct cordon_root *root, enum path_base base, struct base_ref *ref)
{
    const struct path_rules *rules = &root->rules;
    struct resolve_prefix *p = calloc(rules->home_alias_count + 4, sizeof *p);
    if (p == NULL)
        return -ENOMEM;
    size_t n = 0;
    p[n++] = (struct resolve_prefix){.text = root->paths[base], .inside = true};
    if (ref->canonical != NULL)
        p[n++] = (struct resolve_prefix){.text = ref->canonical, .inside = true};
    for (size_t i = 0; i < rules->home_alias_count; i++)
        p[n++] = (struct resolve_prefix){.text = rules->home_aliases[i],
                                         .inside = base == PATH_HOME};
    p[n++] = (struct resolve_prefix){.text = rules->scratch_alias, .inside = base == PATH_SCRATCH};
    if (base == PATH_ROOTFS)
        p[n++] = (struct resolve_prefix){.text = "/", .inside = true, .weak = true};
    ref->prefixes = p;
    ref->prefix_count = n;
    return 0;
}

static int ref_new(struct cordon_root *root, enum path_base base, struct base_ref **out)
{
    struct base_ref *ref = calloc(1, sizeof *ref);
    if (ref == NULL)
        return -ENOMEM;
    atomic_init(&ref->users, 1);
    ref->fd = resolve_base_open(root->paths[base], &ref->id, &ref->canonical);
    int rc = ref->fd < 0 ? ref->fd : make_prefixes(root, base, ref);
    if (rc < 0) {
        ref_drop(ref);
        return rc;
    }
    *out = ref;
    return 0;
}

static bool same(const struct resolve_identity *a, const struct resolve_identity *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->mount == b->mount;
}

/* The base as it is now. One look at the host for each call: it may have been swapped. */
static int base_acquire(struct cordon_root *root, enum path_base base, struct base_ref **out)
{
    struct resolve_identity now;
    int rc = resolve_base_look(root->paths[base], &now);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&root->lock);
    struct base_ref *ref = root->bases[base];
    if (ref == NULL || !same(&ref->id, &now)) {
        struct base_ref *fresh = NULL;
        rc = ref_new(root, base, &fresh);
        if (rc == 0) {
            if (ref != NULL)
                atomic_fetch_add_explicit(&root->rebinds, 1, memory_order_relaxed);
            ref_drop(ref);
            root->bases[base] = ref = fresh;
        }
    }
    if (rc == 0) {
        atomic_fetch_add(&ref->users, 1);
        *out = ref;
    }
    pthread_mutex_unlock(&root->lock);
    return rc;
}

/* ---- calls and targets ---- */

struct call call_begin(struct cordon_root *root, const char *method, struct cordon_root_error *err)
{
    if (root != NULL)
        atomic_fetch_add_explicit(&root->calls, 1, memory_order_relaxed);
    return (struct call){.root = root, .method = method, .err = err};
}

int call_rooted(const struct call *c)
{
    return c->root != NULL ? 0
                           : call_fail_code(c, NULL, "ERR_INVALID_ARG_VALUE", EINVAL, "", "%s: there is no root",
                                            c->method);
}

int call_options(const struct call *c, const void *options, size_t size)
{
    size_t given = size;
    if (call_rooted(c) < 0)
        return -EINVAL;
    if (options != NULL)
        memcpy(&given, options, sizeof given); /* the first member of each */
    if (given == size)
        return 0;
    return call_fail_code(c, NULL, "ERR_INVALID_ARG_VALUE", EINVAL, "",
                          "the options of %s do not have the size they should", c->method);
}

void target_release(struct target *t)
{
    ref_drop(t->ref);
    t->ref = NULL;
}

int target_map(const struct call *c, const char *request, const char *syscall, struct target *out)
{
    if (call_rooted(c) < 0)
        return -EINVAL;
    out->request = request;
    out->ref = NULL;
    int rc = path_map(&c->root->rules, request, &out->mapped);
    if (rc < 0) {
        out->mapped.prefix = NULL;
        return call_fail(c, out, syscall, rc);
    }
    return 0;
}

int target_acquire(struct cordon_root *root, struct target *out)
{
    const enum path_base base = out->mapped.base;
    if (out->ref != NULL)
        return 0;
    if (root->paths[base] == NULL)
        return RESOLVE_NO_BASE;
    int rc = base_acquire(root, base, &out->ref);
    if (rc != 0)
        return base != PATH_HOME && (rc == -ENOENT || rc == -ENOTDIR) ? RESOLVE_NO_BASE : rc;
    out->base = (struct resolve_base){
        .fd = out->ref->fd,
        .unsafe = (root->flags & CORDON_ROOT_UNSAFE) != 0,
        .strict = (root->flags & CORDON_ROOT_STRICT) != 0,
        .no_xdev = (root->flags & CORDON_ROOT_NO_XDEV) != 0,
        .prefixes = out->ref->prefixes,
        .prefix_count = out->ref->prefix_count,
        .counts = &root->resolved,
    };
    return 0;
}

int target_open(const struct call *c, const char *request, const char *syscall,
                struct target *out)
{
    int rc = target_map(c, request, syscall, out);
    if (rc < 0)
        return rc;
    rc = target_acquire(c->root, out);
    return rc < 0 ? call_fail(c, out, syscall, rc) : 0;
}

int target_direct(const struct cordon_root *root, const struct target *t, const char *name,
                  int flags)
{
    const char *host = root->paths[t->mapped.base];
    if (host == NULL || (root->flags & (CORDON_ROOT_UNSAFE | CORDON_ROOT_NO_XDEV)) != 0)
        return -ENOSYS;
    return resolve_direct(host, name, flags);
}

int target_direct_stat(const struct cordon_root *root, const struct target *t, unsigned mask,
                       struct sys_statx *out)
{
    const char *host = root->paths[t->mapped.base];
    if (host == NULL || (root->flags & (CORDON_ROOT_UNSAFE | CORDON_ROOT_NO_XDEV)) != 0)
        return -ENOSYS;
    return resolve_direct_stat(host, t->mapped.name, mask, out);
}

int target_open_fd(const struct call *c, const char *request, const char *syscall, int flags,
                   struct target *out, int *fd)
{
    int rc = target_map(c, request, syscall, out);
    if (rc < 0)
        return rc;
    *fd = target_direct(c->root, out, out->mapped.name, flags);
    if (*fd >= 0)
        return 0;
    rc = target_acquire(c->root, out);
    if (rc < 0)
        return call_fail(c, out, syscall, rc);
    *fd = resolve_open(&out->base, out->mapped.name, flags);
    return 0;
}

bool target_is_top(const struct target *t)
{
    return t->mapped.len == 0;
}

bool target_same_base(const struct target *a, const struct target *b)
{
    return a->mapped.base == b->mapped.base;
}

int target_check_leaf(const struct call *c, const struct target *t,
                      const struct resolve_place *place)
{
    if (!place->exists || !S_ISLNK(place->st.st_mode) ||
        (c->root->flags & (CORDON_ROOT_LEAF_LINKS_ACT | CORDON_ROOT_UNSAFE)) != 0)
        return 0;
    return resolve_check(&t->base, t->mapped.name);
}

int target_leaf(const struct call *c, const char *request, const char *syscall, struct target *t,
                struct resolve_place *place)
{
    int rc = target_open(c, request, syscall, t);
    if (rc < 0)
        return rc;
    rc = resolve_place(&t->base, t->mapped.name, false, place);
    if (rc == 0)
        rc = target_check_leaf(c, t, place);
    return rc < 0 ? call_fail(c, t, syscall, rc) : 0;
}

pthread_mutex_t *writer_lock(struct cordon_root *root, const char *name)
{
    /* By the name alone: it is the same whichever way led to the directory, and costs no call. */
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *p = name; *p != '\0'; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
    pthread_mutex_t *m = &root->writers[(hash >> 20) % WRITER_STRIPES];
    pthread_mutex_lock(m);
    return m;
}

void writer_unlock(pthread_mutex_t **held)
{
    if (*held != NULL)
        pthread_mutex_unlock(*held);
    *held = NULL;
}

/* ---- life ---- */

/* An alias in the one spelling the mapping compares with; NULL if it is not absolute. */
static char *normal_alias(const char *text)
{
    char name[PATH_MAX];
    if (text[0] != '/' || path_absolute(name, sizeof name, text) >= sizeof name || name[1] == '\0')
        return NULL;
    return strdup(name);
}

static int copy_aliases(struct cordon_root *root, const struct cordon_root_options *o)
{
    static const char *const usual[] = {"/root"};
    const char *const *from = o->home_aliases != NULL ? o->home_aliases : usual;
    const size_t count = o->home_aliases != NULL ? o->home_alias_count : 1;
    char **to = calloc(count + 1, sizeof *to);
    root->rules.home_aliases = (const char *const *)to;
    if (to == NULL)
        return -ENOMEM;
    for (; root->rules.home_alias_count < count; root->rules.home_alias_count++) {
        char *alias = normal_alias(from[root->rules.home_alias_count]);
        if (alias == NULL)
            return -EINVAL;
        to[root->rules.home_alias_count] = alias;
    }
    root->rules.scratch_alias = normal_alias(o->scratch_alias != NULL ? o->scratch_alias
                                                                      : "/scratch");
    return root->rules.scratch_alias == NULL ? -EINVAL : 0;
}

/*
 * A name for a host directory that does not lead elsewhere when the program changes its working directory.
 * Where the way there is closed to us, the relative one is all there is.
 */
static char *fixed_name(const char *host)
{
    struct resolve_identity ignored;
    char cwd[PATH_MAX];
    if (host[0] == '/' || host[0] == '\0' || getcwd(cwd, sizeof cwd) == NULL || cwd[0] != '/')
        return strdup(host);
    const size_t size = strlen(cwd) + strlen(host) + 2;
    char *full = malloc(size);
    if (full == NULL)
        return NULL;
    snprintf(full, size, "%s/%s", cwd[1] != '\0' ? cwd : "", host);
    if (resolve_base_look(full, &ignored) != -EACCES)
        return full;
    free(full);
    return strdup(host);
}

static int copy_hosts(struct cordon_root *root, const struct cordon_root_options *o)
{
    const struct {
        const char *from;
        char **to;
    } hosts[] = {{o->home, &root->paths[PATH_HOME]},
                 {o->scratch, &root->paths[PATH_SCRATCH]},
                 {o->rootfs, &root->paths[PATH_ROOTFS]},
                 {o->sync_dir, &root->sync_dir},
                 {o->rustic_repo, &root->rustic_repo}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        *hosts[i].to = hosts[i].from != NULL ? fixed_name(hosts[i].from) : NULL;
        if (hosts[i].from != NULL && *hosts[i].to == NULL)
            return -ENOMEM;
    }
    return 0;
}

static int copy_options(struct cordon_root *root, const struct cordon_root_options *o)
{
    root->host = strdup(o->host != NULL ? o->host : "global");
    if (root->host == NULL || copy_hosts(root, o) < 0)
        return -ENOMEM;
    root->rules.has_rootfs = o->rootfs != NULL;
    root->flags = o->flags;
    root->sync = o->sync;
    root->max_read_bytes = o->max_read_bytes != 0 ? o->max_read_bytes : UINT64_C(2) << 30;
    root->on_denial = o->on_denial;
    root->user = o->user;
    return copy_aliases(root, o);
}

int cordon_root_open(const struct cordon_root_options *options, struct cordon_root **out,
                     struct cordon_root_error *err)
{
    struct cordon_root *root = calloc(1, sizeof *root);
    struct call c = {.root = root, .method = "open", .err = err};
    if (root == NULL)
        return call_fail_code(&c, NULL, "ENOMEM", ENOMEM, "open", "ENOMEM: not enough memory, open");
    pthread_mutex_init(&root->lock, NULL);
    pthread_mutex_init(&root->in_place, NULL);
    for (size_t i = 0; i < WRITER_STRIPES; i++)
        pthread_mutex_init(&root->writers[i], NULL);

    uint64_t seed = 0;
    int rc = options == NULL || options->size != sizeof *options || options->home == NULL ? -EINVAL : 0;
    if (rc == 0)
        rc = copy_options(root, options);
    if (rc == 0 && getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        rc = -EIO;
    if (rc < 0) {
        call_fail_code(&c, NULL, rc == -ENOMEM ? "ENOMEM" : "ERR_INVALID_ARG_VALUE", -rc, "open",
                       "the options of a root need their size, a home and absolute aliases");
        cordon_root_close(root);
        return rc;
    }
    root->temporary = seed;
    *out = root;
    return 0;
}

void cordon_root_close(struct cordon_root *root)
{
    if (root == NULL)
        return;
    sync_state_free(root->sync_state);
    lock_table_free(&root->locks);
    remember_free(&root->remembered);
    for (size_t i = 0; i < PATH_BASES; i++) {
        ref_drop(root->bases[i]);
        free(root->paths[i]);
    }
    char **aliases = (char **)(uintptr_t)root->rules.home_aliases;
    for (size_t i = 0; i < root->rules.home_alias_count; i++)
        free(aliases[i]);
    free(aliases);
    free((char *)(uintptr_t)root->rules.scratch_alias);
    free(root->host);
    free(root->sync_dir);
    free(root->rustic_repo);
    for (size_t i = 0; i < WRITER_STRIPES; i++)
        pthread_mutex_destroy(&root->writers[i]);
    pthread_mutex_destroy(&root->in_place);
    pthread_mutex_destroy(&root->lock);
    free(root);
}

void cordon_root_counters(const struct cordon_root *root, struct cordon_root_counters *out)
{
    *out = (struct cordon_root_counters){0};
    if (root == NULL)
        return;
    *out = (struct cordon_root_counters){
        .calls = atomic_load(&root->calls),
        .failures = atomic_load(&root->failures),
        .denials = atomic_load(&root->denials),
        .outside = atomic_load(&root->outside),
        .readonly = atomic_load(&root->readonly),
        .walks = atomic_load(&root->resolved.walks),
        .retries = atomic_load(&root->resolved.retries),
        .rebinds = atomic_load(&root->rebinds),
    };
}
