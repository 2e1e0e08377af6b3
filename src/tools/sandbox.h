/*
 * Runs one program in a sandbox that shows it nothing but a directory: /work, which the caller has
 * open, and the machine's own programs and libraries. No network, no environment, no input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "result/result.h"

#define SANDBOX_WORK "/work"       /* where the directory is, inside */
#define SANDBOX_REPOSITORY "/repo" /* and the second one */

struct sandbox_job {
    const char *program;    /* of the host's; a path without links */
    char **argv;            /* argv[0] is written here; NULL at the end */
    int dir;                /* borrowed; becomes /work */
    bool writable;
    const char *cwd;        /* inside */
    const char *repository; /* of the host's, writable; or NULL */
    uint32_t timeout_ms;
    uint64_t max_output;    /* of both streams together */
    int stop;               /* borrowed; ends it when it can be read; -1: none */
};

/* Does somebody want the run with this descriptor to end? */
bool sandbox_stopped(int stop);

/*
 * When it returns, nothing of the program is running, and `result` holds how it ended. True: it was
 * ended because it took too long, or wrote or used too much.
 */
bool sandbox_run(const struct sandbox_job *job, struct result *result);
