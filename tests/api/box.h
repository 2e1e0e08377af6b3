/* What the tests of the library share. Only the public headers: this is how others see it. */
#pragma once

#include <cordon/cordon.h>
#include <stdlib.h>

#include "../harness.h"

static inline struct cordon_policy *stage(void)
{
    struct cordon_error err = {0};
    struct cordon_policy *policy = cordon_policy_new("stage", &err);
    CHECK(policy != NULL);
    return policy;
}

/* Runs a shell script; NULL input: none. */
static inline struct cordon_result *run_script(const struct cordon_policy *policy, const char *script)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(script), NULL};
    struct cordon_error err = {0};
    struct cordon_result *result = cordon_run(policy, argv, NULL, &err);
    free(argv[2]);
    if (result == NULL)
        test_fail(__FILE__, __LINE__, "no result: %s: %s", err.what, err.why);
    return result;
}

static inline void check_status(const struct cordon_result *result, const char *want)
{
    if (strcmp(cordon_result_status(result), want) != 0)
        test_fail(__FILE__, __LINE__, "status is %s (%s), expected %s", cordon_result_status(result),
                  cordon_result_reason(result), want);
}

static inline void check_output(const struct cordon_result *result, const char *want)
{
    size_t len = 0;
    const char *out = cordon_result_stdout(result, &len);
    if (len != strlen(want) || memcmp(out, want, len) != 0)
        test_fail(__FILE__, __LINE__, "output is \"%.*s\", expected \"%s\" (%s)", (int)len, out, want,
                  cordon_result_reason(result));
}
