/* Terminals by raw calls. The kernel's struct termios is not that of the C library. */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>

#include "sys/call.h"

struct sys_termios {
    uint32_t iflag, oflag, cflag, lflag;
    uint8_t line;
    uint8_t cc[19];
};

#define SYS_TERMIOS_ECHO 0000010u

static inline long sys_ioctl(int fd, unsigned long request, const void *arg)
{
    return sys_call(SYS_ioctl, fd, request, arg);
}

static inline long sys_get_modes(int fd, struct sys_termios *out)
{
    return sys_ioctl(fd, TCGETS, out);
}
