/* The compiler's own parts; only src/plan includes this. */
#pragma once

#include "plan/plan.h"

struct plan_build {
    struct plan *plan;
    struct arena *arena;
    const struct plan_request *request;
    struct policy policy; /* the request's, less what a test switched off */
    struct cordon_error *err;
};

int plan_build_files(struct plan_build *b);   /* steps and Landlock rules */
int plan_build_payload(struct plan_build *b); /* command, environment, cwd, rlimits, filter */
void plan_build_limits(struct plan_build *b); /* which rung of each ladder */
int plan_build_claims(struct plan_build *b);  /* the ledger's side; decides on partial */

/* Says that memory ran out. */
int plan_no_memory(struct plan_build *b);

static inline bool plan_off(const struct plan_build *b, enum capability c)
{
    return (b->request->host->off_capabilities >> c & 1) != 0;
}
