/* Patches: the bytes are a text, a NUL, and a patch of it; or two texts to make a patch of. */
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "rooted/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    const char *end = size > 0 ? memchr(bytes, '\0', size) : NULL;
    if (end == NULL)
        return 0;
    const size_t first = (size_t)(end - bytes);
    const char *rest = end + 1;
    const size_t rest_len = size - first - 1;
    BUF_AUTO text = BUF_INIT(1 << 20);
    patch_decode(bytes, first, &text);
    buf_string(&text);

    BUF_AUTO applied = BUF_INIT(1 << 22);
    int rc = patch_apply(text.data, text.len, rest, rest_len, &applied);
    PROMISE(rc == 0 || rc == PATCH_MALFORMED || rc == PATCH_NOT_LIST || rc == PATCH_FAILED);

    /* What is made applies, and gives what it was made for. */
    if (memchr(rest, '\0', rest_len) != NULL)
        return 0;
    BUF_AUTO to = BUF_INIT(1 << 20);
    BUF_AUTO patch = BUF_INIT(1 << 24);
    BUF_AUTO again = BUF_INIT(1 << 22);
    patch_decode(rest, rest_len, &to);
    buf_string(&to);
    PROMISE(patch_make(text.data, text.len, to.data, to.len, &patch) == 0);
    PROMISE(patch_apply(text.data, text.len, patch.data, patch.len, &again) == 0);
    PROMISE(again.len == to.len && (to.len == 0 || memcmp(again.data, to.data, to.len) == 0));
    return 0;
}
