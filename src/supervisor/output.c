/* The payload's output, and the terminal, whose one stream is output and input. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "layer/notify.h"
#include "supervisor/events.h"

void output_update(struct supervisor *s, unsigned i)
{
    struct stream *stream = &s->streams[i];
    const bool pending = stream_pending(stream);
    supervisor_arm(s, stream->from, TAG_FROM + i, EPOLLIN, &stream->from_armed, !pending);
    if (!supervisor_arm(s, stream->out, TAG_SINK + i, EPOLLOUT, &stream->out_armed, pending))
        stream_drop(stream); /* not a thing that one can wait for */
    if (s->overflow == 0 && s->plan->on_overflow == OVERFLOW_KILL && stream_ran_over(stream)) {
        s->overflow = 1 + (int)i;
        supervisor_kill(s);
    }
}

void output_read(struct supervisor *s, unsigned i)
{
    if (stream_read(&s->streams[i]) < 0)
        s->streams[i].from_armed = false; /* closed: it left the epoll */
    output_update(s, i);
}

void output_drain(struct supervisor *s, unsigned i)
{
    struct stream *stream = &s->streams[i];
    if (s->impatient) /* a reader that does not read must not keep a caller who wants an answer now */
        stream_drop(stream);
    stream_drain(stream);
    if (stream->from < 0)
        stream->from_armed = false;
    output_update(s, i);
}

/* Its one stream is read as standard output and written as standard input. */
void output_take_terminal(struct supervisor *s)
{
    struct stream *out = &s->streams[0];
    if (s->terminal < 0)
        return;
    int master = layer_take_descriptor(s->terminal);
    if (master == -EAGAIN)
        return;
    fd_close(&s->terminal);
    if (master < 0 || fcntl(master, F_SETFL, O_NONBLOCK) < 0)
        return; /* init failed, and has said why */
    out->from = master;
    ioctl(master, TIOCSWINSZ, &s->spawn.terminal.size);
    output_update(s, 0);
    if (s->wishes.input >= 0)
        s->input.to = fcntl(master, F_DUPFD_CLOEXEC, 3);
    input_begin(s);
}

void supervisor_resize(struct supervisor *s, unsigned rows, unsigned columns)
{
    struct winsize *size = &s->spawn.terminal.size; /* for when it comes */
    *size = (struct winsize){.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    if (s->streams[0].from >= 0)
        ioctl(s->streams[0].from, TIOCSWINSZ, size);
}
