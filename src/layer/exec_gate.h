/*
 * The exec gate, around bwrap: execs wait for an answer of init's, by which it sees the one of the
 * payload. And no process can trace another: one inside, bwrap's pid 1, is without the filter.
 * Installed as layer/notify.h says; the calls there serve both. Raw calls only.
 */
#pragma once

#include "layer/notify.h"

/*
 * The sixth argument of our own exec of bwrap, which does not ask: init has nothing to say to it, and the
 * answer would be waited for. execve() has three. What bwrap leaves in that register is no such number, for
 * no address is; and a payload that sets it gains nothing: from its own exec on none is refused.
 */
#define EXEC_GATE_OWN UINT64_C(0x9e6f72646f6e2d31)

/* The listener, or -errno. */
int layer_exec_gate_install(void);

/* True if the filter is at work; that execs are answered shows with the first one. */
bool layer_exec_gate_proven(void);

bool layer_exec_gate_is_exec(const struct notify_call *call);

/* Puts a copy of `fd` under the number `as` of the process that asks, which goes on waiting; 0 or -errno. */
int layer_exec_gate_put(int listener, const struct notify_call *call, int fd, int as);
