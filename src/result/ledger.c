#include "result/ledger.h"

#include <stdio.h>
#include <string.h>

void ledger_clear(struct ledger *out)
{
    for (int i = 0; i < CAPABILITY_COUNT; i++)
        out->entries[i] = (struct ledger_entry){.requested = "null", .mechanism = "none"};
}

void ledger_fill(struct ledger *out, const struct plan *plan, uint32_t proven, bool ran)
{
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        const struct plan_claim *claim = &plan->claims[i];
        struct ledger_entry *entry = &out->entries[i];
        const bool planned = claim->mechanism != NULL;
        const bool seen = (proven & claim->proof) == claim->proof;

        struct plan_words words;
        plan_describe(plan, (enum capability)i, &words);
        memcpy(entry->requested, words.requested, sizeof entry->requested);
        memcpy(entry->details, words.details, sizeof entry->details);
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
