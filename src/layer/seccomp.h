/*
 * Seccomp layer: which system calls the payload can make. The programs are compiled at build time
 * (filter/gen.c, from the tables in filter/calls.def) and embedded; at run time there is only a
 * choice among them.
 *
 * Lifecycle    program() anywhere, also before clone; load() and proven() in the payload between
 *              clone and exec, after no_new_privs. All three are async-signal-safe, allocate
 *              nothing and leave errno alone.
 * Invariant    SIGSYS never comes from a variant with FORBIDDEN_ERRNO.
 * After load   what the payload still does before exec is allowed in every variant: futex, chdir,
 *              landlock_*, close_range, execve, prlimit64, prctl, capget, openat, statfs ...
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "layer/filter/variant.h"
#include "plan/plan.h"

/* Answers SECCOMP_PROOF_ERRNO + seccomp_variant() under our filter, ENOSYS on every bare kernel. */
#define SECCOMP_PROOF_CALL SYS_nfsservctl

/* Static data; NULL for SECCOMP_OFF. */
const struct sock_fprog *layer_seccomp_program(const struct seccomp_choice *choice);

/* The one that the payload of this plan gets; NULL: none. */
const struct sock_fprog *layer_seccomp_of_plan(const struct plan *plan);

/* The program by which the calls of `set` (enum listen_set) wait for an answer. */
const struct sock_fprog *layer_seccomp_listener(unsigned set);

/* 0 or -errno. Irrevocable for the calling thread. */
long layer_seccomp_load(const struct sock_fprog *program);

/*
 * True if exactly this program, the result of layer_seccomp_program(), is the one that decides.
 * The newest of several filters answers, so an outer sandbox's filter proves nothing here.
 */
bool layer_seccomp_proven(const struct sock_fprog *program);
