/* The two wire forms that are older than version 1, and mixes of them. For use by wire/ only. */
#pragma once

#include "wire/policy_json.h"

/* A document without `version`. */
int policy_legacy_read(struct doc *d, const struct json *root, struct policy *out,
                       struct policy_source *source);
