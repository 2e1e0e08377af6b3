/*
 * libcordon: a sandbox for code that you do not trust. Include this and link with `pkg-config
 * --cflags --libs cordon`.
 *
 * Everything is thread-safe as long as one object is used by one thread at a time. The library has
 * no global state, installs no signal handler, and its children are invisible to the wait() calls
 * of the program that embeds it; but for those of the backends posix and none, of a call without a
 * sandbox, and of cordon_doctor_json(), which are ordinary ones.
 */
#ifndef CORDON_CORDON_H
#define CORDON_CORDON_H

#include <cordon/call.h>
#include <cordon/doctor.h>
#include <cordon/error.h>
#include <cordon/policy.h>
#include <cordon/result.h>
#include <cordon/root.h>
#include <cordon/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* "0.1.0", of the library that is running. */
const char *cordon_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
