/* A policy for people: a table that says the same as the document. */
#pragma once

#include "base/buf.h"
#include "policy/policy.h"

void policy_show(const struct policy *policy, struct buf *out);
