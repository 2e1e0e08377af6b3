/*
 * One run from the command line and what it holds, for the commands that make one: `run`, `test`,
 * `call` and noether.c. They read their options, say how the streams are wired, and then go through
 * the steps below in this order.
 */
#pragma once

#include <stddef.h>

#include "backend/backend.h"
#include "cli/caller.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "cli/violation.h"

#define SESSION_ROOM (24u * 1024) /* what most runs need for options, plan and supervisor */
#define SESSION_TEXT_MAX (1024u * 1024 * 1024)

struct session {
    struct arena arena;
    struct run_options options;
    struct backend_run run;
    struct outfile document, streams[2];
    struct caller caller;
    char *arguments;
    size_t arguments_size;
    int lost; /* why output could not be passed on, as an errno; 0: all was */

    int input;    /* borrowed; what the payload reads; -1: nothing */
    bool pass[2]; /* the stream goes on to the caller's own, while it runs */
    bool capture; /* keep the streams even if no document wants them */
    bool ledger;  /* fill it even if no document wants it */
    struct plan_guard guard; /* of `test` */
    bool tell_violations;    /* on stderr, when they happen */
    struct violation_notes notes;
    /* Of the command that makes the run: after its files, before all else that is said. NULL: none. */
    void (*summary)(const struct session *s);

    bool no_policy;         /* none was in force: the document names none */
    char policy_sha256[65]; /* of the document; empty: not made */
    const char *module_id; /* NULL unless a module is called */
    struct buf value;      /* JSON text that it returned; empty: none */

    _Alignas(max_align_t) char room[SESSION_ROOM]; /* the arena's first chunk */
    struct result result;
};

/* Of static memory, still zero: pages that a run does not touch cost nothing. */
void session_init(struct session *s);

/* Removes what must not stay; memory and descriptors are the kernel's to take back, which is faster. */
void session_release(struct session *s);

/* After the options: copies the command, opens the caller's files. The error is in the result. */
int session_open(struct session *s, int argc, char **argv);

int session_plan(struct session *s);
/* --dry-run; the exit status. */
int session_print_plan(struct session *s);

/* Runs the plan to its end; the result says how it was. `r`: of the steps before; if one failed, refuses. */
void session_run(struct session *s, int r);

/* Instead: a run that never was still has a result, with its ledger. */
void session_refuse(struct session *s);

/* The policy's digest for the document, if nobody made it yet. */
void session_digest(struct session *s);

/* By --exit. */
int session_exit(const struct session *s);

/* Everything that was promised to be written is written; `status`, or another if that failed. */
int session_conclude(struct session *s, int status);
