/* What the opaque types of the public headers are. */
#pragma once

#include <cordon/cordon.h>

#include "wire/policy_json.h"
#include "backend/backend.h"

struct cordon_policy {
    struct arena arena;
    struct policy policy;
    struct policy_source source; /* what its document deserves a word for */
};

struct cordon_result {
    struct arena arena; /* the command's words */
    struct result result;
    struct buf json;
    const char *profile;
    char policy_sha256[65];
    char **command;
    size_t command_count;
    const char *module_id; /* in arena; NULL: no module was called */
    struct buf value;      /* what it returned; empty: nothing */
};

/* An empty result, with a copy of the command; NULL: out of memory. */
struct cordon_result *result_make(char *const command[], const char *trace_id);
/* Writes its document. */
void result_document(struct cordon_result *result);

struct cordon_sandbox {
    struct arena arena;
    struct policy policy; /* lives in arena */
    struct backend_run run;
    struct cordon_result *result; /* owned until wait() gives it away */
    int input;                    /* owned */
    bool started, over;
};
