/*
 * One call of a tool while it is put together: the words of its command, and the directory that it
 * will see. Failures are reported where they are found; the number is passed on.
 */
#pragma once

#include "base/arena.h"
#include "rooted/root.h"
#include "tools/sandbox.h"
#include "tools/whitelist.h"

#define TOOL_OUTPUT_MAX 10000000 /* of both streams together */

struct tool_job {
    const struct call *call; /* borrowed */
    const struct cordon_root_tool_options *options; /* borrowed */
    enum tool tool;
    struct arena arena;
    char **argv; /* in arena */
    size_t count, room;
    int dir;             /* owned; becomes /work; -1 before it is opened */
    enum path_base base; /* the one that dir is the top of, if a base is shown whole */
    const char *cwd;     /* its name beneath that top, without links */
    bool writable, repository;
};

/* Makes room for the words of the command, `extra` beside the options. */
int job_begin(struct tool_job *job, const struct call *call, enum tool tool,
              const struct cordon_root_tool_options *options, size_t extra);
void job_release(struct tool_job *job);

void job_word(struct tool_job *job, const char *word); /* borrowed; there must be room */
void job_words(struct tool_job *job, const char *const *words, size_t count);

/* The options of the caller, checked, those that are paths mapped. */
int job_options(struct tool_job *job, int sub, const char *const *options, size_t count);

/* Shows one directory, or the base of `anchor` with the caller's cwd in it (default: its top). */
int job_show_directory(struct tool_job *job, const char *path);
int job_show_base(struct tool_job *job, const char *anchor);

/* A path of the caller's as a word that is relative to the cwd: it stays in the base. */
int job_path(struct tool_job *job, const char *path);

/* Runs it; 0 and the outcome, or a failure that has been reported. */
int job_run(struct tool_job *job, uint32_t timeout_ms, struct cordon_root_tool_result *out);

int job_fail(const struct tool_job *job, const char *message); /* code EINVAL */
