/* One line of JSON for each call of a module, for whoever must know later what was called. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct audit_entry {
    const char *module_id;
    const char *input; /* hashed with a salt, never written; NULL: none was read */
    size_t input_len;
    const char *status;
    int exit_code;
    uint64_t duration_ms;
};

/* A log that cannot be written is a warning: the call has happened. */
void audit_log_append(const char *file, const struct audit_entry *entry);
