/* A policy: what a sandbox may do. See cordon-policy(5) for what it can say. */
#ifndef CORDON_POLICY_H
#define CORDON_POLICY_H

#include <cordon/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct cordon_policy;

/*
 * Everywhere: NULL or a negative errno on failure, with `err` (which may be NULL) filled. A policy
 * that is NULL, because it could not be made, is an error (EINVAL) here and in a run.
 */

/* A built-in profile: "stage", "module", "limits", "test" or "agent". */
struct cordon_policy *cordon_policy_new(const char *profile, struct cordon_error *err);

/* A document, in version 1 or one of the older forms. */
struct cordon_policy *cordon_policy_parse(const char *json, size_t len, struct cordon_error *err);

void cordon_policy_free(struct cordon_policy *policy); /* NULL is fine */

/* Absolute host paths. `sandbox`: where it appears inside; NULL: at the same path. */
int cordon_policy_add_ro(struct cordon_policy *policy, const char *host, const char *sandbox,
                         struct cordon_error *err);
int cordon_policy_add_rw(struct cordon_policy *policy, const char *host, const char *sandbox,
                         struct cordon_error *err);

/* A variable of the caller's passes (NAME or PREFIX_*); a variable is set. */
int cordon_policy_allow_env(struct cordon_policy *policy, const char *name, struct cordon_error *err);
int cordon_policy_set_env(struct cordon_policy *policy, const char *name, const char *value,
                          struct cordon_error *err);

/* By the names of the document: "wall_ms", "cpu_ms", "mem_bytes", "pids", "nofile", "output_bytes",
 * "grace_ms", "tmp_bytes". */
#define CORDON_UNLIMITED UINT64_MAX
int cordon_policy_set_limit(struct cordon_policy *policy, const char *name, uint64_t value,
                            struct cordon_error *err);

/* "none", "loopback" or "host". */
int cordon_policy_set_net(struct cordon_policy *policy, const char *net, struct cordon_error *err);

/* Run although something asked for cannot be enforced; the result then says what. */
void cordon_policy_allow_partial(struct cordon_policy *policy, int allow);

/* The document in its normal form; to be freed with free(). NULL: no policy, or out of memory. */
char *cordon_policy_json(const struct cordon_policy *policy);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
