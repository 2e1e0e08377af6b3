/*
 * The policy document: version 1 and the two older wire forms, read strictly, written so that the
 * same policy always gives the same bytes.
 *
 * A document with `version` is version 1. One without is, by its keys,
 *   noether        ro_binds, rw_binds, work_host, network, env_allowlist: extends stage; the first,
 *                  fourth and fifth are required; unknown keys are tolerated with a warning
 *   SandboxPolicy  wall_time_s, cpu_time_s, mem_bytes, pids_max, nofile, output_bytes,
 *                  enforce_network, allow_partial: extends limits
 *   mixed          keys of both: extends stage, nothing is required; the limits refine it
 * and the empty object, which says nothing, is version 1 with every field left out: reading it as
 * an older form could only loosen it. A base that the caller names takes the place of the one that
 * an older form extends, and must agree with an `extends`.
 */
#pragma once

#include "base/buf.h"
#include "policy/policy.h"
#include "wire/doc.h"

enum policy_form { FORM_V1, FORM_NOETHER, FORM_SANDBOX_POLICY, FORM_MIXED };
const char *policy_form_name(enum policy_form form); /* "version 1" */

#define POLICY_SOURCE_WARNINGS 8
#define POLICY_ARENA_BYTES (256 * 1024 * 1024) /* enough for any document of POLICY_MAX_BYTES */

struct policy_source {
    int profile; /* in: the base that the caller named, or -1; out: the base that was taken */
    enum policy_profile fallback; /* in: the base if nobody names one */
    void (*refine)(struct policy *base); /* in: changes the base before the document does; NULL: nothing */
    enum policy_form form;
    char warnings[POLICY_SOURCE_WARNINGS][256];
    unsigned warning_count;
};
#define POLICY_SOURCE_INIT ((struct policy_source){.profile = -1})

/*
 * `out` is written on success only; it lives in `arena`. A refusal names JSON pointer, line:col,
 * reason and cure. Only the shape is checked here: policy_validate() does the rest.
 */
int policy_read(struct policy *out, struct arena *arena, const char *text, size_t len,
                struct policy_source *source, struct cordon_error *err);

/* The base of a document: the profile, and what `source` makes of it. */
void policy_source_base(const struct policy_source *source, struct policy *out);

/* The object of "limits" alone, onto a policy: for module manifests. */
int policy_read_limits(struct doc *d, const struct json *limits, struct policy *policy);

/* All end in a newline. Version 1 has every field, in a fixed order. */
void policy_write_v1(const struct policy *policy, struct buf *out);
void policy_write_form(const struct policy *policy, enum policy_form form, struct buf *out);

/* Of the bytes of policy_write_v1(). 0 or -ENOMEM. */
int policy_sha256(const struct policy *policy, char out[65]);
