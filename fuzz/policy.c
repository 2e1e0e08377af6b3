/* fuzz: base policy result wire
 * Any document: refused with a reason, or a policy whose version-1 form is read back to the same
 * bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/policy_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(POLICY_ARENA_BYTES);
    struct policy policy;
    struct policy_source source = POLICY_SOURCE_INIT;
    struct cordon_error err = {0};
    BUF_AUTO once = BUF_INIT(8 << 20);
    BUF_AUTO twice = BUF_INIT(8 << 20);
    if (policy_read(&policy, &arena, (const char *)data, size, &source, &err) == 0) {
        (void)policy_validate(&policy, &err);
        policy_write_v1(&policy, &once);
        struct policy_source again = POLICY_SOURCE_INIT;
        if (policy_read(&policy, &arena, once.data, once.len, &again, &err) != 0)
            abort();
        policy_write_v1(&policy, &twice);
        if (once.failed || once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
            abort();
    } else if (err.what[0] == '\0') {
        abort(); /* refused in silence */
    }
    arena_free(&arena);
    return 0;
}
