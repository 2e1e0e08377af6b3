/*
 * The fork gate: clone, fork and vfork of the payload wait for an answer of init's. So forks can be
 * stopped for good when the tree is to end, and counted where no cgroup does it.
 *
 * Lifecycle   install() in the payload process between clone and exec, after no_new_privs; it gives
 *             the listener, which goes to init at once: whoever holds a copy of it when init dies
 *             would wait for an answer for ever. Without any holder the kernel answers ENOSYS.
 * Raw calls only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/* Who asks: forks, in the tier without namespaces; or, around bwrap, execs, and then no process can
 * trace another, because one inside is without the filter. */
enum gate_kind { GATE_FORKS, GATE_EXECS };

/* Answered to the first of them, which is our own and asks just this. */
#define FORK_GATE_PROOF 3899

/* The listener, or -errno: EBUSY below somebody else's listener, EINVAL on kernels without. */
int layer_fork_gate_install(enum gate_kind kind);

/* True if the filter is at work. Of execs: the first one that is answered shows the rest. Of forks: if the
 * first request is answered by our init; it must be waiting in layer_fork_gate_prove(). */
bool layer_fork_gate_proven(enum gate_kind kind);

/* Init: the next fork that waits; 0 or -errno (ENOENT: it gave up meanwhile). */
struct fork_request {
    uint64_t id;
    uint32_t task; /* the thread that asks */
    bool exec;     /* for an exec, not for a fork */
};
int layer_fork_gate_next(int listener, struct fork_request *out);

/* 0 lets it happen; else a negative errno. */
void layer_fork_gate_answer(int listener, const struct fork_request *request, int error);

/* Puts a copy of `fd` under the number `as` of the thread that asks; 0 or -errno. */
int layer_gate_give(int listener, const struct fork_request *request, int fd, int as);

/* Answers of ours wake the asking thread on this core: ten times faster, where the kernel can. */
void layer_fork_gate_tune(int listener);

/* A descriptor from one process to another: 0 and -errno; -EPIPE: the other one has none to give. */
long layer_pass_descriptor(int socket, int fd);
int layer_take_descriptor(int socket);
