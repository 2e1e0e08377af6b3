/*
 * Effects are refused with a reason, or grant no more than network and the paths they name. */
#include <stdlib.h>

#include "fuzz.h"
#include "wire/effects_json.h"
#include "wire/policy_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(POLICY_ARENA_BYTES);
    struct policy policy;
    struct policy base;
    struct cordon_error err = {0};
    policy_init(&policy, PROFILE_STAGE);
    if (effects_read(&policy, &arena, (const char *)data, size, &err) < 0) {
        PROMISE(err.kind == CORDON_ERROR_POLICY && err.why[0] != '\0');
    } else {
        policy_init(&base, PROFILE_STAGE);
        base.net = policy.net;
        base.ro = policy.ro;
        base.rw = policy.rw;
        PROMISE(policy_within(&policy, &base, NULL, &err) == 0);
    }
    arena_free(&arena);
    return 0;
}
