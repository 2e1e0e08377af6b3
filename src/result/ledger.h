/*
 * The enforcement ledger: for each capability what was asked for, whether it holds, by what, and
 * how well. `applied` is written only from what was read back or proven after applying.
 */
#pragma once

#include "plan/plan.h"

struct ledger_entry {
    char requested[96];   /* as JSON: null, true, a number, a string; null: nothing was asked */
    bool applied;
    const char *mechanism; /* static; where not applied, what holds in its place, or "none" */
    char details[PLAN_DETAILS_SIZE];
};

struct ledger {
    struct ledger_entry entries[CAPABILITY_COUNT];
};

/* Nothing was asked, nothing holds: what is true before a plan exists. */
void ledger_clear(struct ledger *out);

/* The plan's claims against what was proven; `ran`: the payload was started. */
void ledger_fill(struct ledger *out, const struct plan *plan, uint32_t proven, bool ran);
