/*
 * What every operation shares: the root, the call in progress, and the targets of the call. A
 * target is a request that was mapped to a base, with that base held open for the call.
 */
#pragma once

#include <cordon/root.h>
#include <pthread.h>
#include <stdatomic.h>

#include "rooted/lock.h"
#include "rooted/path.h"
#include "rooted/remember.h"
#include "rooted/resolve.h"

struct sync_state;

#define WRITER_STRIPES 64

/* A base as it was found; shared by the calls that use it and replaced when it was swapped. */
struct base_ref {
    atomic_uint users;
    int fd; /* owned */
    struct resolve_identity id;
    char *canonical;                  /* owned */
    struct resolve_prefix *prefixes;  /* owned */
    size_t prefix_count;
};

struct cordon_root {
    struct path_rules rules;    /* owns the aliases */
    char *paths[PATH_BASES];    /* owned; host directories, NULL if not configured */
    char *host;                 /* owned */
    char *sync_dir;             /* owned or NULL */
    char *rustic_repo;          /* likewise */
    uint32_t flags;
    uint32_t sync;
    uint64_t max_read_bytes;
    cordon_root_denial_fn *on_denial;
    void *user; /* borrowed */

    pthread_mutex_t lock; /* guards bases, locks, remembered and sync_state */
    struct base_ref *bases[PATH_BASES];
    struct lock_table locks;
    struct remember remembered;
    struct sync_state *sync_state; /* owned; NULL before the first heartbeat */

    /* Writers of one file take turns; files share stripes by hash. */
    pthread_mutex_t writers[WRITER_STRIPES];
    pthread_mutex_t in_place; /* a file may have other names: held from its first new byte to its new end */

    uint64_t temporary; /* where the names of temporary files come from */
    atomic_bool opens_always; /* this kernel cannot list the attributes of a name */
    struct resolve_counts resolved;
    _Atomic uint64_t calls, failures, denials, outside, readonly, rebinds;
};

/* One call of the interface. */
struct call {
    struct cordon_root *root;
    const char *method;
    struct cordon_root_error *err; /* may be NULL */
};

struct call call_begin(struct cordon_root *root, const char *method, struct cordon_root_error *err);

/* Fails without a root: whoever could not open one may ask it nevertheless. */
int call_rooted(const struct call *c);

/* Likewise, and on a read-only root, before anything is touched. `request` is what the message quotes. */
int call_writable(const struct call *c, const char *request);

/* Options of a call carry their size, so that they can grow; NULL is the usual ones. */
int call_options(const struct call *c, const void *options, size_t size);

struct target {
    const char *request;       /* borrowed */
    struct base_ref *ref;      /* owned reference; NULL before target_open() */
    struct resolve_base base;
    struct path_mapped mapped;
};
void target_release(struct target *t);
/* Only the reference: a target is large, and target_open() fills the rest. */
#define TARGET_AUTO(name)                                          \
    __attribute__((cleanup(target_release))) struct target name;   \
    name.ref = NULL

/* Maps the request and looks at its base once. `syscall` is for the error. */
int target_open(const struct call *c, const char *request, const char *syscall,
                struct target *out);
int target_map(const struct call *c, const char *request, const char *syscall, struct target *out);

/* Takes hold of the base of a target that was only mapped; 0 or a code for call_fail(). */
int target_acquire(struct cordon_root *root, struct target *out);

/* resolve_direct() for a name beneath the target's base, where the root allows it. */
int target_direct(const struct cordon_root *root, const struct target *t, const char *name,
                  int flags);

/* resolve_direct_stat() likewise, for the target itself. */
int target_direct_stat(const struct cordon_root *root, const struct target *t, unsigned mask,
                       struct sys_statx *out);

/*
 * Maps and opens in one, for reading calls: 0 and `*fd` is a descriptor or what resolve_open()
 * says; or an error that has been reported.
 */
int target_open_fd(const struct call *c, const char *request, const char *syscall, int flags,
                   struct target *out, int *fd);

bool target_is_top(const struct target *t);
bool target_same_base(const struct target *a, const struct target *b);

/*
 * For calls that act on the last name itself: refuses a link that leads outside, unless the root
 * says that links are acted on. 0 or what resolve_check() says.
 */
int target_check_leaf(const struct call *c, const struct target *t,
                      const struct resolve_place *place);

/*
 * For a call that acts on the last name itself: maps, finds the place, and refuses what
 * target_check_leaf() refuses. 0, or an error that has been reported.
 */
int target_leaf(const struct call *c, const char *request, const char *syscall, struct target *t,
                struct resolve_place *place);

/* Writers of the same name in the same directory exclude each other between these, whatever they put there. */
pthread_mutex_t *writer_lock(struct cordon_root *root, const char *name);
void writer_unlock(pthread_mutex_t **held);

/* ---- failing: all fill call->err, count, report a denial, and return the negative errno ---- */

int call_fail(const struct call *c, const struct target *t, const char *syscall, int rc);

/* For a name beneath or beside the target, as display path. */
int call_fail_at(const struct call *c, const struct target *t, const char *name,
                 const char *syscall, int rc);

/* Two paths; `culprit` is the one that an outside error speaks of. */
int call_fail_pair(const struct call *c, const struct target *culprit, const struct target *from,
                   const struct target *to, const char *syscall, int rc);

/* The same of what lies `below` both, "" being they themselves. */
int call_fail_below(const struct call *c, const struct target *culprit, const struct target *from,
                    const struct target *to, const char *below, const char *syscall, int rc);

/* What could not be watched; the limits on that have other names than their numbers say. */
int call_fail_watch(const struct call *c, const struct target *t, int rc);

/* What errors call the entry `below` a target, "" being itself; cut if it does not fit. */
void call_show(const struct call *c, const struct target *t, const char *below, char *out, size_t size);

/* Any other shape. `t` may be NULL for an error without a path; the message is complete. */
__attribute__((format(printf, 6, 7))) int call_fail_code(const struct call *c,
                                                         const struct target *t, const char *code,
                                                         int errnum, const char *syscall,
                                                         const char *fmt, ...);
