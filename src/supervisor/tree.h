/*
 * Init's descendants, by the children files of /proc: for init where its own procfs does not show
 * exactly them. A process whose parent dies becomes init's child, so none leaves the tree. Raw calls
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TREE_MAX 8192 /* processes in one walk; the fork gate never lets more tasks live */

struct tree {
    int proc; /* borrowed; /proc */
    int pids[TREE_MAX];
    size_t count;
    size_t tasks;    /* of all of them */
    bool cut;        /* there are more, or this host lets it look no more */
};

/* All of them, parents before children; zombies too. */
void tree_read(struct tree *t, int proc);

/* A signal for each direct child of the caller; false if the list cannot be read. */
bool tree_signal_children(int proc, int sig);

/* "123/name" beneath /proc. */
#define TREE_PATH_SIZE 64
void tree_path(char out[TREE_PATH_SIZE], int pid, const char *name);
