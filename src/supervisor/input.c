/* The caller's input, on its way to the payload: what is read is kept until it could be written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/events.h"
#include "sys/files.h"
#include "sys/process.h"

#define END_KEY 4
#define END_AGAIN_US 200000
#define FRONT_AGAIN_US 100000
#define ROUNDS_MAX 16 /* of a file, which always has more: whatever else is due gets its turn */

void input_close(struct supervisor *s)
{
    supervisor_arm(s, s->input.from, TAG_INPUT, 0, &s->input.from_armed, false);
    fd_close(&s->input.own);
    fd_close(&s->input.to); /* leaves the epoll by itself */
    s->input.from = -1;
    s->front_us = 0;
}

static void write_pending(struct supervisor *s)
{
    while (s->input.start < s->input.end) {
        ssize_t n = fd_write_quietly(s->input.to, s->input.pending + s->input.start, s->input.end - s->input.start);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            input_close(s); /* the payload does not want to read: its business */
        if (n < 0)
            return;
        s->input.start += (size_t)n;
    }
}

/*
 * On a terminal an end of input is a key, and it lasts for one read. A file's end lasts: so the key
 * is pressed again as long as anybody is there. A shell that reads single keys needs that, too: what
 * came before it said so is a NUL to it.
 */
void input_end_again(struct supervisor *s, uint64_t now)
{
    if (s->input.start == s->input.end) {
        s->input.pending[0] = END_KEY;
        s->input.start = 0;
        s->input.end = 1;
    }
    write_pending(s);
    s->end_us = s->input.to >= 0 ? now + END_AGAIN_US : 0;
}

static void send_end(struct supervisor *s)
{
    if (s->plan->tty && s->input.pending == NULL)
        s->input.pending = malloc(STREAM_CHUNK);
    if (!s->plan->tty || s->input.pending == NULL) {
        input_close(s);
        return;
    }
    const bool midst = s->input.end > 0 && s->input.pending[s->input.end - 1] != '\n';
    const uint64_t now = sys_now_us();
    supervisor_arm(s, s->input.from, TAG_INPUT, 0, &s->input.from_armed, false);
    s->input.from = -1;
    if (midst) /* the first one only sends the line */
        input_end_again(s, now);
    input_end_again(s, now);
    clock_set(s);
}

/*
 * Until the payload is on its way the reading end is held here too: a run that the host refuses is
 * started again, and what was read from the caller must not be lost with the first attempt.
 */
bool supervisor_released(const struct supervisor *s)
{
    const struct shared *shared = s->spawn.shared;
    if (shared == NULL || s->plan->bwrap != NULL)
        return shared != NULL && __atomic_load_n(&shared->executing, __ATOMIC_ACQUIRE);
    return latch_look(&shared->released) != LATCH_CLOSED;
}

/*
 * Others may have the caller's descriptor, too, and be quicker: to read what is gone is to wait, and meanwhile no limit
 * is kept. Its description is not ours to change; pipes and terminals can be opened again.
 */
static int source(struct supervisor *s)
{
    char path[SYS_FD_PATH_SIZE];
    struct stat st;
    if (s->input.own < 0 && !s->input.file && fstat(s->input.from, &st) == 0 &&
        (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) && (fcntl(s->input.from, F_GETFL) & O_ACCMODE) != O_WRONLY) {
        sys_fd_path(path, s->input.from);
        s->input.own = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    }
    return s->input.own >= 0 ? s->input.own : s->input.from;
}

/* Whoever reads a terminal from the background is stopped, and keeps no limit then. Nobody tells when it is ours again. */
static bool wait_for_front(struct supervisor *s)
{
    const bool elsewhere = !s->input.file && fd_is_elsewhere(s->input.from);
    if (!elsewhere && s->front_us == 0)
        return false;
    s->front_us = elsewhere ? sys_now_us() + FRONT_AGAIN_US : 0;
    clock_set(s);
    return elsewhere;
}

void input_pump(struct supervisor *s)
{
    if (supervisor_released(s))
        fd_close(&s->spawn.stdio[0]);
    int rounds = 0;
    do {
        write_pending(s);
        if (s->input.to < 0 || s->input.from < 0 || s->input.start < s->input.end || wait_for_front(s))
            break;
        ssize_t n = stream_fill(source(s), &s->input.pending);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            break;
        if (n <= 0) {
            send_end(s);
            break;
        }
        s->input.start = 0;
        s->input.end = (size_t)n;
        write_pending(s);
    } while (s->input.file && s->input.to >= 0 && s->input.start == s->input.end && ++rounds < ROUNDS_MAX);
    if (s->input.to < 0)
        return;
    const bool waiting = s->input.start < s->input.end;
    const bool more = s->input.file && s->input.from >= 0; /* when the payload has taken some */
    supervisor_arm(s, s->input.from, TAG_INPUT, EPOLLIN, &s->input.from_armed,
                   !waiting && !s->input.file && s->front_us == 0);
    supervisor_arm(s, s->input.to, TAG_INPUT_PIPE, EPOLLOUT, &s->input.to_armed, waiting || more);
}

void input_begin(struct supervisor *s)
{
    if (s->input.from < 0 || s->input.to < 0 || s->input.from_armed || s->input.file)
        return;
    s->input.file = !supervisor_arm(s, s->input.from, TAG_INPUT, EPOLLIN, &s->input.from_armed, true);
    if (s->input.file)
        input_pump(s);
}
