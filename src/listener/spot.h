/*
 * The place that a name of the payload's means, in the payload's own view of the tree: found from its
 * root, whatever links or `..` are on the way. The payload may change its part of the tree meanwhile;
 * so this names things, and decides nothing that the kernel would not refuse anyway. Raw calls only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "listener/attempt.h"
#include "plan/plan.h"

struct view {
    const struct plan *plan; /* borrowed */
    int root;                /* owned; the payload's "/"; -1: not seen yet */
    bool overrides;          /* the caller is root, whom no permission stops; the payload is not */
};

struct spot {
    int dir;                 /* owned; the directory; -1: not looked for, or not there */
    int target;              /* owned; what stands there; after spot_look() a negative errno: nothing to be seen */
    char leaf[NAME_MAX + 1]; /* its name in `dir`; "": the place is a directory that has none here */
};
#define SPOT_INIT ((struct spot){.dir = -1, .target = -1})

void spot_release(struct spot *spot);

/*
 * What the operand names: the target where that is meant and exists; else the directory and the name
 * in it. 0, or a negative errno as the call itself would get it.
 */
int spot_find(struct spot *out, struct view *view, uint32_t task, const struct operand *operand);

/* What stands there, where that was not looked for. */
void spot_look(struct spot *spot);

/* The descriptor whose mount decides: of the directory, or of the target. */
static inline int spot_place(const struct spot *spot)
{
    return spot->dir >= 0 ? spot->dir : spot->target;
}

/* Writes to what `fd` is do not meet the guard: a writable place, or no place of a file system. */
bool view_writable(const struct view *view, int fd);

/* It lies in a procfs. */
bool view_is_proc(int fd);

/* Absolute, as the payload would say it; `out` has PATH_MAX bytes. */
int spot_text(const struct spot *spot, char *out);
