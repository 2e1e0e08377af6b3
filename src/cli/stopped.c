#include "cli/stopped.h"

#include <stdio.h>

#include "cli/message.h"
#include "cli/quantity.h"

/* The limit behind a status, and the option that moves it. */
static const struct mover {
    const char *option, *key;
    const char *besides; /* another way out */
} movers[STATUS_COUNT] = {
    [STATUS_TIMEOUT] = {"--wall", "wall_ms", ""},
    [STATUS_CPU_LIMIT] = {"--cpu", "cpu_ms", ""},
    [STATUS_MEM_LIMIT] = {"--mem", "mem_bytes", ""},
    [STATUS_OUTPUT_LIMIT] = {"--output", "output_bytes", "; --on-overflow truncate drops what is too much"},
};

/* Twice the limit, where that can be asked for. */
static void offer_more(const struct mover *mover, const struct policy *policy, struct cordon_error *err)
{
    const struct policy_limit *limit = policy_limit_find(mover->key);
    char text[sizeof err->remedy];
    char room[48];
    const uint64_t value = policy_limit_get(policy, limit);
    const uint64_t more = value > limit->max / 2 ? POLICY_UNLIMITED : value * 2;
    snprintf(text, sizeof text, "%s %s allows more%s", mover->option,
             quantity(room, sizeof room, more, limit->unit, &quantity_option), mover->besides);
    err_remedy(err, text);
}

void stopped_say(const struct result *result, const struct plan *plan)
{
    const struct mover *mover = &movers[result->status];
    const bool forbidden = result->status == STATUS_FORBIDDEN_SYSCALL;
    struct cordon_error err = {0};
    if (result->caller_signal != 0 || (mover->option == NULL && !forbidden))
        return;
    err_set(&err, CORDON_ERROR_EXIT, CORDON_LAYER_PROCESS, 0, "stopped", plan->command);
    err_why(&err, result->reason);
    if (forbidden)
        err_remedy(&err, "--on-forbidden errno lets the call fail instead; cordon-run(1) tells how to find it");
    else
        offer_more(mover, plan->policy, &err);
    message_error(&err);
}
