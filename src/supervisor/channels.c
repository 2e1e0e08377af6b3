/* The payload's standard streams: pipes to here, or a terminal whose master comes later. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/events.h"
#include "sys/process.h"

/* Both ends of a stream's pipe: ours does not block. Theirs is copied onto 0 to 2 one by one, so it must
 * not be one of those, as it would be in a caller without standard streams. */
static int make_pipe(struct supervisor *s, int ours[1], int theirs[1], bool we_read)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return supervisor_fail(s, errno, "make a pipe", "pipe2");
    *ours = fds[we_read ? 0 : 1];
    *theirs = fd_above_standard(fds[we_read ? 1 : 0]);
    if (*theirs < 0)
        return supervisor_fail(s, -*theirs, "make a pipe", "fcntl");
    if (fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
        return supervisor_fail(s, errno, "make a pipe", "fcntl");
    /* Only its owner can open a pipe by its name, and `> /dev/stderr` does. Without CAP_CHOWN it cannot. */
    if (s->plan->switch_user)
        sys_call(SYS_fchown, *theirs, s->plan->uid_host, s->plan->gid_host);
    return 0;
}

static int open_null(struct supervisor *s, int i)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    s->spawn.stdio[i] = null < 0 ? -errno : fd_above_standard(null);
    return s->spawn.stdio[i] < 0 ? supervisor_fail(s, -s->spawn.stdio[i], "open", "/dev/null") : 0;
}

int channels_open_input(struct supervisor *s)
{
    if (s->wishes.input >= 0)
        s->input.from = s->wishes.input;
    return s->wishes.input < 0 || s->plan->tty ? open_null(s, 0)
                                                : make_pipe(s, &s->input.to, &s->spawn.stdio[0], false);
}

/* The master comes later, over this pair. */
int channels_open_terminal(struct supervisor *s)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return supervisor_fail(s, errno, "make a terminal", "socketpair");
    s->terminal = pair[0];
    s->spawn.terminal.socket = fd_above_standard(pair[1]);
    if (s->spawn.terminal.socket < 0)
        return supervisor_fail(s, -s->spawn.terminal.socket, "make a terminal", "fcntl");
    if (!supervisor_hear(s, s->terminal, TAG_TERMINAL, EPOLLIN))
        return supervisor_fail(s, errno, "wait for events", "epoll_ctl");
    return 0;
}

int channels_open_output(struct supervisor *s, unsigned i)
{
    const struct plan *plan = s->plan;
    struct stream *stream = &s->streams[i];
    struct result_stream *record = i == 0 ? &s->result->out : &s->result->err;
    int from = -1;
    int r = plan->tty ? open_null(s, 1 + (int)i) : make_pipe(s, &from, &s->spawn.stdio[1 + i], true);
    stream_open(stream, from, s->wishes.output[i], record);
    stream_obey(stream, plan, &s->wishes);
    if (r == 0 && !supervisor_arm(s, from, TAG_FROM + i, EPOLLIN, &stream->from_armed, true))
        r = supervisor_fail(s, errno, "wait for events", "epoll_ctl");
    return r;
}
