/* The steps and rules of a plan while they are put together, and what stands where by them. */
#pragma once

#include "plan/build.h"

/*
 * What stands at a path already: decides whether a mount point beneath it is ours to make, and
 * whether the payload could rename a directory above it.
 */
enum ground { GROUND_OURS, GROUND_READONLY, GROUND_WRITABLE };

struct place;

struct tree {
    struct plan_build *b;
    struct place *table; /* open addressing; a power of two, at most half full */
    size_t slots, used;
    size_t step_room;
    bool failed; /* memory ran out; what was added since is lost */
};

/* Room for the first steps, and for as many rules; false without memory. */
bool tree_begin(struct tree *t, struct plan_build *b, size_t rules);

/* Targets are relative, as in plan_step. */
struct plan_step *tree_add(struct tree *t, enum step_kind kind, const char *target);
/* What the step that was added last makes of its target; the others here know it themselves. */
void tree_ground(struct tree *t, const char *target, enum ground ground);
void tree_tmpfs(struct tree *t, const char *target, uint64_t size, unsigned mode, unsigned flags);
void tree_link(struct tree *t, const char *target, const char *text);
void tree_file(struct tree *t, const char *target, const char *content);
void tree_bind(struct tree *t, const char *source, const char *target, unsigned flags);
/* A name that stays as it is, in a tree that may be written: so many characters of `target` are the tree. */
void tree_protect(struct tree *t, const char *target, size_t tree);

/* The caller named exactly this, and it will be there. */
bool tree_names(const struct tree *t, const char *target);

/* Landlock grants these rights beneath an absolute path. */
void tree_allow(struct tree *t, const char *path, uint64_t access);

/* listed.c: what the policy names, and what is protected there. */
int plan_add_listed(struct tree *t);
