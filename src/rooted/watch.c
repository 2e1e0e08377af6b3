/*
 * Watching one directory, or one name in it. There is no thread: the kernel queues, and next()
 * turns what it queued into events. Per name the order is add, change, unlink; an unlink waits a
 * moment, so that a file that is replaced or comes back at once is a change.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "rooted/descriptor.h"
#include "rooted/guard.h"
#include "rooted/meta.h"
#include "rooted/names.h"
#include "rooted/patch.h"
#include "rooted/root.h"
#include "rooted/temporary.h"

#define UNLINK_GRACE_MS 100
#define COALESCE_MS 20 /* one append is several events of the kernel */
#define TOP_CHECK_MS 1000
#define QUEUE_DEFAULT 2048
#define NAMES_MAX ((size_t)1 << 20)
#define BUCKETS 4096
#define READS_MAX 64 /* in one go, more than the kernel queues: who changes things without end keeps nobody here */
#define PATCH_UNITS_MAX 1000000
#define MASK                                                                             \
    (IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM |    \
     IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

enum pending { PENDING_NONE, PENDING_ADD, PENDING_CHANGE, PENDING_UNLINK };

/* A name that exists, or about which something is still to be said. */
struct watched {
    struct watched *next;                  /* of the same bucket */
    struct watched *waiting, **waiting_at; /* in the list of those that wait, if pending */
    bool known; /* an add has been said, or it was there at the start */
    bool dir;
    enum pending pending;
    uint64_t due_ms;
    uint64_t size; /* when the stability wait began */
    uint64_t patch_seq;
    char name[];
};

struct queued {
    struct queued *next;
    struct cordon_root_event event;
};

struct cordon_root_watch {
    struct cordon_root *root; /* borrowed */
    struct path_mapped path;  /* of what is watched */
    struct cordon_root_watch_options options;
    int inotify_fd, dir_fd, end_fd; /* owned */
    int parent_watch;               /* of the directory above, or -1 at the top of a base */
    char self[NAME_MAX + 1];        /* what the watched directory is called in it */
    char only[NAME_MAX + 1];        /* the one name that counts; "": all of the directory */
    struct watched *names[BUCKETS]; /* owned; by hash */
    size_t name_count;
    struct watched *waiting; /* those with something pending */
    struct queued *first, **last;
    size_t queue_size;
    uint64_t ignore_until_ms;
    bool overflowed; /* and that is an error */
    bool finished;   /* no event comes any more; the queue may still hold some */
    atomic_bool ended;
};

void cordon_root_event_free(struct cordon_root_event *event)
{
    cordon_root_data_free(&event->patch);
}

static struct watched **bucket(struct cordon_root_watch *w, const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return &w->names[hash % BUCKETS];
}

static struct watched *find(struct cordon_root_watch *w, const char *name)
{
    struct watched *n = *bucket(w, name);
    while (n != NULL && strcmp(n->name, name) != 0)
        n = n->next;
    return n;
}

static void set_pending(struct cordon_root_watch *w, struct watched *n, enum pending what)
{
    if (n->pending == PENDING_NONE && what != PENDING_NONE) {
        n->waiting = w->waiting;
        n->waiting_at = &w->waiting;
        if (n->waiting != NULL)
            n->waiting->waiting_at = &n->waiting;
        w->waiting = n;
    } else if (n->pending != PENDING_NONE && what == PENDING_NONE) {
        *n->waiting_at = n->waiting;
        if (n->waiting != NULL)
            n->waiting->waiting_at = n->waiting_at;
    }
    n->pending = what;
}

static struct watched *insert(struct cordon_root_watch *w, const char *name)
{
    struct watched *n = find(w, name);
    if (n != NULL || w->name_count >= NAMES_MAX)
        return n;
    size_t len = strlen(name);
    n = calloc(1, sizeof *n + len + 1);
    if (n == NULL)
        return NULL;
    memcpy(n->name, name, len + 1);
    struct watched **at = bucket(w, name);
    n->next = *at;
    *at = n;
    w->name_count++;
    return n;
}

static void forget(struct cordon_root_watch *w, struct watched *gone)
{
    struct watched **at = bucket(w, gone->name);
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    set_pending(w, gone, PENDING_NONE);
    free(gone);
    w->name_count--;
}

/* ---- the queue ---- */

static bool pop(struct cordon_root_watch *w, struct cordon_root_event *out)
{
    struct queued *q = w->first;
    if (q == NULL)
        return false;
    w->first = q->next;
    if (w->first == NULL)
        w->last = &w->first;
    w->queue_size--;
    *out = q->event;
    free(q);
    return true;
}

static void push(struct cordon_root_watch *w, struct cordon_root_event *event, uint64_t now)
{
    struct queued *q = now < w->ignore_until_ms || w->overflowed ? NULL : malloc(sizeof *q);
    if (q == NULL) {
        cordon_root_event_free(event);
        return;
    }
    q->event = *event;
    q->next = NULL;
    *w->last = q;
    w->last = &q->next;
    w->queue_size++;
    if (w->queue_size > w->options.max_queue) {
        struct cordon_root_event oldest;
        w->overflowed = w->options.throw_on_overflow;
        if (pop(w, &oldest))
            cordon_root_event_free(&oldest);
    }
}

/* ---- patches ---- */

/* The key under which content is remembered: the watched path, or a name in it. */
static bool key_of(const struct cordon_root_watch *w, const char *name, struct path_mapped *out)
{
    *out = w->path;
    if (w->only[0] != '\0')
        return true;
    size_t len = strlen(name);
    if (out->len + 1 + len + 1 > sizeof out->name)
        return false;
    if (out->len > 0)
        out->name[out->len++] = '/';
    memcpy(out->name + out->len, name, len + 1);
    out->len += len;
    return true;
}

/* Attaches a patch; false if the event is only an echo of what was saved through the root. */
static bool add_patch(struct cordon_root_watch *w, struct watched *n, struct cordon_root_event *e,
                      uint64_t now)
{
    struct path_mapped key;
    struct stat st;
    struct cordon_root_data data = {0};
    FD_AUTO fd = openat(w->dir_fd, n->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || descriptor_regular(fd, &st) < 0 || !key_of(w, n->name, &key) ||
        descriptor_read(fd, &st, w->root->max_read_bytes, &data.data, &data.len) < 0)
        return true;
    bool wanted = true;
    BUF_AUTO patch = BUF_INIT(256u << 20);
    pthread_mutex_lock(&w->root->lock);
    size_t old_len = 0;
    const char *old = remember_get(&w->root->remembered, &key, now, &old_len);
    if (old != NULL) {
        wanted = (old_len != data.len || memcmp(old, data.data, data.len) != 0) &&
                 !remember_seen(&w->root->remembered, &key, data.data, data.len, now);
        if (wanted && patch_units(old, old_len) < PATCH_UNITS_MAX &&
            patch_units(data.data, data.len) < PATCH_UNITS_MAX)
            patch_make(old, old_len, data.data, data.len, &patch);
        if (wanted)
            remember_put(&w->root->remembered, &key, data.data, data.len, now);
    }
    pthread_mutex_unlock(&w->root->lock);
    if (wanted && patch.len > 0 && buf_string(&patch) != NULL) {
        e->patch = (struct cordon_root_data){.data = patch.data, .len = patch.len};
        e->patch_seq = n->patch_seq++;
        patch.data = NULL;
    }
    cordon_root_data_free(&data);
    return wanted;
}

/* ---- saying something about a name ---- */

static void say(struct cordon_root_watch *w, struct watched *n, const char *event, uint64_t now)
{
    struct cordon_root_event e = {.event = event};
    const bool gone = strncmp(event, "unlink", 6) == 0;
    if (w->only[0] == '\0')
        memcpy(e.name, n->name, strlen(n->name) + 1);
    if (!gone && w->options.stats)
        e.has_stat = meta_stat_at(w->dir_fd, n->name, &e.stat) == 0;
    if (!gone && w->options.patch && !n->dir && !add_patch(w, n, &e, now))
        return;
    push(w, &e, now);
    if (gone && w->only[0] != '\0' && w->options.close_on_unlink)
        w->finished = true;
}

static void say_itself(struct cordon_root_watch *w, const char *event, uint64_t now)
{
    struct cordon_root_event e = {.event = event};
    push(w, &e, now);
}

static uint64_t size_of(const struct cordon_root_watch *w, const struct watched *n)
{
    struct stat st;
    return fstatat(w->dir_fd, n->name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

static void wait_for(struct cordon_root_watch *w, struct watched *n, enum pending what,
                     uint64_t delay, uint64_t now)
{
    set_pending(w, n, what);
    n->due_ms = now + delay;
    n->size = size_of(w, n);
}

static void appeared(struct cordon_root_watch *w, const char *name, bool dir, uint64_t now)
{
    struct watched *n = insert(w, name);
    if (n == NULL)
        return;
    if (n->known && n->dir != dir) { /* replaced by something of another kind */
        say(w, n, n->dir ? "unlinkDir" : "unlink", now);
        n->known = false;
    }
    n->dir = dir;
    if (dir) {
        set_pending(w, n, PENDING_NONE);
        if (!n->known)
            say(w, n, "addDir", now);
        n->known = true;
    } else if (n->known) {
        wait_for(w, n, PENDING_CHANGE,
                 w->options.stability_ms > 0 ? w->options.stability_ms : COALESCE_MS, now);
    } else if (w->options.stability_ms > 0) {
        wait_for(w, n, PENDING_ADD, w->options.stability_ms, now);
    } else {
        n->known = true;
        say(w, n, "add", now);
    }
}

static void changed(struct cordon_root_watch *w, const char *name, uint64_t now)
{
    struct watched *n = find(w, name);
    if (n == NULL || n->dir || n->pending == PENDING_UNLINK)
        return;
    const uint64_t delay = w->options.stability_ms > 0 ? w->options.stability_ms : COALESCE_MS;
    if (n->pending == PENDING_NONE)
        wait_for(w, n, PENDING_CHANGE, delay, now);
    else if (w->options.stability_ms > 0)
        wait_for(w, n, n->pending, delay, now); /* it is not stable yet */
}

static void vanished(struct cordon_root_watch *w, const char *name, uint64_t now)
{
    struct watched *n = find(w, name);
    if (n == NULL)
        return;
    if (!n->known) {
        forget(w, n); /* nothing has been said about it, so nothing need be */
    } else if (n->dir) {
        say(w, n, "unlinkDir", now);
        forget(w, n);
    } else {
        if (n->pending == PENDING_CHANGE && w->options.stability_ms == 0)
            say(w, n, "change", now); /* before the unlink, as it happened */
        wait_for(w, n, PENDING_UNLINK, UNLINK_GRACE_MS, now);
    }
}

/* The watched directory itself went away: everything in it did. */
static void lost_directory(struct cordon_root_watch *w, uint64_t now)
{
    if (w->finished)
        return;
    if (w->only[0] == '\0')
        say_itself(w, "unlinkDir", now);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct watched *n = w->names[i]; n != NULL; n = n->next) {
            if (n->known)
                say(w, n, n->dir ? "unlinkDir" : "unlink", now);
        }
    }
    w->finished = true;
}

/* The kernel lost events: what is there now is compared with what is known. */
static void rescan(struct cordon_root_watch *w, uint64_t now)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct watched *n = w->names[i], *next; n != NULL; n = next) {
            struct stat st;
            next = n->next;
            if (fstatat(w->dir_fd, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                vanished(w, n->name, now);
            else if (S_ISDIR(st.st_mode) != n->dir)
                appeared(w, n->name, !n->dir, now);
            else
                changed(w, n->name, now);
        }
    }
    struct names all = {0};
    FD_AUTO again = openat(w->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0 || names_read(again, &all) < 0)
        return;
    for (size_t i = 0; i < all.count; i++) {
        const char *name = names_at(&all, i);
        struct stat st;
        if (!temporary_is(name) && (w->only[0] == '\0' || strcmp(name, w->only) == 0) &&
            find(w, name) == NULL && fstatat(w->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            appeared(w, name, S_ISDIR(st.st_mode), now);
    }
    names_free(&all);
}

/* We hold the directory open, and so the kernel does not say that it was removed. */
static bool is_removed(const struct cordon_root_watch *w)
{
    struct stat st;
    return fstat(w->dir_fd, &st) == 0 && st.st_nlink == 0;
}

static void handle(struct cordon_root_watch *w, const struct inotify_event *e, uint64_t now)
{
    if (w->parent_watch >= 0 && e->wd == w->parent_watch) {
        if (e->len > 0 && strcmp(e->name, w->self) == 0 && is_removed(w))
            lost_directory(w, now);
        return;
    }
    if ((e->mask & IN_Q_OVERFLOW) != 0) {
        rescan(w, now);
        return;
    }
    if ((e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) {
        lost_directory(w, now);
        return;
    }
    if (e->len == 0 || temporary_is(e->name) ||
        (w->only[0] != '\0' && strcmp(e->name, w->only) != 0))
        return;
    const bool dir = (e->mask & IN_ISDIR) != 0;
    if ((e->mask & (IN_CREATE | IN_MOVED_TO)) != 0)
        appeared(w, e->name, dir, now);
    else if ((e->mask & (IN_DELETE | IN_MOVED_FROM)) != 0)
        vanished(w, e->name, now);
    else if (!dir)
        changed(w, e->name, now);
}

static void drain(struct cordon_root_watch *w, uint64_t now)
{
    _Alignas(struct inotify_event) char buf[16384];
    ssize_t got = 1;
    for (int i = 0; i < READS_MAX && !w->finished && got > 0; i++) {
        RACE_POINT("drain");
        got = read(w->inotify_fd, buf, sizeof buf);
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)(buf + at);
            at += (ssize_t)(sizeof *e + e->len);
            handle(w, e, now);
        }
    }
}

/* Says what has waited long enough; the time until the next, or -1. */
static int64_t fire(struct cordon_root_watch *w, uint64_t now)
{
    int64_t soonest = -1;
    for (struct watched *n = w->waiting, *next; n != NULL && !w->finished; n = next) {
        next = n->waiting;
        if (n->due_ms > now) {
            int64_t left = (int64_t)(n->due_ms - now);
            soonest = soonest < 0 || left < soonest ? left : soonest;
            continue;
        }
        const enum pending what = n->pending;
        if (what != PENDING_UNLINK && w->options.stability_ms > 0 && size_of(w, n) != n->size) {
            wait_for(w, n, what, w->options.stability_ms, now);
            soonest = soonest < 0 ? w->options.stability_ms : soonest;
            continue;
        }
        set_pending(w, n, PENDING_NONE);
        n->known = true;
        say(w, n, what == PENDING_ADD ? "add" : what == PENDING_CHANGE ? "change" : "unlink", now);
        if (what == PENDING_UNLINK)
            forget(w, n);
    }
    return soonest;
}

/* ---- the interface ---- */

/* What is there at the start is known and not said. */
static int note_existing(struct cordon_root_watch *w)
{
    struct names all = {0};
    int rc = names_read(w->dir_fd, &all);
    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        const char *name = names_at(&all, i);
        struct stat st;
        if (temporary_is(name) || (w->only[0] != '\0' && strcmp(name, w->only) != 0) ||
            fstatat(w->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        struct watched *n = insert(w, name);
        rc = n == NULL ? -ENOMEM : 0;
        if (n != NULL) {
            n->known = true;
            n->dir = S_ISDIR(st.st_mode);
        }
    }
    names_free(&all);
    return rc;
}

static int arm(struct cordon_root_watch *w, const struct call *c, const struct target *t)
{
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = resolve_place(&t->base, t->mapped.name, false, &place);
    if (rc == 0)
        rc = target_check_leaf(c, t, &place);
    if (rc < 0)
        return rc;
    const bool whole = place.name[0] == '\0' || (place.exists && S_ISDIR(place.st.st_mode));
    const char *name = whole && place.name[0] != '\0' ? place.name : ".";
    if (!whole)
        memcpy(w->only, place.name, sizeof w->only);
    w->dir_fd = openat(place.dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->dir_fd < 0)
        return -errno;
    w->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    w->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->inotify_fd < 0 || w->end_fd < 0)
        return -errno;
    if (whole && place.name[0] != '\0') {
        memcpy(w->self, place.name, sizeof w->self);
        w->parent_watch = resolve_fd_watch(w->inotify_fd, place.dir, IN_DELETE | IN_ONLYDIR);
    }
    rc = resolve_fd_watch(w->inotify_fd, w->dir_fd, MASK);
    return rc < 0 ? rc : note_existing(w); /* armed first, so that nothing is missed */
}

int cordon_root_watch_open(struct cordon_root *root, const char *path,
                           const struct cordon_root_watch_options *options,
                           struct cordon_root_watch **out, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "watch", err);
    TARGET_AUTO(t);
    int rc = call_options(&c, options, sizeof *options);
    if (rc == 0)
        rc = target_open(&c, path, "watch", &t);
    if (rc < 0)
        return rc;
    struct cordon_root_watch *w = calloc(1, sizeof *w);
    if (w == NULL)
        return call_fail(&c, &t, "watch", -ENOMEM);
    w->root = root;
    w->path = t.mapped;
    w->inotify_fd = w->dir_fd = w->end_fd = w->parent_watch = -1;
    w->last = &w->first;
    if (options != NULL)
        w->options = *options;
    if (w->options.max_queue == 0)
        w->options.max_queue = QUEUE_DEFAULT;
    rc = arm(w, &c, &t);
    if (rc < 0) {
        cordon_root_watch_close(w);
        return call_fail_watch(&c, &t, rc);
    }
    *out = w;
    return 0;
}

static int no_watch(struct cordon_root_error *err)
{
    const struct call c = {.method = "watch", .err = err};
    return call_fail_code(&c, NULL, "ERR_INVALID_ARG_VALUE", EINVAL, "", "there is no watch");
}

int cordon_root_watch_next(struct cordon_root_watch *w, int timeout_ms,
                           struct cordon_root_event *out, struct cordon_root_error *err)
{
    if (w == NULL)
        return no_watch(err);
    const uint64_t start = lock_now_ms();
    for (;;) {
        const uint64_t now = lock_now_ms();
        drain(w, now);
        if (is_removed(w)) /* the only way to know it of the top of a base */
            lost_directory(w, now);
        int64_t wait = fire(w, now);
        if (atomic_load(&w->ended))
            return 0;
        if (w->overflowed) {
            struct call c = call_begin(w->root, "watch", err);
            atomic_store(&w->ended, true);
            return call_fail_code(&c, NULL, "", 0, "", "maxQueue overflow");
        }
        if (pop(w, out))
            return 1;
        const uint64_t waited = lock_now_ms() - start;
        if (w->finished || (timeout_ms >= 0 && waited >= (uint64_t)timeout_ms))
            return 0;
        const int64_t left = timeout_ms < 0 ? -1 : timeout_ms - (int64_t)waited;
        if (wait < 0 || (left >= 0 && left < wait))
            wait = left;
        if (w->parent_watch < 0 && (wait < 0 || wait > TOP_CHECK_MS))
            wait = TOP_CHECK_MS;
        struct pollfd fds[2] = {{.fd = w->inotify_fd, .events = POLLIN},
                                {.fd = w->end_fd, .events = POLLIN}};
        if (poll(fds, 2, wait < 0 ? -1 : (int)wait) < 0 && errno != EINTR) {
            const struct call c = {.root = w->root, .method = "watch", .err = err};
            return call_fail_code(&c, NULL, text_errno_name(errno), errno, "poll", "%s: the watch failed",
                                  text_errno_name(errno));
        }
    }
}

bool cordon_root_watch_done(const struct cordon_root_watch *w)
{
    return w == NULL || atomic_load(&w->ended) || (w->finished && w->first == NULL);
}

size_t cordon_root_watch_queue_size(const struct cordon_root_watch *w)
{
    return w == NULL ? 0 : w->queue_size;
}

void cordon_root_watch_ignore(struct cordon_root_watch *w, uint32_t ms)
{
    if (w != NULL)
        w->ignore_until_ms = ms == 0 ? 0 : lock_now_ms() + ms;
}

void cordon_root_watch_end(struct cordon_root_watch *w)
{
    const uint64_t one = 1;
    if (w == NULL)
        return;
    atomic_store(&w->ended, true);
    (void)!write(w->end_fd, &one, sizeof one);
}

void cordon_root_watch_close(struct cordon_root_watch *w)
{
    if (w == NULL)
        return;
    for (struct cordon_root_event e; pop(w, &e);)
        cordon_root_event_free(&e);
    for (size_t i = 0; i < BUCKETS; i++) {
        while (w->names[i] != NULL)
            forget(w, w->names[i]);
    }
    fd_close(&w->inotify_fd);
    fd_close(&w->dir_fd);
    fd_close(&w->end_fd);
    free(w);
}
