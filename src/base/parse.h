/* Strict numbers: the whole string or an error; no sign, no blanks, no locale. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "none" in a duration, a size or a count; also what a policy holds for "no limit". */
#define PARSE_UNLIMITED UINT64_MAX

/* All return 0, -EINVAL (not such a value) or -ERANGE (does not fit). */
int parse_u64(const char *s, uint64_t *out);

/* 1500ms, 2s, 1.5s, 3m, 1h; a bare number is seconds. */
int parse_duration_ms(const char *s, uint64_t *out);

/* 4096, 64K, 512M, 1G, powers of 1024. */
int parse_size(const char *s, uint64_t *out);
