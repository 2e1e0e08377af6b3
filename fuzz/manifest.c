/*
 * A manifest is refused with a reason that blames the module, or asks for no more than network,
 * paths and limits; what it runs is one command, or one file of the module's directory. */
#include <string.h>

#include "fuzz.h"
#include "module/manifest.h"
#include "wire/policy_json.h"

static void keeps_promises(const struct manifest *m, struct arena *arena)
{
    struct policy policy;
    struct policy base;
    struct cordon_error err = {0};
    PROMISE(strcmp(m->id, "a.m") == 0 && (m->command == NULL) != (m->library == NULL));
    if (m->library != NULL)
        PROMISE(m->library[0] != '\0' && strchr(m->library, '/') == NULL);
    for (size_t i = 0; i < m->command_count; i++)
        PROMISE(m->command[i] != NULL);
    policy_init(&policy, PROFILE_MODULE);
    PROMISE(manifest_ask(m, &policy, arena, &err) == 0); /* it was asked once, when it was read */
    policy_init(&base, PROFILE_MODULE);
    base.net = policy.net;
    base.ro = policy.ro;
    base.rw = policy.rw;
    base.limits = policy.limits;
    PROMISE(policy_within(&policy, &base, NULL, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(POLICY_ARENA_BYTES);
    struct manifest manifest = {0};
    struct cordon_error err = {0};
    if (manifest_read(&manifest, &arena, "a.m", (const char *)data, size, &err) < 0)
        PROMISE(err.kind == CORDON_ERROR_MODULE && err.why[0] != '\0' && manifest.id == NULL);
    else
        keeps_promises(&manifest, &arena);
    arena_free(&arena);
    return 0;
}
