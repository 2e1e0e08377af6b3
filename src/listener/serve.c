#include "listener/serve.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "listener/form.h"
#include "listener/ids.h"
#include "listener/predict.h"
#include "sys/files.h"
#include "sys/process.h"

#define TEST_NAME_SIZE 256
#define ANCESTORS_MAX 16 /* between a process and the runner that knows which test it is */
#define RULE_READONLY "read-only"
#define LOOKS_MAX 8 /* at a place where somebody else works, too */

/* ---- which test ---- */

/* What the runner left for process `pid`: up to the first line end. */
static bool read_note(const struct serve *s, int pid, char out[TEST_NAME_SIZE])
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    char path[PATH_MAX];
    struct stat st;
    const size_t len = strlen(s->plan->guard.test_notes);
    if (len + sizeof "/" + SYS_NUMBER_SIZE > sizeof path)
        return false;
    memcpy(path, s->plan->guard.test_notes, len);
    path[len] = '/';
    *sys_put_number(path + len + 1, (unsigned)pid) = '\0';
    int fd = sys_openat2(s->view.root, path, &how);
    if (fd < 0)
        return false;
    long n = sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? sys_read(fd, out, TEST_NAME_SIZE - 1) : 0;
    sys_close(fd);
    out[n < 0 ? 0 : n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return out[0] != '\0';
}

/* The test of the process, or of the nearest one above it that has one. */
static bool find_test(const struct serve *s, const struct task_facts *of, char out[TEST_NAME_SIZE])
{
    struct task_facts facts = *of;
    if (s->plan->guard.test_notes == NULL)
        return false;
    for (int i = 0; i < ANCESTORS_MAX && facts.pid > 1; i++) {
        if (read_note(s, facts.pid, out))
            return true;
        if (task_facts(facts.parent, &facts) < 0)
            return false;
    }
    return false;
}

/* ---- one call ---- */

/* A name that is too long to be told in full ends as it ends. */
static void name_culprit(const struct spot *culprit, char out[PATH_MAX])
{
    static const char above[] = "/.../";
    if (spot_text(culprit, out) >= 0)
        return;
    memcpy(out, above, sizeof above);
    memcpy(out + sizeof above - 1, culprit->leaf, strlen(culprit->leaf) + 1);
}

static void record(struct serve *s, const struct attempt *a, const struct spot *culprit)
{
    char path[PATH_MAX];
    char test[TEST_NAME_SIZE];
    struct task_facts facts = {.comm = "?"};
    static const uint64_t one = 1;
    name_culprit(culprit, path);
    task_facts(a->call->task, &facts);
    const struct sighting seen = {.op = a->op,
                                  .rule = RULE_READONLY,
                                  .path = path,
                                  .comm = facts.comm,
                                  .test = find_test(s, &facts, test) ? test : NULL,
                                  .pid = facts.pid};
    if (record_add(s->records, &seen))
        sys_write(s->event, &one, sizeof one);
}

/* All that it names lies where it may write: by far the most frequent, and the quickest. */
static bool harmless(const struct serve *s, const struct attempt *a, const struct spot spots[2])
{
    const unsigned first = a->act == ACT_LINK ? 1 : 0; /* what is linked does not change */
    for (unsigned i = first; i < a->count; i++) {
        if (!view_writable(&s->view, spot_place(&spots[i])))
            return false;
    }
    return true;
}

/* 0: the kernel's answer is the one that it would give outside. */
static int permit(const struct serve *s, const struct attempt *a, struct spot *spot)
{
    if (a->act != ACT_OWNER || !ids_unknown(a->call, s->plan))
        return 0;
    spot_look(spot);
    return spot->target < 0 ? 0 : -EPERM;
}

static int find_spots(struct serve *s, struct attempt *a, struct spot spots[2])
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < a->count; i++) {
        spot_release(&spots[i]);
        r = spot_find(&spots[i], &s->view, a->call->task, &a->what[i]);
    }
    return r;
}

/* It failed for a reason of ours, or one that root outside would not have had: the call itself may well come to a place. */
static bool is_unseen(const struct serve *s, int error)
{
    switch (-error) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EBADF:
    case ESRCH:
        return false;
    case EACCES:
        return s->view.root < 0 || s->view.overrides;
    default:
        return true;
    }
}

static void judge(struct serve *s, struct attempt *a, struct spot spots[2])
{
    struct prediction p = {.outcome = OUTCOME_OWN};
    enum grant_outcome granted = GRANT_CHANGED;
    /* Another run may write to the same caches at this moment. */
    for (int look = 0; granted == GRANT_CHANGED && look < LOOKS_MAX; look++) {
        int r = look == 0 ? 0 : find_spots(s, a, spots);
        if (r < 0) {
            s->records->unseen += is_unseen(s, r);
            layer_notify_answer(s->listener, a->call, 0);
            return;
        }
        for (unsigned i = 0; i < a->count; i++)
            spot_look(&spots[i]);
        p = predict(a, spots, &s->view);
        granted = p.outcome == OUTCOME_VIOLATION ? grant_answer(&s->grant, &s->view, s->listener, a, spots)
                                                 : GRANT_REFUSED;
    }
    if (granted == GRANT_ANSWERED)
        return;
    if (p.outcome == OUTCOME_VIOLATION && !form_reaches_place(a))
        p.outcome = OUTCOME_OWN;
    if (p.outcome == OUTCOME_VIOLATION) {
        if (!layer_notify_valid(s->listener, a->call))
            return;
        record(s, a, &spots[p.culprit]);
    }
    const bool failed = p.outcome == OUTCOME_ERROR && p.error != EROFS;
    if (failed && p.error == EACCES && s->view.overrides) /* the caller could have looked there */
        s->records->unseen++;
    layer_notify_answer(s->listener, a->call, failed ? -p.error : 0);
}

static void handle(struct serve *s, const struct handed_call *handed)
{
    static struct attempt attempt; /* large; the listener has one thread */
    struct spot spots[2] = {SPOT_INIT, SPOT_INIT};
    int r = attempt_read(&attempt, handed);
    if (r == 0)
        r = find_spots(s, &attempt, spots);
    if (is_unseen(s, r))
        s->records->unseen++;
    if (r < 0)
        layer_notify_answer(s->listener, &handed->call, 0);
    else if (harmless(s, &attempt, spots))
        layer_notify_answer(s->listener, &handed->call, permit(s, &attempt, &spots[0]));
    else
        judge(s, &attempt, spots);
    spot_release(&spots[0]);
    spot_release(&spots[1]);
}

/* ---- the loop ---- */

/* 0, or a negative number when there will be no more. */
static int next(const struct serve *s, struct handed_call *handed)
{
    for (;;) {
        if (s->plan->bare) { /* init hands on what is not a fork */
            long n = sys_read(s->socket, handed, sizeof *handed);
            if (n != -EINTR)
                return n >= (long)HANDED_HEAD ? 0 : -EPIPE; /* nothing: init has ended */
            continue;
        }
        int r = layer_notify_next(s->listener, &handed->call);
        if (r == 0)
            return 0;
        if (r != -ENOENT && r != -EINTR)
            return r;
        /* The asking thread was killed; or the last one, and then nobody can ask any more. */
        struct pollfd poll = {.fd = s->listener, .events = POLLIN};
        const struct timespec now = {0};
        if (sys_call(SYS_ppoll, &poll, 1, &now, 0, 0) > 0 && (poll.revents & POLLHUP) != 0)
            return -EPIPE;
    }
}

void serve(struct serve *s)
{
    static struct handed_call handed; /* large, as well */
    const struct notify_call *call = &handed.call;
    s->listener = layer_take_descriptor(s->socket);
    if (s->listener < 0)
        return;
    layer_notify_tune(s->listener);
    bool proven = false;
    while (next(s, &handed) == 0) {
        if (!proven) { /* that comes last before exec: until then it is a process of ours */
            proven = layer_notify_is_proof(call);
            layer_notify_answer(s->listener, call, proven ? -NOTIFY_PROOF : 0);
            continue;
        }
        __atomic_store_n(&s->records->begun, s->records->begun + 1, __ATOMIC_RELAXED);
        if (ids_only(call))
            layer_notify_answer(s->listener, call, ids_unknown(call, s->plan) ? -EPERM : 0);
        else
            handle(s, &handed);
        __atomic_store_n(&s->records->done, s->records->begun, __ATOMIC_RELAXED);
    }
}
