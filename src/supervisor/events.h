/* What the supervisor waits for, and its parts. Nobody else includes this. */
#pragma once

#include "supervisor/supervisor.h"

enum tag {
    TAG_INIT,
    TAG_TIMER,
    TAG_SIGNALS,
    TAG_OOM,
    TAG_TERMINAL,
    TAG_LISTENER,
    TAG_VIOLATION,
    TAG_FROM,
    TAG_SINK = TAG_FROM + 2,
    TAG_INPUT = TAG_SINK + 2,
    TAG_INPUT_PIPE
};

/* Adds or removes; false if this kind of descriptor cannot be polled, or if the kernel has no room: that ends the run. */
bool supervisor_arm(struct supervisor *s, int fd, unsigned tag, uint32_t events, bool *armed, bool want);

/* Adds one that stays until it is closed; nothing for -1. */
bool supervisor_hear(struct supervisor *s, int fd, unsigned tag, uint32_t events);

/* The error of the result: the set-up failed. */
int supervisor_fail(struct supervisor *s, int errnum, const char *what, const char *subject);

/* The payload is on its way. */
bool supervisor_released(const struct supervisor *s);

/* Once both ends are there. */
void input_begin(struct supervisor *s);
/* When one of them is ready. */
void input_pump(struct supervisor *s);
void input_close(struct supervisor *s);
/* With a terminal, after the end of the caller's: when it is due. */
void input_end_again(struct supervisor *s, uint64_t now);

int channels_open_input(struct supervisor *s);
int channels_open_output(struct supervisor *s, unsigned i);
int channels_open_terminal(struct supervisor *s);

void output_read(struct supervisor *s, unsigned i);
/* Waits for what can go on: more to read, or room for what was. */
void output_update(struct supervisor *s, unsigned i);
/* All writers are dead. */
void output_drain(struct supervisor *s, unsigned i);
/* The master of the terminal, if it has come. */
void output_take_terminal(struct supervisor *s);

/* With the children's first steps. */
void clock_begin(struct supervisor *s);
/* After a change of any of the times. */
void clock_set(struct supervisor *s);
void clock_look(struct supervisor *s);
/* A polite request to everything inside, and a date for the end of politeness. */
void clock_ask_to_end(struct supervisor *s, int sig);
/* Init was told to end all: so much time it has for it. */
void clock_give_time(struct supervisor *s);

bool listening_begin(struct supervisor *s);
/* Nobody is left to listen to: it has a moment to write down what it saw last. */
void listening_last(struct supervisor *s);
void listening_tell(struct supervisor *s);
void listening_lose(struct supervisor *s);
void listening_look(struct supervisor *s, uint64_t now);
