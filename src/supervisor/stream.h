/*
 * One stream of the payload's: out of its pipe, counted, captured up to the cap, and passed on to
 * a descriptor of the caller's that may be slow or gone. Never blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/plan.h"
#include "result/result.h"
#include "result/wishes.h"

#define STREAM_CHUNK (64 * 1024)
#define STREAM_PIPE_MOST (1 << 20) /* no pipe holds more, unless root wants it */

enum sink {
    SINK_NONE,     /* only captured */
    SINK_FILE,     /* never blocks */
    SINK_OWN,      /* a description of our own that does not block */
    SINK_SOCKET,   /* asked not to block with each call */
    SINK_FOREIGN,  /* shared with strangers and blocking: small writes, and only when it is ready */
};

struct stream {
    int from;          /* owned; -1: at its end */
    int to;            /* borrowed; where the caller wants it; -1: nowhere */
    int out;           /* owned if sink is SINK_OWN, else `to` */
    enum sink sink;
    bool broken;       /* `to` takes nothing any more */
    int error;         /* the errno that said so */
    bool from_armed, out_armed; /* as last told to epoll */

    uint64_t cap;      /* UINT64_MAX: none */
    bool cap_passing;  /* holds for what passes through, too */
    bool capture;
    struct result_stream *record; /* borrowed */

    void (*before)(void *user); /* called before each write; or NULL */
    void *user;

    char *pending;     /* owned; STREAM_CHUNK bytes, from the first one that came */
    size_t start, end; /* what of it is still to be written */
    uint64_t last;     /* drain: nothing beyond this many bytes; 0: not begun */
};

void stream_open(struct stream *s, int from, int to, struct result_stream *record);
/* The caps of the plan, and where the caller wants it. */
void stream_obey(struct stream *s, const struct plan *plan, const struct run_wishes *wishes);
void stream_close(struct stream *s);

/* read() into STREAM_CHUNK bytes that are there from the first ones on: many a stream stays empty. */
ssize_t stream_fill(int from, char **chunk);

/* Reads what is there if there is room; 0, or -EPIPE when the stream has ended. */
int stream_read(struct stream *s);

/* Writes what is pending, as far as the sink takes it. */
void stream_write(struct stream *s);

/* Nothing is passed on any more. */
void stream_drop(struct stream *s);

/*
 * All writers are dead: reads what is there, as far as it can be passed on, and closes it then. A copy of
 * the pipe that was smuggled out must not keep us, silent or not.
 */
void stream_drain(struct stream *s);

/* More came than its cap, and somebody wants that to hold. */
bool stream_ran_over(const struct stream *s);

static inline bool stream_pending(const struct stream *s)
{
    return s->start < s->end;
}
