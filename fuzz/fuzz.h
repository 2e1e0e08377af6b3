/*
 * A fuzzer takes any bytes and traps on a broken promise. tools/fuzz builds each with libFuzzer;
 * the test suite replays the corpora without it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stays on in every build: this is what a fuzzer looks for. */
#define PROMISE(cond) ((cond) ? (void)0 : __builtin_trap())
