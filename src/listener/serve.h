/*
 * The listener's loop: one call after the other is looked at and answered. In almost every case the
 * answer is that the kernel shall go on, and the kernel then refuses what it must: nothing here is a
 * boundary. Raw calls only, no allocation: in an embedding program other threads may hold any lock.
 */
#pragma once

#include "listener/grant.h"
#include "listener/record.h"

struct serve {
    const struct plan *plan; /* borrowed */
    struct records *records; /* borrowed; shared with the supervisor */
    int socket;              /* over which the listener comes; without namespaces the calls, too */
    int event;               /* the supervisor is told of each new record */
    int listener;            /* -1: not here yet */
    struct view view;
    struct grant grant;
};

/* Returns when nobody is left who could ask. */
void serve(struct serve *s);
