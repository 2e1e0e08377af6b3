#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

int fd_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EAGAIN) { /* somebody made it non-blocking; this call waits all the same */
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            if (poll(&ready, 1, -1) >= 0 || errno == EINTR)
                continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

bool fd_takes(int fd)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    return poll(&room, 1, 0) > 0;
}

ssize_t fd_read_full(int fd, void *data, size_t size)
{
    char *p = data;
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, p + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

ssize_t fd_write_quietly(int fd, const void *data, size_t len)
{
    const struct timespec now = {0};
    sigset_t pipe;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    const bool theirs = sigismember(&pending, SIGPIPE) == 1; /* it is not ours to take away */
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t n = write(fd, data, len);
    const int saved = errno;
    if (n < 0 && saved == EPIPE && !theirs)
        sigtimedwait(&pipe, NULL, &now); /* the kernel sent it to this very thread */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return n;
}

bool fd_is_elsewhere(int fd)
{
    const pid_t front = tcgetpgrp(fd);
    return front > 0 && front != getpgrp() && getsid(getppid()) == getsid(0);
}

int fd_above_standard(int fd)
{
    if (fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int errnum = errno;
    close(fd);
    return moved < 0 ? -errnum : moved;
}
