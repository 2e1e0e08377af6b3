/*
 * Calls of the payload's that wait for an answer: forks, for init of the tier without namespaces;
 * calls that would write, for the listener of guard mode. A task can have one such filter, so both
 * are one program where both are wanted.
 *
 * Lifecycle   install() in the payload process between clone and exec, after no_new_privs; it gives
 *             the listener, which goes to its owner at once: whoever holds a copy of it when the
 *             owner dies would let the payload wait for ever. Without any holder the kernel answers
 *             ENOSYS.
 * Raw calls only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layer/filter/variant.h"

/* Answered to one call of each kind, which is our own and asks just this. */
#define NOTIFY_PROOF 3899

struct notify_call {
    uint64_t id;
    uint32_t task; /* the thread that asks */
    int32_t number;
    uint64_t args[6];
};

/* The listener for `set` (enum listen_set), or -errno: EBUSY below somebody else's listener, EINVAL on
 * kernels without. */
int layer_notify_install(unsigned set);
/* The same by a program of one's own. */
struct sock_fprog;
int layer_notify_load(const struct sock_fprog *program);

/* True if such a call is answered by its owner, which must be waiting for it. */
bool layer_notify_forks_proven(void);
bool layer_notify_writes_proven(void);

/* The owner: the next call that waits; 0 or -errno (ENOENT: it gave up meanwhile). */
int layer_notify_next(int listener, struct notify_call *out);
bool layer_notify_is_fork(const struct notify_call *call);
bool layer_notify_is_proof(const struct notify_call *call); /* that no write would be */

/* Still waiting: what was read of its memory before is what it asked. */
bool layer_notify_valid(int listener, const struct notify_call *call);

/* 0: the kernel goes on with the call; else a negative errno instead of it. */
void layer_notify_answer(int listener, const struct notify_call *call, int error);

/* It was done on the caller's behalf: the call is over and returns 0. */
void layer_notify_done(int listener, const struct notify_call *call);

/* The call returns a copy of `fd`; 0 or -errno, then it still waits. */
int layer_notify_give(int listener, const struct notify_call *call, int fd, bool close_on_exec);

/* Answers of ours wake the asking thread on this core: ten times faster, where the kernel can. */
void layer_notify_tune(int listener);

/* Descriptors to another process, PASS_MAX of them at most: 0 or -errno. */
#define PASS_MAX 2
long layer_pass_descriptors(int socket, const int *fds, size_t count);

/* One from another process, or -errno; -EPIPE: it has none to give. */
int layer_take_descriptor(int socket);
