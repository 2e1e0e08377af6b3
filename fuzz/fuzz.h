/*
 * A fuzz target takes any bytes, returns 0 and aborts on a broken promise. With clang's
 * -fsanitize=fuzzer it is a program of its own (FUZZ_MAIN names the entry point libFuzzer wants);
 * the test suite replays its corpus without one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int fuzz_policy_json(const uint8_t *data, size_t size);
int fuzz_effects(const uint8_t *data, size_t size);
int fuzz_options(const uint8_t *data, size_t size);

#ifdef FUZZ_MAIN
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#define FUZZ_TARGET(name)                                                \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)         \
    {                                                                    \
        return name(data, size);                                         \
    }
#else
#define FUZZ_TARGET(name) _Static_assert(1, "")
#endif

/* Stays on in every build: this is what the target looks for. */
#define PROMISE(cond) ((cond) ? (void)0 : __builtin_trap())
