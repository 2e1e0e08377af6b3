#include "supervisor/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/*
 * The caller's descriptor is shared with whoever else has it: to switch its description to
 * non-blocking would change it for them. Pipes and terminals can be opened again instead.
 */
static void choose_sink(struct stream *s)
{
    struct stat st;
    char path[32];
    s->out = s->to;
    if (s->to < 0 || fstat(s->to, &st) < 0) {
        s->sink = SINK_NONE;
    } else if (S_ISSOCK(st.st_mode)) {
        s->sink = SINK_SOCKET;
    } else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || (fcntl(s->to, F_GETFL) & O_ACCMODE) == O_RDONLY) {
        s->sink = SINK_FILE; /* one for reading: to open it again would give a right that it does not have */
    } else {
        snprintf(path, sizeof path, "/proc/self/fd/%d", s->to);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        s->sink = own >= 0 ? SINK_OWN : SINK_FOREIGN;
        s->out = own >= 0 ? own : s->to;
    }
}

void stream_open(struct stream *s, int from, int to, struct result_stream *record)
{
    *s = (struct stream){.from = from, .to = to, .out = -1, .cap = UINT64_MAX, .record = record};
}

void stream_obey(struct stream *s, const struct plan *plan, const struct run_wishes *wishes)
{
    s->cap = plan->output_bytes;
    s->cap_passing = plan->output_passing;
    s->capture = wishes->capture;
    s->before = wishes->before_output;
    s->user = wishes->user;
    s->record->captured = BUF_INIT(PLAN_CAPTURE_MAX);
}

void stream_close(struct stream *s)
{
    fd_close(&s->from);
    if (s->sink == SINK_OWN)
        fd_close(&s->out);
    free(s->pending);
    s->pending = NULL;
}

/* How many of the next n bytes a cap lets through. */
static size_t within(uint64_t cap, uint64_t before, size_t n)
{
    const uint64_t left = before < cap ? cap - before : 0;
    return n < left ? n : (size_t)left;
}

/* Cuts at the caps: what is captured, and, where the cap holds for it, what is passed on. */
static void account(struct stream *s, size_t n)
{
    struct result_stream *record = s->record;
    const uint64_t most = s->cap < PLAN_CAPTURE_MAX ? s->cap : PLAN_CAPTURE_MAX;
    size_t captured = s->capture ? within(most, record->bytes, n) : 0;
    buf_append(&record->captured, s->pending, captured);
    if (captured > 0 && record->captured.failed) {
        s->error = ENOMEM;
        captured = 0;
    }
    const size_t passed = s->cap_passing ? within(s->cap, record->bytes, n) : n;
    const size_t kept = s->capture ? captured : passed;

    record->bytes += n;
    record->kept += kept;
    record->truncated = record->truncated || kept < n;
    if (kept > 0)
        record->ends_line = s->pending[kept - 1] == '\n';
    s->start = 0;
    s->end = s->to < 0 || s->broken ? 0 : passed;
}

ssize_t stream_fill(int from, char **chunk)
{
    char first[256];
    if (*chunk != NULL)
        return read(from, *chunk, STREAM_CHUNK);
    ssize_t n = read(from, first, sizeof first);
    if (n > 0 && (*chunk = malloc(STREAM_CHUNK)) == NULL) {
        errno = ENOMEM;
        return -1;
    }
    if (n > 0)
        memcpy(*chunk, first, (size_t)n);
    return n;
}

int stream_read(struct stream *s)
{
    if (s->from < 0)
        return -EPIPE;
    if (stream_pending(s))
        return 0;
    ssize_t n = stream_fill(s->from, &s->pending);
    const int errnum = n < 0 ? errno : 0;
    if (errnum == EAGAIN || errnum == EINTR)
        return 0;
    if (errnum != 0 && (errnum != EIO || !isatty(s->from))) { /* EIO is how a terminal ends */
        s->error = errnum;
        s->record->truncated = true;
    }
    if (n <= 0) {
        fd_close(&s->from);
        return -EPIPE;
    }
    account(s, (size_t)n);
    if (stream_pending(s))
        stream_write(s);
    return 0;
}

void stream_drop(struct stream *s)
{
    s->broken = true;
    s->start = s->end;
}

void stream_drain(struct stream *s)
{
    if (s->last == 0)
        s->last = s->record->bytes + STREAM_PIPE_MOST;
    while (s->from >= 0 && !stream_pending(s)) {
        const uint64_t before = s->record->bytes;
        if (before >= s->last || stream_read(s) < 0 || s->record->bytes == before)
            fd_close(&s->from);
    }
}

bool stream_ran_over(const struct stream *s)
{
    return (s->capture || s->cap_passing) && s->record->bytes > s->cap;
}

static ssize_t put(struct stream *s, const char *data, size_t len)
{
    if (s->sink == SINK_SOCKET)
        return send(s->out, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (s->sink == SINK_FOREIGN) {
        /* A ready pipe takes this much without blocking. */
        struct pollfd ready = {.fd = s->out, .events = POLLOUT};
        if (poll(&ready, 1, 0) <= 0) {
            errno = EAGAIN;
            return -1;
        }
        len = len < PIPE_BUF ? len : PIPE_BUF;
    }
    return write(s->out, data, len);
}

void stream_write(struct stream *s)
{
    if (s->sink == SINK_NONE && s->to >= 0 && s->out < 0)
        choose_sink(s);
    if (s->before != NULL && stream_pending(s))
        s->before(s->user);
    while (stream_pending(s)) {
        ssize_t n = put(s, s->pending + s->start, s->end - s->start);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            /* Nobody listens: the payload learns it by its own broken pipe, as without us. A full
             * disk is the same to it. */
            s->broken = true;
            s->error = errno;
            s->start = s->end = 0;
            if (!s->capture)
                fd_close(&s->from);
            return;
        }
        s->start += (size_t)n;
    }
}
