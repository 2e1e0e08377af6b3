/* Pipes, and what goes into the payload. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "backend/posix.h"
#include "base/fd.h"

int posix_pipe(int fds[2])
{
    if (pipe(fds) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        fds[i] = fd_above_standard(fds[i]);
        if (fds[i] < 0 || fcntl(fds[i], F_SETFD, FD_CLOEXEC) < 0) {
            int r = fds[i] < 0 ? fds[i] : -errno;
            fd_close(&fds[i]);
            fd_close(&fds[1 - i]);
            return r;
        }
    }
    return 0;
}

void posix_input_close(struct posix_input *input)
{
    fd_close(&input->to);
    input->from = -1;
}

bool posix_input_pending(const struct posix_input *input)
{
    return input->start < input->end;
}

static void write_pending(struct posix_input *input)
{
    while (posix_input_pending(input)) {
        ssize_t n = fd_write_quietly(input->to, input->data + input->start, input->end - input->start);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            posix_input_close(input); /* the payload does not want to read: its business */
        if (n < 0)
            return;
        input->start += (size_t)n;
    }
}

/* One piece: whoever calls asks again whether more can be had without waiting. */
void posix_input_pump(struct posix_input *input)
{
    if (input->to >= 0)
        write_pending(input);
    if (input->to < 0 || posix_input_pending(input))
        return;
    ssize_t n = read(input->from, input->data, STREAM_CHUNK);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        posix_input_close(input);
        return;
    }
    input->start = 0;
    input->end = (size_t)n;
    write_pending(input);
}
