/* Owned descriptors. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

/* Closes and marks as closed; safe to repeat. */
static inline void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd); /* on Linux the descriptor is gone even if close() fails */
    *fd = -1;
}

/* Moves ownership out of a FD_AUTO local. */
static inline int fd_take(int *fd)
{
    int moved = *fd;
    *fd = -1;
    return moved;
}

/* A local that closes itself at the end of its scope. */
#define FD_AUTO __attribute__((cleanup(fd_close))) int

/* Whole buffer or -errno; EINTR is retried. */
int fd_write_all(int fd, const void *data, size_t len);

/* A write of up to PIPE_BUF bytes would not wait for a reader now. */
bool fd_takes(int fd);

/* Reads until end of file or `size` bytes; the count or -errno. */
ssize_t fd_read_full(int fd, void *data, size_t size);

/*
 * write() that raises no SIGPIPE, whatever the caller's program does about that signal: a library
 * must not end its host because a pipe was closed.
 */
ssize_t fd_write_quietly(int fd, const void *data, size_t len);

/*
 * To read it would stop this process: it is a terminal, and somebody else is in its foreground. False where
 * nobody could bring this one there any more, for then the kernel lets a read fail.
 */
bool fd_is_elsewhere(int fd);

/* Moves it above standard error, where numbers mean nothing; closes it on failure. -errno. */
int fd_above_standard(int fd);

/* A file without a name that holds these bytes, to be read from its start; or -errno. */
int fd_from_memory(const void *data, size_t len);
