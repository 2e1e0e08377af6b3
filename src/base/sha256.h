/* SHA-256 (FIPS 180-4), for names of policies; nothing secret is ever hashed here. */
#pragma once

#include <stddef.h>

/* 64 lower-case hex digits and a terminator. */
void sha256_hex(const void *data, size_t len, char out[65]);
