/*
 * The enforcement ledger: for each capability what was asked for, whether it holds, by what, and
 * how well. `applied` is written only from what was read back or proven after applying.
 */
#pragma once

#include "plan/plan.h"

struct ledger_entry {
    char requested[96];   /* as JSON: true, a number, a string; null, or empty: nothing was asked */
    bool applied;
    const char *mechanism; /* static; where not applied, what holds in its place; NULL: nothing */
    char details[PLAN_DETAILS_SIZE];
};

/* Zero: nothing was asked, nothing holds, which is true before a plan exists. */
struct ledger {
    struct ledger_entry entries[CAPABILITY_COUNT];
    bool worded;
};

bool ledger_asked(const struct ledger_entry *entry);
const char *ledger_requested(const struct ledger_entry *entry); /* "null": nothing was asked */
const char *ledger_mechanism(const struct ledger_entry *entry); /* "none": nothing holds */

/* What was asked, and how well the plan would hold it: ahead of the end, while nobody waits for it. */
void ledger_word(struct ledger *out, const struct plan *plan);

/* The plan's claims against what was proven; `ran`: the payload was started. Words them if nobody has. */
void ledger_fill(struct ledger *out, const struct plan *plan, uint32_t proven, bool ran);
