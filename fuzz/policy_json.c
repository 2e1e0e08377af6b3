/*
 * Any bytes are refused with a reason, or give a policy whose normal form is stable. */
#include <string.h>

#include "fuzz.h"
#include "wire/policy_json.h"

static int read_buf(struct policy *policy, struct arena *arena, const struct buf *text)
{
    struct policy_source source = POLICY_SOURCE_INIT;
    return policy_read(policy, arena, text->data, text->len, &source, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(POLICY_ARENA_BYTES);
    struct policy_source source = POLICY_SOURCE_INIT;
    struct policy policy;
    struct policy again;
    struct cordon_error err = {0};
    BUF_AUTO once = BUF_INIT(1 << 26);
    BUF_AUTO twice = BUF_INIT(1 << 26);

    if (policy_read(&policy, &arena, (const char *)data, size, &source, &err) < 0) {
        PROMISE(err.kind == CORDON_ERROR_POLICY && err.why[0] != '\0');
    } else {
        policy_validate(&policy, &err);
        policy_write_form(&policy, source.form, &once);
        PROMISE(!once.failed && read_buf(&again, &arena, &once) == 0);
        policy_write_form(&again, source.form, &twice);
        PROMISE(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
        PROMISE(policy_within(&policy, &policy, NULL, &err) == 0);
    }
    arena_free(&arena);
    return 0;
}
