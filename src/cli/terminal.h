/*
 * The caller's terminal while the payload has one of its own: keys pass through untouched, and it
 * is as it was on every way out, also when this process is killed or stopped.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "backend/backend.h"

struct cli_terminal {
    bool raw;             /* standard input is a terminal, to be put in order at the end */
    struct termios saved, ours;
    int keeper_pipe;      /* owned; its end tells the keeper that this process is gone */
    pid_t keeper;
    int signals;          /* owned; a new size, stop and go on */
};

#define CLI_TERMINAL_INIT ((struct cli_terminal){.keeper_pipe = -1, .signals = -1})

/* 0 or -errno. Without a terminal on standard input there is only the size to follow. */
int cli_terminal_begin(struct cli_terminal *t);

/* From now on keys pass through; not before the backend has seen what the terminal is like. */
void cli_terminal_pass_keys(struct cli_terminal *t);

/* When `signals` is readable. */
void cli_terminal_signal(struct cli_terminal *t, struct backend_run *run);

/* Idempotent. */
void cli_terminal_end(struct cli_terminal *t);
