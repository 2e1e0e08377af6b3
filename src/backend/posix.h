/*
 * A run by POSIX alone: what any such system has, and nothing of a kernel's own. The files
 * posix*.c compile with _POSIX_C_SOURCE=200809L.
 *
 *   caller ──fork──> keeper ──fork──> payload (a session of its own) ──exec──> command
 *
 * The keeper waits for the payload, passes signals on to its process group, ends that group when the
 * payload ends or the caller is gone, and reports. So the caller needs no signal handler, and only
 * ever waits for descriptors.
 */
#pragma once

#include <sys/types.h>

#include "backend/backend.h"
#include "supervisor/stream.h"

/* What the keeper tells, in one write: less than a pipe takes at once. */
struct posix_report {
    uint32_t proof;
    int chdir_errno; /* nothing was executed: the directory of the plan cannot be entered */
    int limit_errno; /* ... a limit cannot be set */
    int exec_errno;
    bool interpreter;
    int status;      /* of the payload, as of waitpid() */
    uint64_t cpu_us;
};

#define POSIX_DONE 0 /* a byte for the keeper, as other signals are: the caller has removed the work directory */

struct posix_workdir {
    const char *path; /* borrowed; NULL: none was made */
    dev_t dev;
    ino_t ino;
};

struct posix_input {
    int from;   /* borrowed; -1: nothing more to read */
    int to;     /* owned; -1: closed */
    char *data; /* owned; STREAM_CHUNK bytes */
    size_t start, end;
};

/*
 * Never returns 0 but in the caller: the keeper leaves by _exit(). The number of its process, or -errno. The work
 * directory is the caller's to remove before it writes POSIX_DONE to `control`. Where the caller was killed, the keeper
 * does it; but it has to allocate for that, and the allocator of a process with threads may not have survived fork().
 */
pid_t posix_keeper_start(const struct plan *plan, const struct posix_workdir *workdir, const int stdio[3], int *report,
                         int *control);

/* Both ends closed on exec, and above the standard ones; 0 or -errno. */
int posix_pipe(int fds[2]);

/* Moves what can be moved without waiting. */
void posix_input_pump(struct posix_input *input);
void posix_input_close(struct posix_input *input);
/* Something was read that the payload has not taken yet. */
bool posix_input_pending(const struct posix_input *input);

/* Mode 0700, of this run alone; 0 or -errno. */
int posix_workdir_make(struct posix_workdir *dir, const char *path);
/* By what was seen when it was made; never follows a link. False: something is left. */
bool posix_workdir_remove(struct posix_workdir *dir);

/* The plans of both backends. */
int posix_plan(struct backend_run *run);
int posix_plan_none(struct backend_run *run);
