/* The options that `call` has beside those of `run`. */
#pragma once

#include "cli/option.h"

enum call_exit { CALL_EXIT_CHILD, CALL_EXIT_NORMALIZED, CALL_EXIT_APCORE };

struct call_options {
    const char *extensions; /* NULL: by the environment, or ./extensions */
    const char *audit_log;  /* NULL: none is kept */
    bool list, no_sandbox;
    bool timeout_given;
    uint64_t timeout_ms; /* if given */
    enum call_exit exit_style;
};

/* Fills `options`. */
struct option_table call_option_table(struct call_options *options);
