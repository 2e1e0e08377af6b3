/* The readers of single policy fields, shared by all document forms. For use by wire/ only. */
#pragma once

#include "policy/policy.h"
#include "wire/doc.h"

doc_read_fn field_bool;     /* bool */
doc_read_fn field_word;     /* an enum; detail: struct policy_words */
doc_read_fn field_limit;    /* target: struct policy; detail: key in policy_limit_table */
doc_read_fn field_names;    /* struct policy_names: replaced */
doc_read_fn field_variables; /* the same; NAME or PREFIX_* */
doc_read_fn field_vars;     /* struct policy_vars: merged */
doc_read_fn field_binds;    /* struct policy_binds: replaced; paths or objects */
doc_read_fn field_require;  /* struct policy_names: replaced; known capabilities only */
doc_read_fn field_hide;     /* struct policy_names: replaced; normalised */

/* A whole number that is not negative. */
int field_uint(struct doc *d, const struct json *value, uint64_t *out);
/* An absolute path, normalised. */
int field_path(struct doc *d, const struct json *value, const char **out);
/* One {host, sandbox} object or, if `short_form`, a path. */
int field_bind(struct doc *d, const struct json *value, struct policy_binds *list, bool short_form);
