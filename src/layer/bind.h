/*
 * The source of a bind: opened once, checked on that descriptor, mounted from it. Used by init, and
 * by a supervisor that is root before init exists. Raw calls only.
 */
#pragma once

#include <sys/stat.h>

#include "plan/plan.h"

/* A mistake in the policy rather than in the host; returns `r`. */
int bind_refuse(struct cordon_error *err, long r, const char *what, const char *subject, const char *why,
                const char *remedy);

/* A place inside as people write it: a target is kept without the slash that it begins with. */
struct bind_place {
    char path[512];
};
struct bind_place bind_place(const char *target);

/* What is to appear, as an O_PATH descriptor; *skip if it is optional and not there. */
int bind_open(const struct plan_step *step, bool *skip, struct stat *st, struct cordon_error *err);

/*
 * What should be a directory with something in it that must not change, and is none: it is itself what stays as it
 * is (.git of a work tree), or nothing is mounted. False: the latter.
 */
bool bind_settle(struct plan_step *step, const struct stat *st);

/*
 * A detached, private copy of the tree at `source`, with flags that only ever take away; with
 * `userns` (or -1) its owners are mapped by that user namespace.
 */
int bind_clone(int source, const struct plan_step *step, int userns, struct cordon_error *err);
