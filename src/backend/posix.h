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
    bool work_left;  /* its directory could not be removed */
    uint64_t cpu_us, max_rss_bytes;
};

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

struct posix_run {
    pid_t keeper;
    int report;  /* owned; the keeper's, read end */
    int control; /* owned; a byte is a signal for the group; its end ends everything */
    int stdio[3]; /* owned until the keeper has them */
    struct posix_input input;
    struct stream streams[2]; /* owned */
    struct posix_workdir workdir;
    struct posix_report told;
    uint64_t started_ms, deadline_ms, kill_ms; /* 0: not set */
    bool reported; /* the keeper has ended, with or without a report */
    bool complete; /* `told` holds */
    bool timed_out, killed, impatient;
    int overflow;
};

/*
 * Never returns 0 but in the caller: the keeper leaves by _exit(). The number of its process, or -errno. It also
 * removes the work directory: the caller may be killed.
 */
pid_t posix_keeper_start(const struct plan *plan, const struct posix_workdir *workdir, const int stdio[3], int *report,
                         int *control);

/* Both ends closed on exec, and above the standard ones; 0 or -errno. */
int posix_pipe(int fds[2]);

/* Moves what can be moved without waiting. */
void posix_input_pump(struct posix_input *input);
void posix_input_close(struct posix_input *input);
/* What to wait for: 0, 1 or 2 entries of struct pollfd would be -1; see posix.c. */
bool posix_input_pending(const struct posix_input *input);

/* Mode 0700, of this run alone; 0 or -errno. */
int posix_workdir_make(struct posix_workdir *dir, const char *path);
/* By what was seen when it was made; never follows a link. False: something is left. */
bool posix_workdir_remove(struct posix_workdir *dir);

/* The plans of both backends. */
int posix_plan(struct backend_run *run);
int posix_plan_none(struct backend_run *run);
