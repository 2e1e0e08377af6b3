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

/*
 * Before the module runs, which may be able to change the place where the log lies: a descriptor
 * for append() or a negative errno for it to complain of. Not through a link.
 */
int audit_log_open(const char *file);

/* Closes `fd`. A log that cannot be written is a warning: the call has happened. */
void audit_log_append(const char *file, int fd, const struct audit_entry *entry);
