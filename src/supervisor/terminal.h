/*
 * The pseudo-terminal of a run: made by init on the sandbox's own devpts, the payload's controlling
 * terminal, moved by the supervisor. Of the caller's terminal only modes and size go in.
 */
#pragma once

#include <stdbool.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "sys/terminal.h"

struct terminal {
    int socket;               /* owned; init's end, over which the master leaves; -1: no terminal */
    bool has_modes;           /* the caller has a terminal, and these are its modes */
    struct sys_termios modes;
    struct winsize size;
};

/* In the supervisor: as the caller's `input` is, or as a terminal is without one. */
void terminal_like(struct terminal *t, int input, int output);

/* In init, in the new root. It keeps the other end open, so that no end comes before its own. */
int terminal_make(const struct terminal *t, struct cordon_error *err);

/* In the payload process, in the new root: 0 to 2, and its controlling terminal. */
int terminal_take(struct cordon_error *err);
