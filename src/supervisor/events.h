/* What the supervisor waits for, and its pump for standard input. Only supervisor.c and input.c include this. */
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

/* Adds or removes; false if this kind of descriptor cannot be polled. */
bool supervisor_arm(struct supervisor *s, int fd, unsigned tag, uint32_t events, bool *armed, bool want);

/* The payload is on its way. */
bool supervisor_released(const struct supervisor *s);

/* Once both ends are there. */
void input_begin(struct supervisor *s);
/* When one of them is ready. */
void input_pump(struct supervisor *s);
void input_close(struct supervisor *s);
