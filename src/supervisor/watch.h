/*
 * The watcher: memory and cpu time of the whole tree where no cgroup counts them. Init runs it; it
 * reads its own /proc, so it sees exactly what is inside; where that is the host's, its own
 * descendants.
 *
 * What it cannot see: kernel memory but page tables, pipe and socket buffers. Shared memory that no page table shows
 * any more would be the worst of it: the filter lets none be made (deny_memfd).
 */
#pragma once

#include <time.h>

#include "supervisor/spawn.h"

struct watch {
    struct spawn *spawn; /* borrowed */
    int proc;            /* /proc; -1: nothing to watch */
    int tmpfs[3];        /* /tmp, /work, /dev/shm; -1: not there */
    uint64_t page_bytes;
    unsigned cores;      /* on which the payload can run at once */
    uint64_t next_us;    /* when to look again */
    uint64_t exact_cpu_us, exact_us; /* until when an exact look may go on, by both clocks */
    uint64_t cpu_seen;   /* the tree's, at the last look */
    uint64_t cpu_lost;   /* of children that have ended and are in nobody's account */
    bool blind;          /* this host lets it look no more: the run cannot go on */
};

void watch_start(struct watch *w, struct spawn *s);

/* From now on what lies in the tmpfs beneath this root counts, too; takes nothing. AT_FDCWD: where init stands. */
void watch_places(struct watch *w, int root);

/* How long to sleep; NULL: for ever. */
const struct timespec *watch_pause(const struct watch *w, struct timespec *room);

enum limit_hit watch_look(struct watch *w);
