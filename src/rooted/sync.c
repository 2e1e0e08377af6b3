/*
 * Heartbeats of editors: while somebody edits a file, changes that others make to it are told as
 * events with a patch. The content as last told is kept as a snapshot, in memory and, if the root
 * has a directory for it, on disk.
 */
#include "rooted/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "rooted/descriptor.h"
#include "rooted/guard.h"
#include "rooted/patch.h"
#include "rooted/root.h"
#include "rooted/write.h"

#define PATHS_MAX 256
#define INTEREST_MS 60000
#define DEBOUNCE_MS 250
#define STABLE_CHECK_MS 100
#define SUPPRESS_MS 5000
#define PATCH_UNITS_MAX 1000000
#define READS_MAX 64 /* in one go, more than the kernel queues: the root is locked meanwhile */
#define MASK                                                                            \
    (IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | \
     IN_ONLYDIR)

/* A file somebody edits. */
struct synced {
    struct synced *next;
    char *request; /* owned; as the heartbeat gave it */
    struct path_mapped path;
    int watch;  /* of the directory in inotify_fd; shared with its other files; -1: it is gone */
    int dir_fd; /* owned; likewise */
    char leaf[NAME_MAX + 1];
    uint64_t heartbeat_ms;
    uint64_t due_ms;  /* a look is due; 0: none */
    uint64_t size;    /* at the last look */
    char *content;    /* owned; the snapshot; never NULL */
    size_t len;
    bool deleted;
    char saved[65];     /* hash of what the interface itself wrote last */
    uint64_t saved_ms;
    bool tell_delete; /* deleted through the interface: said at once */
};

struct sync_state {
    int inotify_fd; /* owned */
    int store_fd;   /* owned; where snapshots are kept, or -1 */
    struct synced *first;
    size_t count;
};

void cordon_root_sync_event_free(struct cordon_root_sync_event *event)
{
    free(event->path);
    event->path = NULL;
    cordon_root_data_free(&event->content);
    cordon_root_data_free(&event->patch);
}

static struct synced *find(struct sync_state *s, const struct path_mapped *path)
{
    struct synced *f = s->first;
    while (f != NULL && (f->path.base != path->base || strcmp(f->path.name, path->name) != 0))
        f = f->next;
    return f;
}

/* ---- snapshots on disk: "<hash of the place>", with a first line "+" or "-" (deleted) ---- */

static void store_name(const struct synced *f, char out[65])
{
    char place[PATH_MAX + 16];
    int len = snprintf(place, sizeof place, "%d:%s", (int)f->path.base, f->path.name);
    sha256_hex(place, (size_t)len, out);
}

static void store(const struct sync_state *s, const struct synced *f)
{
    char name[65];
    char temporary[80];
    if (s->store_fd < 0)
        return;
    store_name(f, name);
    snprintf(temporary, sizeof temporary, "%s.new", name);
    FD_AUTO fd = openat(s->store_fd, temporary,
                        O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fd_write_all(fd, f->deleted ? "-\n" : "+\n", 2) == 0 &&
        fd_write_all(fd, f->content, f->len) == 0)
        (void)!renameat(s->store_fd, temporary, s->store_fd, name);
}

static void set_snapshot(const struct sync_state *s, struct synced *f, const char *data, size_t len,
                         bool deleted)
{
    char *copy = malloc(len + 1);
    if (copy == NULL)
        return; /* the old snapshot stays: the next change is told as a larger patch */
    if (len > 0)
        memcpy(copy, data, len);
    copy[len] = '\0';
    free(f->content);
    f->content = copy;
    f->len = len;
    f->deleted = deleted;
    store(s, f);
}

/* What a snapshot from before says; false if there is none. */
static bool load(const struct sync_state *s, struct synced *f)
{
    char name[65];
    struct stat st;
    struct cordon_root_data d = {0};
    if (s->store_fd < 0)
        return false;
    store_name(f, name);
    FD_AUTO fd = openat(s->store_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || descriptor_regular(fd, &st) < 0 ||
        descriptor_read(fd, &st, UINT64_C(1) << 30, &d.data, &d.len) < 0)
        return false;
    bool good = d.len >= 2 && d.data[1] == '\n';
    if (good) {
        f->deleted = d.data[0] == '-';
        f->len = d.len - 2;
        memmove(d.data, d.data + 2, f->len + 1);
        free(f->content);
        f->content = d.data;
    } else {
        cordon_root_data_free(&d);
    }
    return good;
}

/* ---- paths come and go ---- */

/* Gives up the directory of the file, and its watch, unless another file there needs it. */
static void unbind(const struct sync_state *s, struct synced *gone)
{
    bool shared = false;
    for (const struct synced *f = s->first; f != NULL; f = f->next)
        shared = shared || (f != gone && f->watch == gone->watch);
    if (!shared && gone->watch >= 0)
        inotify_rm_watch(s->inotify_fd, gone->watch);
    gone->watch = -1;
    fd_close(&gone->dir_fd);
}

static void drop(struct sync_state *s, struct synced **at)
{
    struct synced *gone = *at;
    *at = gone->next;
    s->count--;
    unbind(s, gone);
    free(gone->content);
    free(gone->request);
    free(gone);
}

static void expire(struct sync_state *s, uint64_t now)
{
    for (struct synced **at = &s->first; *at != NULL;) {
        if (now - (*at)->heartbeat_ms > INTEREST_MS)
            drop(s, at);
        else
            at = &(*at)->next;
    }
    while (s->count > PATHS_MAX && s->first != NULL) {
        struct synced **oldest = &s->first;
        for (struct synced **at = &s->first; *at != NULL; at = &(*at)->next) {
            if ((*at)->heartbeat_ms < (*oldest)->heartbeat_ms)
                oldest = at;
        }
        drop(s, oldest);
    }
}

/* The file as it is now. 0, -ENOENT, or another -errno. */
static int read_now(const struct synced *f, struct cordon_root_data *out)
{
    struct stat st;
    if (f->dir_fd < 0) /* its directory is gone */
        return -ENOENT;
    FD_AUTO fd = openat(f->dir_fd, f->leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = descriptor_regular(fd, &st);
    return rc < 0 ? rc : descriptor_read(fd, &st, UINT64_C(1) << 30, &out->data, &out->len);
}

/* Watches the directory of the file, as it is now. */
static int bind_to(const struct sync_state *s, struct synced *f, const struct resolve_place *place)
{
    memcpy(f->leaf, place->name, sizeof f->leaf);
    f->dir_fd = openat(place->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->watch = f->dir_fd < 0 ? -errno : resolve_fd_watch(s->inotify_fd, f->dir_fd, MASK);
    return f->watch < 0 ? f->watch : 0;
}

static int find_place(const struct target *t, struct resolve_place *out)
{
    int rc = resolve_place(&t->base, t->mapped.name, true, out);
    return rc == 0 && out->name[0] == '\0' ? -EISDIR : rc;
}

static bool is_bound_to(const struct synced *f, const struct resolve_place *place)
{
    struct stat then, now;
    return strcmp(f->leaf, place->name) == 0 && fstat(f->dir_fd, &then) == 0 && fstat(place->dir, &now) == 0 &&
           descriptor_same(&then, &now);
}

/* A directory may have been replaced, or be gone, since the last heartbeat: then so is the file. */
static int renew(struct sync_state *s, struct synced *f, const struct target *t, uint64_t now)
{
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = find_place(t, &place);
    f->heartbeat_ms = now;
    if (rc == 0 && is_bound_to(f, &place))
        return 0;
    unbind(s, f);
    f->due_ms = now + 1;
    if (rc == 0)
        rc = bind_to(s, f, &place);
    return rc == -ENOENT || rc == RESOLVE_NOTDIR ? 0 : rc;
}

static int add(struct cordon_root *root, const struct target *t, uint64_t now)
{
    struct sync_state *s = root->sync_state;
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = find_place(t, &place);
    if (rc < 0)
        return rc;
    struct synced *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -ENOMEM;
    f->request = strdup(t->request);
    f->content = calloc(1, 1);
    f->path = t->mapped;
    f->heartbeat_ms = now;
    bind_to(s, f, &place);
    f->next = s->first;
    s->first = f;
    s->count++;
    if (f->request == NULL || f->content == NULL || f->watch < 0) {
        rc = f->watch < 0 ? f->watch : -ENOMEM;
        drop(s, &s->first);
        return rc;
    }
    struct cordon_root_data data = {0};
    if (load(s, f))
        f->due_ms = now + 1; /* it may have changed since */
    else if (read_now(f, &data) == 0)
        set_snapshot(s, f, data.data, data.len, false);
    else
        set_snapshot(s, f, "", 0, true);
    cordon_root_data_free(&data);
    return 0;
}

static int start(struct cordon_root *root)
{
    if (root->sync_state != NULL)
        return 0;
    struct sync_state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    struct resolve_identity ignored;
    char *canonical = NULL;
    s->store_fd = root->sync_dir != NULL
                      ? resolve_base_open(root->sync_dir, &ignored, &canonical) : -1;
    free(canonical);
    s->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int rc = s->inotify_fd < 0 ? -errno
             : root->sync_dir != NULL && s->store_fd < 0 ? s->store_fd : 0;
    if (rc < 0) {
        sync_state_free(s);
        return rc;
    }
    root->sync_state = s;
    return 0;
}

int cordon_root_sync_fs_watch(struct cordon_root *root, const char *path, bool active,
                              struct cordon_root_error *err)
{
    struct call c = call_begin(root, "syncFsWatch", err);
    TARGET_AUTO(t);
    int rc = target_open(&c, path, "watch", &t);
    if (rc < 0)
        return rc;
    const uint64_t now = lock_now_ms();
    pthread_mutex_lock(&root->lock);
    rc = start(root);
    struct synced *f = rc == 0 ? find(root->sync_state, &t.mapped) : NULL;
    if (f != NULL && active) {
        rc = renew(root->sync_state, f, &t, now);
    } else if (f != NULL) {
        struct synced **at = &root->sync_state->first;
        while (*at != f)
            at = &(*at)->next;
        drop(root->sync_state, at);
    } else if (rc == 0 && active) {
        rc = add(root, &t, now);
    }
    if (rc == 0)
        expire(root->sync_state, now);
    pthread_mutex_unlock(&root->lock);
    return rc < 0 ? call_fail_watch(&c, &t, rc) : 0;
}

/* ---- events ---- */

static void drain(struct sync_state *s, uint64_t now)
{
    _Alignas(struct inotify_event) char buf[16384];
    ssize_t got = 1;
    for (int i = 0; i < READS_MAX && got > 0; i++) {
        RACE_POINT("drain");
        got = read(s->inotify_fd, buf, sizeof buf);
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)(buf + at);
            at += (ssize_t)(sizeof *e + e->len);
            for (struct synced *f = s->first; f != NULL; f = f->next) {
                const bool all = (e->mask & IN_Q_OVERFLOW) != 0;
                if (all || (f->watch == e->wd && e->len > 0 && strcmp(e->name, f->leaf) == 0))
                    f->due_ms = now + DEBOUNCE_MS;
            }
        }
    }
}

static void fill_event(const struct synced *f, const char *type, const char *old, size_t old_len,
                       struct cordon_root_sync_event *out)
{
    *out = (struct cordon_root_sync_event){.type = type, .path = strdup(f->request)};
    out->content.data = malloc(f->len + 1);
    if (out->content.data != NULL) {
        memcpy(out->content.data, f->content, f->len + 1);
        out->content.len = f->len;
    }
    sha256_hex(f->content, f->len, out->sha256);
    BUF_AUTO patch = BUF_INIT(256u << 20);
    if (patch_units(old, old_len) < PATCH_UNITS_MAX &&
        patch_units(f->content, f->len) < PATCH_UNITS_MAX &&
        patch_make(old, old_len, f->content, f->len, &patch) == 0 && buf_string(&patch) != NULL) {
        out->patch = (struct cordon_root_data){.data = patch.data, .len = patch.len};
        patch.data = NULL;
    }
}

/* A look at one file: 1 and an event if there is something to tell. */
static int look(struct sync_state *s, struct synced *f, uint64_t now,
                struct cordon_root_sync_event *out)
{
    struct cordon_root_data data = {0};
    int rc = read_now(f, &data);
    if (rc == 0 && data.len != f->size) {
        f->size = data.len; /* still growing or shrinking: look again before telling */
        f->due_ms = now + STABLE_CHECK_MS;
        cordon_root_data_free(&data);
        return 0;
    }
    f->due_ms = 0;
    char hash[65] = "";
    if (rc == 0)
        sha256_hex(data.data, data.len, hash);
    const bool gone = rc == -ENOENT;
    const bool same = gone ? f->deleted
                           : !f->deleted && data.len == f->len &&
                                 (f->len == 0 || memcmp(data.data, f->content, f->len) == 0);
    /* Our own write is no news; what differs from it is, even within its time. */
    const bool echo = !gone && now - f->saved_ms <= SUPPRESS_MS && strcmp(hash, f->saved) == 0;
    if ((rc < 0 && !gone) || same || echo) {
        if (echo && !same)
            set_snapshot(s, f, data.data, data.len, false);
        cordon_root_data_free(&data);
        return 0;
    }
    char *old = f->content;
    size_t old_len = f->len;
    f->content = NULL;
    set_snapshot(s, f, gone ? "" : data.data, gone ? 0 : data.len, gone);
    cordon_root_data_free(&data);
    if (f->content == NULL) {
        f->content = old;
        return 0;
    }
    fill_event(f, gone ? "delete" : "change", old, old_len, out);
    free(old);
    return 1;
}

/* 1: `out` holds an event. Else the time until something is due, in `*wait`; -1: nothing is. */
static int next_event(struct sync_state *s, uint64_t now, struct cordon_root_sync_event *out,
                      int64_t *wait)
{
    expire(s, now);
    drain(s, now);
    *wait = -1;
    for (struct synced *f = s->first; f != NULL; f = f->next) {
        if (f->tell_delete) {
            f->tell_delete = false;
            *out = (struct cordon_root_sync_event){.type = "delete", .path = strdup(f->request)};
            sha256_hex("", 0, out->sha256);
            return 1;
        }
        if (f->due_ms != 0 && f->due_ms <= now && look(s, f, now, out) == 1)
            return 1;
        if (f->due_ms != 0) {
            int64_t left = f->due_ms > now ? (int64_t)(f->due_ms - now) : 0;
            *wait = *wait < 0 || left < *wait ? left : *wait;
        }
    }
    return 0;
}

int cordon_root_sync_next(struct cordon_root *root, int timeout_ms,
                          struct cordon_root_sync_event *out, struct cordon_root_error *err)
{
    const struct call c = {.root = root, .method = "syncFsWatch", .err = err};
    if (call_rooted(&c) < 0)
        return -EINVAL;
    const uint64_t begun = lock_now_ms();
    for (;;) {
        const uint64_t now = lock_now_ms();
        int64_t wait = -1;
        pthread_mutex_lock(&root->lock);
        struct sync_state *s = root->sync_state;
        int rc = s != NULL ? next_event(s, now, out, &wait) : 0;
        const int fd = s != NULL ? s->inotify_fd : -1;
        pthread_mutex_unlock(&root->lock);
        if (rc == 1)
            return 1;
        const int64_t left = timeout_ms - (int64_t)(now - begun);
        if (timeout_ms >= 0 && left <= 0)
            return 0;
        /* Short waits: a heartbeat or a delete from another thread wakes no descriptor. */
        if (wait < 0 || wait > 50)
            wait = 50;
        if (timeout_ms >= 0 && left < wait)
            wait = left;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, fd >= 0 ? 1 : 0, (int)wait);
    }
}

/* ---- what the rest tells ---- */

void sync_saved(struct sync_state *state, const struct path_mapped *path, const char *data,
                size_t len, uint64_t now_ms)
{
    struct synced *f = state != NULL ? find(state, path) : NULL;
    if (f == NULL)
        return;
    set_snapshot(state, f, data, len, false);
    sha256_hex(data, len, f->saved);
    f->saved_ms = now_ms;
}

void sync_deleted(struct sync_state *state, const struct path_mapped *path)
{
    struct synced *f = state != NULL ? find(state, path) : NULL;
    if (f == NULL)
        return;
    f->tell_delete = !f->deleted;
    set_snapshot(state, f, "", 0, true);
}

void sync_state_free(struct sync_state *state)
{
    if (state == NULL)
        return;
    while (state->first != NULL)
        drop(state, &state->first);
    fd_close(&state->inotify_fd);
    fd_close(&state->store_fd);
    free(state);
}
