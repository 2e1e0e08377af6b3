/* The record that a run leaves. The supervisor fills it; wire/ prints it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "result/ledger.h"
#include "result/violations.h"

enum status {
    STATUS_OK,
    STATUS_NONZERO_EXIT,
    STATUS_SIGNALED,
    STATUS_TIMEOUT,
    STATUS_CPU_LIMIT,
    STATUS_MEM_LIMIT,
    STATUS_OUTPUT_LIMIT,
    STATUS_KILLED_TERM,
    STATUS_KILLED_KILL,
    STATUS_FORBIDDEN_SYSCALL,
    STATUS_POLICY_VIOLATION,
    STATUS_OUTPUT_PARSE_FAILED,
    STATUS_SPAWN_FAILED,
    STATUS_INTERNAL_ERROR,
    STATUS_COUNT,
};

const char *status_name(enum status s); /* "NONZERO_EXIT" */
enum status status_of_signal(int sig);  /* of a command that it ended, when nothing else explains that */

struct result_stream {
    struct buf captured; /* owned; at most the cap, without the [TRUNCATED] line */
    uint64_t bytes;      /* all that the payload wrote */
    uint64_t kept;       /* of them: captured, or passed on if nothing is captured */
    bool ends_line;      /* the last byte kept is a newline */
    bool truncated;
};

#define RESULT_WARNINGS 16

struct result {
    enum status status;
    int rc;           /* the status's number; the child's code; 128+n */
    char reason[256]; /* one sentence, never two */
    struct result_stream out, err;
    uint64_t duration_ms;
    char trace_id[33];
    bool ran;        /* the payload was executed, or may have been */
    bool exited;     /* exit_code holds; else, if signal is not 0, that ended it */
    int exit_code;
    int signal;
    int caller_signal; /* the signal that the caller of cordon sent; 0: none */
    uint64_t cpu_ms, max_rss_bytes;
    uint64_t processes; /* tasks that were seen to end inside, the payload among them */
    const char *backend_kind; /* static: "native" */
    bool backend_effective;
    struct result_violations violations;
    struct cordon_error error; /* with INTERNAL_ERROR and SPAWN_FAILED */
    unsigned warning_count;

    /* Last, because most runs do not touch it. */
    char bwrap_path[4096]; /* with that backend: the program; else empty */
    char warnings[RESULT_WARNINGS][256];
    struct ledger ledger;
};

void result_init(struct result *r);
/* The same in memory that is zero: pages that a run does not touch cost nothing. */
void result_init_zeroed(struct result *r);
bool result_trace_valid(const char *id); /* 32 lower-case hex digits */
/* `given`: a valid one; NULL: random. */
void result_trace(struct result *r, const char *given);
void result_release(struct result *r);
__attribute__((format(printf, 2, 3))) void result_reason(struct result *r, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void result_warn(struct result *r, const char *fmt, ...);

/*
 * What a reader found in the document of the policy, and what the policy itself deserves a word for. Before all
 * others: a document may be as odd as it likes, and these leave room for what is to be said of the run.
 */
void result_warn_document(struct result *r, const char *text);
void result_warn_policy(struct result *r, const struct policy *policy);

/* The exit status of `cordon` (design: child's code, 128+n, 124, 152, 137, 159, 153, 125, ...). */
int result_exit_child(const struct result *r);
/* The same by the table of the SandboxResultV2 form. */
int result_exit_normalized(const struct result *r);
