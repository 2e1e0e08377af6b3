/* The caller's input, on its way to the payload: what is read is kept until it could be written. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/events.h"
#include "sys/process.h"

#define END_KEY 4
#define END_AGAIN_US 200000

void input_close(struct supervisor *s)
{
    supervisor_arm(s, s->input.from, TAG_INPUT, 0, &s->input.from_armed, false);
    fd_close(&s->input.to); /* leaves the epoll by itself */
    s->input.from = -1;
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

void input_pump(struct supervisor *s)
{
    if (supervisor_released(s))
        fd_close(&s->spawn.stdio[0]);
    do {
        write_pending(s);
        if (s->input.to < 0 || s->input.from < 0 || s->input.start < s->input.end)
            break;
        ssize_t n = stream_fill(s->input.from, &s->input.pending);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            break;
        if (n <= 0) {
            send_end(s);
            break;
        }
        s->input.start = 0;
        s->input.end = (size_t)n;
        write_pending(s);
    } while (s->input.file && s->input.to >= 0 && s->input.start == s->input.end);
    if (s->input.to < 0)
        return;
    const bool waiting = s->input.start < s->input.end;
    supervisor_arm(s, s->input.from, TAG_INPUT, EPOLLIN, &s->input.from_armed, !waiting && !s->input.file);
    supervisor_arm(s, s->input.to, TAG_INPUT_PIPE, EPOLLOUT, &s->input.to_armed, waiting);
}

void input_begin(struct supervisor *s)
{
    if (s->input.from < 0 || s->input.to < 0 || s->input.from_armed || s->input.file)
        return;
    s->input.file = !supervisor_arm(s, s->input.from, TAG_INPUT, EPOLLIN, &s->input.from_armed, true);
    if (s->input.file)
        input_pump(s);
}
