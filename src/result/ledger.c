#include "result/ledger.h"

#include <stdio.h>
#include <string.h>

bool ledger_asked(const struct ledger_entry *entry)
{
    return strcmp(ledger_requested(entry), "null") != 0;
}

const char *ledger_requested(const struct ledger_entry *entry)
{
    return entry->requested[0] == '\0' ? "null" : entry->requested;
}

const char *ledger_mechanism(const struct ledger_entry *entry)
{
    return entry->mechanism == NULL ? "none" : entry->mechanism;
}

void ledger_word(struct ledger *out, const struct plan *plan)
{
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        struct plan_words words;
        plan_describe(plan, (enum capability)i, &words);
        memcpy(out->entries[i].requested, words.requested, sizeof words.requested);
        memcpy(out->entries[i].details, words.details, sizeof words.details);
    }
    out->worded = true;
}

void ledger_fill(struct ledger *out, const struct plan *plan, uint32_t proven, bool ran)
{
    if (!out->worded || !ran) /* where nothing ran they may be those of a plan that failed before this one */
        ledger_word(out, plan);
    out->worded = false; /* what stands there is about this plan and its end */
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        const struct plan_claim *claim = &plan->claims[i];
        struct ledger_entry *entry = &out->entries[i];
        const bool planned = claim->mechanism != NULL;
        const bool seen = (proven & claim->proof) == claim->proof;

        entry->applied = planned && seen && ran;
        entry->mechanism = entry->applied                               ? claim->mechanism
                           : ran && seen && claim->instead != NULL ? claim->instead
                                                                   : "none";
        if (planned && !ran)
            snprintf(entry->details, sizeof entry->details, "nothing ran");
        else if (planned && !seen)
            snprintf(entry->details, sizeof entry->details,
                     "applied by %s, but not seen when read back (proofs %#x of %#x)",
                     claim->mechanism, proven & claim->proof, claim->proof);
    }
}
