/* A call that would write, taken apart: what it wants to do to which names. Raw calls only. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "layer/notify.h"

enum act {
    ACT_OPEN,   /* flags as of open() */
    ACT_MAKE,   /* a new name: a directory, a node, a link, a socket */
    ACT_REMOVE, /* flags: AT_REMOVEDIR */
    ACT_RENAME, /* two names; flags as of renameat2() */
    ACT_LINK,   /* two names, of which the second is new */
    ACT_TRUNCATE,
    ACT_MODE,
    ACT_OWNER,
    ACT_TIMES,
    ACT_ATTRIBUTE,
};

struct operand {
    int dir;             /* a descriptor of the task's, or AT_FDCWD */
    bool follow;         /* a link in the last place leads on */
    bool name;           /* it is the name that changes, not what it stands for */
    bool itself;         /* there is no path: it is `dir` that is meant */
    char path[PATH_MAX]; /* as the task wrote it */
};

struct attempt {
    const struct notify_call *call; /* borrowed */
    enum act act;
    const char *op; /* static: "open for writing" */
    unsigned flags;
    unsigned mode;
    bool directory; /* ACT_MAKE: a directory */
    bool node;      /* ACT_MAKE: mode has a type, of which some are for nobody here */
    bool symlink;   /* ACT_MAKE: a link, of which the first argument is the text */
    bool bind;      /* ACT_MAKE: by bind() */
    uint64_t extra; /* the last argument that matters: times, the name of an attribute, an owner */
    uint64_t group;
    bool removes; /* ACT_ATTRIBUTE: it takes one away */
    unsigned value_flags;
    uint64_t value_size; /* of an attribute */
    unsigned count; /* operands */
    struct operand what[2];
};

/*
 * A call with the names in it. Without namespaces it is init that reads them: Yama lets only those above a
 * process look into its memory, and the listener stands beside.
 */
struct handed_call {
    struct notify_call call;
    uint32_t len[2];         /* of each name, with its end; 0: nobody has read it */
    char text[2 * PATH_MAX]; /* one after the other */
};
#define HANDED_HEAD offsetof(struct handed_call, text)

/* Reads the names of the call that stands in it; how much of it there is then. */
size_t attempt_name(struct handed_call *call);

/*
 * 0; -ENOENT if this is nothing that writes to a file system (an internet address, a file opened only to
 * stand for a place, no name, or one without an end: the kernel will say so); -EPERM if the task, or the
 * memory that the name is in, cannot be looked into.
 */
int attempt_read(struct attempt *out, const struct handed_call *handed);

/* "name/": only a directory will do. */
bool operand_wants_directory(const struct operand *operand);
