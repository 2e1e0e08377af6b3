/* What this host can enforce, why not, and how to get it. See cordon-doctor(1). */
#ifndef CORDON_DOCTOR_H
#define CORDON_DOCTOR_H

#include <cordon/error.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Tries each thing in a short-lived process, which takes some tens of milliseconds. `profile` is
 * tried beside the default one; NULL: none. The document of `cordon doctor --json`, to be freed
 * with free(); NULL on failure, with `err` (which may be NULL) filled.
 */
char *cordon_doctor_json(const char *profile, struct cordon_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
